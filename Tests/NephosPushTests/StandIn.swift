import Foundation
import Glibc
import Testing

/// A stand-in for somebody else's server, in a process of its own (`StandIns`). It ends with the last reference to it.
final class StandIn: @unchecked Sendable {
    // `@unchecked`: `lines` reads ahead into a buffer; a test asks for one line after the other.
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var rest: [UInt8] = []
    /// Where it is and which files belong to it.
    private(set) var setup: [String: String] = [:]

    /// What a stand-in says about a request.
    struct Request: Decodable {
        var connection: Int?
        /// What was wrong with it; nil for nothing.
        var problem: String?
        var headers: [String: String]
        var path: String
        var body: String
    }

    struct SetupError: Error {}

    /// - Parameter answers: what it answers, one a request, in JSON; then always 200.
    static func start(_ name: String, answers: String = "[]") async throws -> StandIn {
        let standIn = try StandIn(name, arguments: [answers])
        standIn.setup = try JSONDecoder().decode([String: String].self, from: Data(await standIn.line()))
        return standIn
    }

    init(_ name: String, arguments: [String]) throws {
        process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
        process.arguments = [Self.folder.appendingPathComponent(name + ".py").path] + arguments
        process.standardInput = input
        process.standardOutput = output
        // Python would put its compiled files into the sources.
        process.environment = ProcessInfo.processInfo.environment.merging(["PYTHONDONTWRITEBYTECODE": "1"]) { $1 }
        try process.run()
    }

    deinit {
        try? input.fileHandleForWriting.close()
        if process.isRunning { kill(process.processIdentifier, SIGTERM) }
    }

    static let folder = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
        .appendingPathComponent("StandIns")

    /// One of `setup`.
    func value(_ key: String) throws -> String { try #require(setup[key]) }

    /// The next request that it got. Waits for it.
    func request() async throws -> Request {
        try JSONDecoder().decode(Request.self, from: Data(await line()))
    }

    /// Writes to its standard input, and closes that.
    func write(_ text: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
        try input.fileHandleForWriting.close()
    }

    /// The next line that it writes. Waits for it, on a thread that may.
    func line() async throws -> [UInt8] {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try self.readLine() }) }
        }
    }

    private func readLine() throws -> [UInt8] {
        while true {
            if let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                defer { rest.removeFirst(end + 1) }
                return Array(rest[..<end])
            }
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else { throw SetupError() }
            rest += data
        }
    }
}
