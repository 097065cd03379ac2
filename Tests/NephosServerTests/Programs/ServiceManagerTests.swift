import Foundation
import Glibc
import Testing

@testable import NephosServer

/// What `nephos serve` sends to the service manager that started it (sd_notify(3)).
@Suite struct ServiceManagerTests {
    /// The socket of a service manager.
    private final class Manager: Sendable {
        let descriptor: Int32

        /// - Parameter name: a path, or a name that begins with `@` for a socket without a file.
        init(_ name: String) throws {
            descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | O_CLOEXEC, 0)
            var patience = timeval(tv_sec: 120, tv_usec: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            var path = Array(name.utf8)
            if path[0] == UInt8(ascii: "@") { path[0] = 0 }
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
            let size = socklen_t(2 + path.count + (path[0] == 0 ? 0 : 1))
            let result = withUnsafeBytes(of: address) {
                bind(descriptor, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), size)
            }
            guard result == 0 else { throw TestFailure("bind: \(String(cString: strerror(errno)))") }
        }

        deinit { close(descriptor) }

        func message() async throws -> String {
            try await offThePool { [descriptor] in
                var bytes = [UInt8](repeating: 0, count: 1000)
                let count = recv(descriptor, &bytes, bytes.count, 0)
                guard count > 0 else { throw TestFailure("recv: \(String(cString: strerror(errno)))") }
                return String(decoding: bytes.prefix(count), as: UTF8.self)
            }
        }
    }

    @Test(arguments: [false, true])
    func `the manager hears that the server is ready, reloads and stops`(isAbstract: Bool) async throws {
        try await withTemporaryDirectory { directory in
            let name =
                isAbstract
                ? "@nephos-\(UInt64.random(in: 0 ... .max))" : directory.appendingPathComponent("notify").path
            let manager = try Manager(name)
            let data = directory.appendingPathComponent("data").path
            try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: false)
            let server = try StartedNephos(
                ["serve", "--url", "http://127.0.0.1:1", "--listen", "127.0.0.1:0", "--data", data],
                environment: ["NOTIFY_SOCKET": name])
            #expect(try await manager.message() == "READY=1")
            kill(server.process.processIdentifier, SIGHUP)
            let reloading = try await manager.message()
            #expect(reloading.wholeMatch(of: /RELOADING=1\nMONOTONIC_USEC=[0-9]+/) != nil, "\(reloading)")
            #expect(try await manager.message() == "READY=1")
            kill(server.process.processIdentifier, SIGTERM)
            #expect(try await manager.message() == "STOPPING=1")
            #expect(try await server.finish().status == 0)
        }
    }

    @Test func `a certificate that clients refuse does not replace one that they accept`() async throws {
        let (served, foreign) = (try await TestCertificate(), try await TestCertificate("DNS:other.example"))
        try await withTemporaryDirectory { directory in
            let name = directory.appendingPathComponent("notify").path
            let manager = try Manager(name)
            let data = directory.appendingPathComponent("data").path
            try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: false)
            let server = try StartedNephos(
                [
                    "serve", "--url", "https://localhost", "--listen", "127.0.0.1:0", "--data", data,
                    "--tls-cert", served.certificateFile, "--tls-key", served.keyFile,
                ], environment: ["NOTIFY_SOCKET": name])
            #expect(try await manager.message() == "READY=1")
            for (from, to) in [
                (foreign.certificateFile, served.certificateFile), (foreign.keyFile, served.keyFile),
            ] {
                try Data(contentsOf: URL(fileURLWithPath: from)).write(to: URL(fileURLWithPath: to))
            }
            kill(server.process.processIdentifier, SIGHUP)
            _ = try await manager.message()
            #expect(try await manager.message() == "READY=1")
            kill(server.process.processIdentifier, SIGTERM)
            let finished = try await server.finish()
            #expect(finished.status == 0)
            let reason = "the former certificate stays: the certificate is not for localhost"
            #expect(finished.errors.contains(reason), "\(finished.errors)")
        }
    }

    @Test(arguments: ["", "relative", "/\(String(repeating: "a", count: 200))", "/none/at/all"])
    func `a manager that cannot be reached does not keep the server from its work`(name: String) async throws {
        try await withTemporaryDirectory { directory in
            let data = directory.appendingPathComponent("data").path
            try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: false)
            let server = try StartedNephos(
                ["serve", "--url", "http://127.0.0.1:1", "--listen", "127.0.0.1:0", "--data", data],
                environment: ["NOTIFY_SOCKET": name])
            #expect(try await server.readyLine().hasSuffix("(production)\n"))
            #expect(try await server.stop().status == 0)
        }
    }
}
