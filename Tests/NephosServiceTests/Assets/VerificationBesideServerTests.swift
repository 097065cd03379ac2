import NephosStorage
import NephosTesting
import NephosThreads
import NephosWire
import Synchronization
import Testing

@testable import NephosService

/// `nephos verify` beside a server: each read is another snapshot, as over PostgreSQL, and files come and go between them.
@Suite struct VerificationBesideServerTests {
    private let cloud = TestCloud()

    private func save(_ content: String, _ record: String) async throws {
        let database = TestDatabase(cloud)
        let answer = try await cloud.service.assetUploads(
            AssetUploadRequest(tokens: [AssetField(recordName: record, recordType: "Note", fieldName: "file")]),
            database.context)
        let upload = try await cloud.service.beginUpload(
            try answer.firstToken(), size: nil, container: "iCloud.test", .development, requestID: "R")
        try await upload.append(Array(content.utf8))
        _ = try await database.modify([.force(record, ["file": .asset(try await upload.finish().singleFile)])])
    }

    /// What a busy server does: it saves records with files, deletes others, and removes their files.
    private func change(_ store: Store, _ random: inout SeededGenerator) async throws {
        let number = Int.random(in: 0..<12, using: &random)
        if Bool.random(using: &random) {
            try await save("content \(UInt64.random(in: .min ... .max, using: &random))", "r\(number)")
        } else {
            _ = try await TestDatabase(cloud).modify([.delete("r\(number)")])
        }
        cloud.advance(milliseconds: 8 * 86_400_000)
        try await store.assets.collect(neededBefore: cloud.now)
        await cloud.service.settle()
    }

    @Test(arguments: 0..<8 as Range<UInt64>)
    func `what a server changes meanwhile is no damage`(seed: UInt64) async throws {
        for number in 0..<12 { try await save("content \(number)", "r\(number)") }
        try await cloud.withStore { store in
            let random = Mutex(SeededGenerator(seed: seed))
            let engine = BusyEngine(store.engine) {
                var own = random.withLock { $0 }
                try await change(store, &own)
                random.withLock { [own] in $0 = own }
            }
            let findings = try await StoreVerification(engine, store.assets.files).run()
            #expect(findings.problems == [] && findings.orphans == [], "seed \(seed)")
        }
    }

    @Test func `a missing file, one of another size and a file without a row are reported beside changes`() async throws
    {
        for name in ["missing", "kept"] { try await save("content of \(name)", name) }
        try await cloud.withStore { store in
            let files = store.assets.files
            let rows = try await store.engine.read { try $0.assets(afterFile: "", limit: 10) }
            let (gone, longer) = (rows[0].file, rows[1].file)
            let orphan = longer.prefix(64) + "-orphan"
            try await BlockingPool.disk.run {
                for name in [gone, longer] { try files.remove(name) }
                for name in [longer, String(orphan)] {
                    let file = try files.makeFile()
                    try Array("something longer than it was".utf8).withUnsafeBytes { try file.write($0) }
                    try file.publish(as: name)
                    try file.settle()
                }
            }
            let random = Mutex(SeededGenerator(seed: 1))
            let engine = BusyEngine(store.engine) {
                var own = random.withLock { $0 }
                try await change(store, &own)
                random.withLock { [own] in $0 = own }
            }
            let findings = try await StoreVerification(engine, files).run()
            #expect(
                Set(findings.problems) == [
                    "file \(gone) is missing", "file \(longer) has 28 bytes instead of \(rows[1].size)",
                ])
            #expect(findings.orphans == [String(orphan)])
        }
    }
}

/// An engine whose store others change after each read.
private final class BusyEngine: StorageEngine {
    private let engine: any StorageEngine
    private let change: @Sendable () async throws -> Void

    init(_ engine: any StorageEngine, _ change: @escaping @Sendable () async throws -> Void) {
        self.engine = engine
        self.change = change
    }

    func read<T: Sendable>(_ body: @escaping @Sendable (StorageReader) throws -> T) async throws -> T {
        let value = try await engine.read(body)
        try await change()
        return value
    }

    func write<T: Sendable>(
        of owners: Set<OwnerID>, _ body: @escaping @Sendable (StorageTransaction) throws -> T
    ) async throws -> T {
        try await engine.write(of: owners, body)
    }

    func close() async {}
}
