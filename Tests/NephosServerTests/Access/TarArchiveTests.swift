import Foundation
import NephosService
import Testing

@testable import NephosServer

/// The archive of an export, as `tar` reads it.
@Suite struct TarArchiveTests {
    @Test func `tar extracts files of every size, in pieces, under short and long names`() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        var sizes: [String: Int] = [:]
        for (index, size) in [0, 1, 511, 512, 513, 1000, 70_000].enumerated() { sizes["a/b/\(index)"] = size }
        // The longest names of containers, and lengths at which the length of the name's line gets a digit more.
        for length in [88, 89, 90, 91, 92, 93, 99, 100, 101, 155, 200] {
            sizes[String(repeating: "c", count: length) + "/files/x"] = length
        }
        var archive: [UInt8] = []
        for (path, size) in sizes.sorted(by: { $0.key < $1.key }) {
            let bytes = [UInt8](repeating: UInt8(ascii: "x"), count: size)
            let middle = size / 2
            for (offset, end) in size < 2 ? [(0, size)] : [(0, middle), (middle, size)] {
                archive += TarArchive.encode(
                    ExportPiece(
                        path: path, size: Int64(size), offset: Int64(offset), bytes: Array(bytes[offset..<end])),
                    time: 1_700_000_000_000)
            }
        }
        archive += TarArchive.end
        #expect(archive.count % 512 == 0)
        let file = directory.appendingPathComponent("export.tar")
        try Data(archive).write(to: file)
        let extracted = try await run("/usr/bin/env", ["tar", "-x", "-C", directory.path, "-f", file.path])
        #expect(extracted.status == 0 && extracted.output == "", "\(extracted.output)")
        for (path, size) in sizes {
            let data = try Data(contentsOf: directory.appendingPathComponent(path))
            #expect(data == Data(repeating: UInt8(ascii: "x"), count: size), "\(path)")
        }
        let list = try await run("/usr/bin/env", ["TZ=UTC", "tar", "-tvf", file.path])
        #expect(list.output.contains("2023-11-14 22:13"), "\(list.output)")
        #expect(list.output.split(separator: "\n").count == sizes.count)
    }
}
