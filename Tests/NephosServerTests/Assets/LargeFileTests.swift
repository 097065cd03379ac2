import Foundation
import Testing

/// A file of a gigabyte, on its way from one process to another over the server that was just built. Only where
/// `NEPHOS_LARGE_FILE` is set: it takes half a minute, and four gigabytes of the disk for temporary files.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["NEPHOS_LARGE_FILE"] != nil))
struct LargeFileTests {
    /// The most memory that a process had, in MiB.
    private func peak(_ process: Process) throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(process.processIdentifier)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
        return try #require(line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }) / 1024
    }

    @Test(.timeLimit(.minutes(15)))
    func `a file of a gigabyte arrives whole, and neither server nor clients need 64 MB`() async throws {
        try await withTemporaryDirectory { directory in
            let server = try StartedNephos(
                ["dev", "--port", "0", "--asset-size", "2GB", "--data", directory.appendingPathComponent("data").path])
            let port = try readyPort(try await server.readyLine())
            let folders = ["one", "two"].map { directory.appendingPathComponent($0) }
            let programs = try folders.map { folder in
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                return try TypedProgram(
                    "Photos", [folder.path],
                    environment: [
                        "NEPHOS_URL": "http://127.0.0.1:\(port)", "NEPHOS_TOKEN": "dev:ada",
                        "NEPHOS_CACHE": directory.appendingPathComponent("cache").path,
                    ])
            }
            for program in programs { try await program.waitFor("up to date") }
            let draft = directory.appendingPathComponent("draft")
            try Data().write(to: draft)
            let handle = try FileHandle(forWritingTo: draft)
            for piece in 0..<1024 {
                // Each another, and hard to compress.
                var seed = UInt64(piece) &* 0x9E37_79B9_7F4A_7C15
                var bytes = Data(capacity: 1 << 20)
                for _ in 0..<1 << 10 {
                    seed = seed &* 6_364_136_223_846_793_005 &+ 1
                    bytes.append(Data(repeating: UInt8(truncatingIfNeeded: seed >> 56), count: 1 << 10))
                }
                try handle.write(contentsOf: bytes)
            }
            try handle.close()
            try FileManager.default.moveItem(at: draft, to: folders[0].appendingPathComponent("large"))
            try await programs[1].waitFor("large has come")
            let isSame = try await offThePool {
                FileManager.default.contentsEqual(
                    atPath: folders[0].appendingPathComponent("large").path,
                    andPath: folders[1].appendingPathComponent("large").path)
            }
            #expect(isSame)
            for process in [server.process] + programs.map(\.process) {
                #expect(try peak(process) < 64, "\(process.arguments ?? [])")
            }
            for program in programs { _ = try await program.stop(SIGTERM) }
            #expect(try await server.stop().status == 0)
        }
    }
}
