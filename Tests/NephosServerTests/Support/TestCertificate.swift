import Foundation
import Glibc

@testable import NephosServer

/// A certificate that signs itself, with its key, in files of their own.
final class TestCertificate: Sendable {
    let directory: String
    var certificateFile: String { directory + "/certificate.pem" }
    var keyFile: String { directory + "/key.pem" }

    /// - Parameters:
    ///   - names: subject alternative names in openssl's form; empty for none.
    ///   - days: how long it is valid.
    ///   - key: the kind of its key in openssl's form.
    init(
        _ names: String = "IP:127.0.0.1,DNS:localhost", commonName: String = "test", days: Int = 30,
        key: [String] = ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    ) async throws {
        directory = "/tmp/nephos-certificate.\(UInt32.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        let extensions = names.isEmpty ? [] : ["-addext", "subjectAltName=\(names)"]
        let made = try await openssl(
            [
                "req", "-x509", "-nodes", "-keyout", keyFile, "-out", certificateFile, "-days", "\(days)",
                "-subj", "/CN=\(commonName)", "-newkey",
            ] + key + extensions)
        guard made.status == 0 else { throw TestFailure(made.output) }
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    var credentials: TLSCredentials {
        get throws { try TLSCredentials.read(certificateFile: certificateFile, keyFile: keyFile) }
    }

    /// Connects to a server that has to have this certificate. What fails ends the connection.
    func connect(to port: UInt16, _ options: [String] = []) throws -> TestConnection {
        var ends: [Int32] = [0, 0]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0, &ends) == 0 else {
            throw TestFailure("socketpair: \(String(cString: strerror(errno)))")
        }
        let client = Process()
        client.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        client.arguments =
            [
                "s_client", "-quiet", "-verify_return_error", "-CAfile", certificateFile, "-connect",
                "127.0.0.1:\(port)",
            ] + options
        let end = FileHandle(fileDescriptor: ends[1], closeOnDealloc: false)
        client.standardInput = end
        client.standardOutput = end
        client.standardError = FileHandle.nullDevice
        try client.run()
        Glibc.close(ends[1])
        return TestConnection(port: port, descriptor: ends[0], carrier: client)
    }
}

/// Runs a program to its end. Its output has what it wrote to standard output and standard error.
func run(_ program: String, _ arguments: [String]) async throws -> (status: Int32, output: String) {
    try await offThePool {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        let pipe = Pipe()
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }
}

func openssl(_ arguments: [String]) async throws -> (status: Int32, output: String) {
    try await run("/usr/bin/openssl", arguments)
}
