import Foundation
import NephosPostgres
import NephosPostgresTesting
import NephosSQLite
import NephosService
import NephosStorage
import NephosWire
import Testing

@testable import CloudKit
@testable import CloudKitLocal

/// Migrations of stores from files to PostgreSQL and back: the tokens and tags of apps stay valid.
@Suite(.overPostgreSQL, .oneAtATime) struct MigrateTests {
    private let container = "iCloud.org.example.Moved"

    private func changes(_ database: CKDatabase, _ zone: CKRecordZone.ID, _ token: CKServerChangeToken?) async throws
        -> (names: [String], token: CKServerChangeToken)
    {
        let page = try await database.recordZoneChanges(inZoneWith: zone, since: token)
        let names = page.modificationResultsByID.keys.map(\.recordName) + page.deletions.map(\.recordID.recordName)
        return (names.sorted(), page.changeToken)
    }

    @Test func `records, tokens, tags and subscriptions survive a migration to PostgreSQL and back`() async throws {
        let place = FileManager.default.temporaryDirectory.appending(path: "nephos-move-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: place) }
        let (old, new) = (place.appending(path: "old").path, place.appending(path: "new").path)
        let options = TestCluster.options(connections: 4)
        let address = try TestCluster.address.get()
        let id = StoreID(container: container, environment: "development")
        let zone = CKRecordZone(zoneName: "Z")

        // In files.
        let first = LocalCloud(stores: try DataDirectory(path: old))
        var database = first.container(container).privateCloudDatabase
        _ = try await database.save(zone)
        func note(_ name: String) -> CKRecord {
            let record = CKRecord(
                recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone.zoneID))
            record["n"] = name.utf8.count
            record["text"] = "ü\u{0301} ❤️ \(name)"
            return record
        }
        for name in ["a", "b", "gone"] { _ = try await database.save(note(name)) }
        _ = try await database.deleteRecord(withID: note("gone").recordID)
        _ = try await database.save(CKRecordZoneSubscription(zoneID: zone.zoneID, subscriptionID: "all"))
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "n == %d", 1))
        #expect(try await database.records(matching: query, inZoneWith: zone.zoneID).matchResults.count == 2)
        var (names, token) = try await changes(database, zone.zoneID, nil)
        var held = try await database.record(for: note("a").recordID)
        await first.close()

        /// What has to hold wherever the store is: a change tag and a token are good, and changes come after it.
        func expectContinuity(_ database: CKDatabase, _ new: String) async throws {
            held["n"] = 1
            held["text"] = new
            held = try await database.save(held)
            _ = try await database.save(note(new))
            (names, token) = try await changes(database, zone.zoneID, token)
            #expect(names == ["a", new].sorted())
            (names, _) = try await changes(database, zone.zoneID, nil)
            #expect(names.contains("b") && names.contains(new))
            #expect(try await database.allSubscriptions().map(\.subscriptionID) == ["all"])
            let found = try await database.records(matching: query, inZoneWith: zone.zoneID).matchResults
            #expect(found.count == 2)
            let zones = try await database.databaseChanges(since: nil)
            #expect(zones.modifications.map(\.zoneID.zoneName) == ["Z"])
        }

        // To PostgreSQL.
        var stores = try PostgresStores(address, options: options)
        var directory = try DataDirectory(path: old)
        try move(try SQLiteImage(id, in: directory), try stores.image(of: id, isTarget: true))
        directory.close()
        let second = LocalCloud(stores: stores)
        database = second.container(container).privateCloudDatabase
        try await expectContinuity(database, "pg")
        await second.close()

        // And back.
        stores = try PostgresStores(address, options: options)
        directory = try DataDirectory(path: new)
        try move(try stores.image(of: id, isTarget: false), try SQLiteImage(id, in: directory))
        stores.close()
        directory.close()
        let third = LocalCloud(stores: try DataDirectory(path: new))
        database = third.container(container).privateCloudDatabase
        try await expectContinuity(database, "files")
        await third.close()
    }

    @Test func `restored containers move into one database, whose sequence is in no slot of the other's`() async throws
    {
        let place = FileManager.default.temporaryDirectory.appending(path: "nephos-move-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: place) }
        let (old, restored, back) = (
            place.appending(path: "old").path, place.appending(path: "restored").path,
            place.appending(path: "back").path
        )
        let options = TestCluster.options(connections: 4)
        let ids = ["a", "b"].map { StoreID(container: "\(container).\($0)", environment: "development") }
        let zone = CKRecordZone(zoneName: "Z")
        func note(_ name: String) -> CKRecord {
            CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone.zoneID))
        }
        var tokens: [StoreID: CKServerChangeToken] = [:]
        /// Saves a record in each container, and fetches it since the last token, and nothing since the next one.
        func expectContinuity(_ stores: any StoreProvider, _ name: String) async throws {
            let cloud = LocalCloud(stores: stores)
            for id in ids {
                let database = cloud.container(id.container).privateCloudDatabase
                if tokens[id] == nil { _ = try await database.save(zone) }
                _ = try await database.save(note(name))
                let page = try await changes(database, zone.zoneID, tokens[id])
                #expect(page.names == [name], "\(id)")
                #expect(try await changes(database, zone.zoneID, page.token).names == [], "\(id)")
                tokens[id] = page.token
            }
            await cloud.close()
        }
        try await expectContinuity(try DataDirectory(path: old), "old")
        try FileManager.default.createDirectory(atPath: restored, withIntermediateDirectories: true)
        for id in ids {
            try StoredDirectory(path: old).copyDatabase(id, to: restored, asNewIncarnation: true)
        }
        try await expectContinuity(try DataDirectory(path: restored), "restored")
        var stores = try PostgresStores(try TestCluster.address.get(), options: options)
        var directory = try DataDirectory(path: restored)
        for id in ids { try move(try SQLiteImage(id, in: directory), try stores.image(of: id, isTarget: true)) }
        directory.close()
        try await expectContinuity(stores, "pg")
        stores = try PostgresStores(try TestCluster.address.get(), options: options)
        directory = try DataDirectory(path: back)
        for id in ids { try move(try stores.image(of: id, isTarget: false), try SQLiteImage(id, in: directory)) }
        stores.close()
        directory.close()
        try await expectContinuity(try DataDirectory(path: back), "back")
    }

    @Test func `a store exists at its target once its copy is committed, and is not copied over`() async throws {
        let place = FileManager.default.temporaryDirectory.appending(path: "nephos-move-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: place) }
        let (old, new) = (place.appending(path: "old").path, place.appending(path: "new").path)
        let (id, address) = (TestCluster.newStore(), try TestCluster.address.get())
        let options = TestCluster.options(connections: 2)
        func save(_ name: String) async throws {
            let cloud = LocalCloud(stores: try DataDirectory(path: old))
            _ = try await cloud.container(id.container).privateCloudDatabase.save(
                CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name)))
            await cloud.close()
        }
        try await save("a")
        let target = try PostgresStores(address, options: options, for: .copy(isTarget: true))
        defer { target.close() }
        try target.expect([id])
        let refused = #expect(throws: StorageError.self) { _ = try PostgresStores(address, options: options) }
        #expect(refused?.message.contains("before it had copied \(id.container), development") == true)
        var from = try DataDirectory(path: old)
        // The copy ends before its commit.
        for _ in 0..<2 {
            let image = try target.image(of: id, isTarget: true)
            try image.insert([[.text([0x41])]], into: StoreTable(name: "record_type", columns: ["name"]))
            image.close()
            #expect(try target.existingStores().isEmpty && target.expectedStores() == [id])
        }
        func run() throws -> Int? {
            let images = (try SQLiteImage(id, in: from), try target.image(of: id, isTarget: true))
            defer {
                images.0.close()
                images.1.close()
            }
            return try StoreMove.run(from: images.0, to: images.1)
        }
        #expect(try run() ?? 0 > 0)
        #expect(try target.existingStores() == [id] && target.expectedStores().isEmpty)
        #expect(try run() == nil, "the same rows")
        let back = (try target.image(of: id, isTarget: false), try SQLiteImage(id, in: from))
        #expect(try StoreMove.run(from: back.0, to: back.1) == nil, "the same rows on the way back")
        back.0.close()
        back.1.close()
        from.close()
        try await save("b")
        from = try DataDirectory(path: old)
        defer { from.close() }
        let other = #expect(throws: StorageError.self) { _ = try run() }
        #expect(other?.message.contains("has other rows of ") == true, "\(String(describing: other))")

        // Into files.
        let directory = try DataDirectory(path: new)
        defer { directory.close() }
        let image = try SQLiteImage(id, in: directory)
        #expect(try !directory.exists(id))
        image.close()
        let images = (try target.image(of: id, isTarget: false), try SQLiteImage(id, in: directory))
        try move(images.0, images.1)
        #expect(try directory.exists(id))
    }

    @Test func `a database that a server uses is not copied`() async throws {
        let address = try TestCluster.address.get()
        var options = TestCluster.options(connections: 2)
        options.lockMilliseconds = 100
        // A server without a request has no store open.
        let idle = try PostgresStores(address, options: options, for: .server)
        for isTarget in [true, false] {
            let error = #expect(throws: StorageError.self) {
                _ = try PostgresStores(address, options: options, for: .copy(isTarget: isTarget))
            }
            #expect(error?.code == .inUse && error?.message.contains("stop every server") == true)
        }
        idle.close()
        let copies = try PostgresStores(address, options: options, for: .copy(isTarget: true))
        let refused = #expect(throws: StorageError.self) {
            _ = try PostgresStores(address, options: options, for: .server)
        }
        #expect(refused?.code == .inUse && refused?.message.contains("'nephos migrate'") == true)
        copies.close()
        try PostgresStores(address, options: options, for: .server).close()
    }

    private func move(_ source: some StoreCopy, _ target: some StoreCopy) throws {
        defer {
            source.close()
            target.close()
        }
        #expect(try StoreMove.run(from: source, to: target) ?? 0 > 0)
    }
}
