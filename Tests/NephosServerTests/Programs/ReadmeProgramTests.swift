import Foundation
import Testing

/// The README's examples are what a newcomer runs first: the script runs them against the server that was just built.
@Test func `the examples of the README do what the README says`() async throws {
    let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    let output = Pipe()
    let script = Process()
    script.executableURL = root.appendingPathComponent("scripts/run-readme-examples")
    // The products lie beside the test runner, wherever this build put them.
    script.arguments = [Bundle.main.bundlePath]
    script.standardInput = FileHandle.nullDevice
    script.standardOutput = output
    script.standardError = output

    let status = try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Int32, any Error>) in
        script.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
        do { try script.run() } catch { continuation.resume(throwing: error) }
    }

    let text = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    #expect(status == 0, "\(text)")
    #expect(text.contains("the examples of README.md work"), "\(text)")
}
