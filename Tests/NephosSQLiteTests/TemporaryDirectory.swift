import Foundation
import NephosSQLite
import NephosStorage

/// A directory that is removed with its last user.
final class TemporaryDirectory: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("nephos-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    func file(_ name: String) -> String { "\(path)/\(name)" }
}

/// Makes an empty file.
func makeFile(_ path: String) throws {
    try Data().write(to: URL(fileURLWithPath: path))
}

/// Changes the bytes of a file.
func edit(_ path: String, _ body: (inout Data) -> Void) throws {
    var data = try Data(contentsOf: URL(fileURLWithPath: path))
    body(&data)
    try data.write(to: URL(fileURLWithPath: path))
}

/// The error that `body` throws, if it is a `StorageError`.
func storageError(_ body: () async throws -> Void) async throws -> StorageError? {
    do {
        try await body()
        return nil
    } catch let error as StorageError {
        return error
    }
}

extension StorageEngine {
    /// Writes `count` records of a zone and returns it.
    func fill(_ count: Int, bytes: Int = 300) async throws -> ZoneKey {
        try await write { transaction in
            let zone = try transaction.insertZone(
                owner: .everyone, name: "Zone", sequence: try transaction.nextSequence())
            for index in 0..<count { try transaction.put(record(zone.key, "r\(index)", transaction, bytes: bytes)) }
            return zone.key
        }
    }
}

/// A record under the next sequence.
func record(_ zone: ZoneKey, _ name: String, _ transaction: StorageTransaction, bytes: Int = 2) throws -> RecordRow {
    RecordRow(
        zone: zone, name: name, type: "Note", sequence: try transaction.nextSequence(), createdAt: 1, createdBy: 2,
        modifiedAt: 3, modifiedBy: 4, fields: Array(repeating: UInt8(ascii: "x"), count: bytes))
}
