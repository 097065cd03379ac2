import Foundation
import Synchronization
import Testing

/// A started program that is typed into, and whose lines are waited for.
final class TypedProgram: Sendable {
    private let program: StartedNephos
    private let input = Pipe()
    private let lines: LineReader

    /// Lines that came while another was waited for.
    private let passed = Mutex<[String]>([])

    init(_ product: String, _ arguments: [String] = [], environment: [String: String]) throws {
        program = try StartedNephos(arguments, product: product, environment: environment, input: input)
        lines = LineReader(program.output.fileHandleForReading)
    }

    func type(_ line: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
    }

    /// Returns once the program has printed that line.
    func waitFor(_ line: String) async throws {
        while let next = try await lines.next() {
            if next == line { return }
        }
        Issue.record("The program ended without printing \"\(line)\".")
    }

    /// Returns once the program has printed that line, be it before another that was waited for.
    func waitFor(_ line: String, inAnyOrder: Bool) async throws {
        let isThere = passed.withLock { passed in
            passed.firstIndex(of: line).map { passed.remove(at: $0) } != nil
        }
        if isThere { return }
        while let next = try await lines.next() {
            if next == line { return }
            passed.withLock { $0.append(next) }
        }
        Issue.record("The program ended without printing \"\(line)\".")
    }

    var process: Process { program.process }

    func finish() async throws -> Finished { try await program.finish() }

    func stop(_ signal: Int32) async throws -> Finished { try await program.stop(signal) }
}

/// Reads lines, one caller at a time.
private final class LineReader: @unchecked Sendable {
    // `@unchecked`: only `next` touches what changes, and a test calls it in turn.
    private let handle: FileHandle
    private var buffer = Data()

    init(_ handle: FileHandle) { self.handle = handle }

    func next() async throws -> String? {
        try await offThePool { [self] in
            while true {
                if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
                    let line = String(decoding: buffer[buffer.startIndex..<end], as: UTF8.self)
                    buffer = Data(buffer[(end + 1)...])
                    return line
                }
                let more = handle.availableData
                if more.isEmpty { return nil }
                buffer.append(more)
            }
        }
    }
}
