import Foundation
import Glibc
import Testing

/// A started `nephos`. It is killed with the last reference to it.
final class StartedNephos: @unchecked Sendable {
    // `@unchecked`: only `finish` and `readyLine` wait, each on a thread of its own; a test calls them in turn.
    let process = Process()
    let output = Pipe()
    let errors = Pipe()

    init(
        _ arguments: [String], in directory: URL? = nil, product: String = "nephos",
        environment: [String: String] = [:],
        input: Any? = nil
    ) throws {
        process.executableURL =
            product.hasPrefix("/") ? URL(fileURLWithPath: product) : try Self.url(ofProduct: product)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.currentDirectoryURL = directory
        process.standardInput = input ?? FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = errors
        try process.run()
    }

    /// The products lie beside the test runner.
    static func url(ofProduct product: String) throws -> URL {
        URL(fileURLWithPath: try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
            .deletingLastPathComponent().appendingPathComponent(product)
    }

    /// Starts it so that the system lets its user have so many threads and processes.
    convenience init(_ arguments: [String], threads: Int, in directory: URL) throws {
        var product = try Self.url(ofProduct: "nephos")
        var wrapper = ["prlimit", "--nproc=\(threads)"]
        if geteuid() == 0 {
            // That limit is none for root, and what root has others may not reach.
            let copy = directory.appendingPathComponent("nephos")
            try FileManager.default.copyItem(at: product, to: copy)
            product = copy
            wrapper = ["setpriv", "--reuid=61000", "--clear-groups"] + wrapper
        }
        let others = wrapper + [product.path] + arguments
        try self.init(others, in: directory, product: "/usr/bin/env")
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }

    func readyLine() async throws -> String {
        try await offThePool { [output] in
            String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        }
    }

    func stop(_ signal: Int32 = SIGTERM) async throws -> Finished {
        kill(process.processIdentifier, signal)
        return try await finish()
    }

    func finish() async throws -> Finished {
        try await offThePool { [process, output, errors] in
            let output = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            let errors = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            process.waitUntilExit()
            return Finished(
                status: process.terminationStatus, exited: process.terminationReason == .exit, output: output,
                errors: errors)
        }
    }
}

struct Finished {
    var status: Int32
    var exited: Bool
    var output: String
    var errors: String
}

/// A line as it is typed into a program that is not at a terminal.
func typed(_ line: String) -> Pipe {
    let pipe = Pipe()
    pipe.fileHandleForWriting.write(Data((line + "\n").utf8))
    try? pipe.fileHandleForWriting.close()
    return pipe
}

/// Calls `body` with a directory that is removed afterwards.
func withTemporaryDirectory(_ body: (URL) async throws -> Void) async throws {
    let directory = FileManager.default.temporaryDirectory
        .appendingPathComponent("nephos-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    try await body(directory)
}

func readyPort(_ readyLine: String) throws -> UInt16 {
    let match = try #require(
        readyLine.wholeMatch(of: /nephos: serving http:\/\/127\.0\.0\.1:(\d+) \(development\)\n/))
    return try #require(UInt16(match.1))
}
