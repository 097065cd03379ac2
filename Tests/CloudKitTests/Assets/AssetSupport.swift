import CloudKit
import Foundation
import Testing

/// Files of a test, gone with it.
final class TestFiles: Sendable {
    let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("nephos-test-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// A new file.
    func file(_ content: Data, _ name: String = UUID().uuidString) throws -> URL {
        let file = folder.appendingPathComponent(name)
        try content.write(to: file)
        return file
    }

    func file(_ content: String) throws -> URL { try file(Data(content.utf8)) }
}

extension CKRecord {
    /// The content of an asset's file.
    func content(_ key: String) throws -> Data {
        let asset = try #require(self[key] as? CKAsset)
        return try Data(contentsOf: try #require(asset.fileURL))
    }

    func text(_ key: String) throws -> String { String(decoding: try content(key), as: UTF8.self) }
}

/// Bytes that look random and are the same for a seed.
func pattern(_ count: Int, seed: UInt8 = 1) -> Data {
    Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8 &+ Int(seed)) })
}
