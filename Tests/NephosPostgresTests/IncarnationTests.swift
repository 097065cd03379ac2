import CloudKit
import CloudKitLocal
import Foundation
import NephosPostgresTesting
import NephosStorage
import Testing

@testable import NephosPostgres

/// A database that is replaced by another one while a service runs: tokens of clients expire if the new one may lack
/// commits, and no feed continues with a gap.
@Suite(.overPostgreSQL, .oneAtATime) struct IncarnationTests {
    /// A cloud over a store of its own, and what changes its database behind its back.
    private struct Replaced {
        let cloud: LocalCloud
        let database: CKDatabase
        let zone: CKRecordZone.ID
        private let schema: String
        private let name: String

        init() async throws {
            name = "nephos-incarnation-\(UUID().uuidString)"
            let options = TestCluster.options(connections: 3)
            schema = options.prefix
            let address = try PostgresAddress("\(try TestCluster.text.get()) application_name=\(name)")
            cloud = LocalCloud(stores: try PostgresStores(address, options: options))
            database = cloud.container("iCloud.org.example.Replaced").privateCloudDatabase
            zone = try await database.save(CKRecordZone(zoneName: "Z")).zoneID
        }

        /// - Parameter change: what the store has noted, as it would be had it been written in another database.
        func replace(_ change: String) throws { try replace(["UPDATE \(schema).installation SET \(change)"]) }

        /// Makes a table again with its rows, as loading a dump does.
        func makeAgain() throws {
            try replace([
                "ALTER TABLE \(schema).store RENAME TO former",
                "CREATE TABLE \(schema).store (LIKE \(schema).former INCLUDING ALL)",
                "INSERT INTO \(schema).store SELECT * FROM \(schema).former",
            ])
        }

        private func replace(_ statements: [String]) throws {
            let other = try PostgresConnection(
                try TestCluster.address.get(), PostgresOptions(acceptsUnsafeServer: true), damage: nil)
            defer { other.close() }
            for statement in statements { _ = try other.ask(statement) }
            // A database that is replaced ends its connections.
            _ = try other.ask(
                """
                SELECT pg_terminate_backend(pid, 5000)::text FROM pg_stat_activity WHERE application_name = '\(name)'
                """)
        }

        func save(_ name: String) async throws {
            let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone))
            record["text"] = name
            _ = try await database.save(record)
        }

        func changes(since token: CKServerChangeToken?) async throws -> (names: [String], token: CKServerChangeToken) {
            let page = try await database.recordZoneChanges(inZoneWith: zone, since: token)
            return (page.modificationResultsByID.keys.map(\.recordName).sorted(), page.changeToken)
        }
    }

    @Test(
        arguments: [
            // A standby that was promoted and may be behind; a dump that was loaded, whose transaction IDs restart.
            "timeline = timeline - 1, synchronous = 0", "system_identifier = 1, synchronous = 0",
            "system_identifier = 1, synchronous = 1",
        ])
    func `tokens expire if the database may lack acknowledged commits`(_ change: String) async throws {
        let replaced = try await Replaced()
        try await replaced.save("a")
        let (_, token) = try await replaced.changes(since: nil)
        let (_, zones) = try await databaseChanges(replaced.database, nil)
        try replaced.replace(change)
        await #expect(performing: { try await replaced.changes(since: token) }, throws: isExpired)
        await #expect(performing: { try await databaseChanges(replaced.database, zones) }, throws: isExpired)
        // From the beginning everything goes on, also with tokens that are at what was there before.
        let (names, next) = try await replaced.changes(since: nil)
        #expect(names == ["a"])
        #expect(try await replaced.changes(since: next).names == [])
        try await replaced.save("b")
        #expect(try await replaced.changes(since: next).names == ["b"])
        await #expect(performing: { try await replaced.changes(since: token) }, throws: isExpired)
        await replaced.cloud.close()
    }

    @Test func `tokens expire if a dump was loaded into the same cluster`() async throws {
        let replaced = try await Replaced()
        try await replaced.save("a")
        let (_, token) = try await replaced.changes(since: nil)
        try replaced.makeAgain()
        try await replaced.save("b")
        await #expect(performing: { try await replaced.changes(since: token) }, throws: isExpired)
        let (names, next) = try await replaced.changes(since: nil)
        #expect(names == ["a", "b"])
        try await replaced.save("c")
        #expect(try await replaced.changes(since: next).names == ["c"])
        await replaced.cloud.close()
    }

    @Test func `tokens stay valid after a synchronous failover, and new versions are higher`() async throws {
        let replaced = try await Replaced()
        try await replaced.save("a")
        let (_, token) = try await replaced.changes(since: nil)
        for round in 1...2 {
            try replaced.replace("timeline = timeline - 1, synchronous = 1")
            #expect(try await replaced.changes(since: token).names == (1..<round).map { "b\($0)" })
            try await replaced.save("b\(round)")
            #expect(try await replaced.changes(since: token).names == (1...round).map { "b\($0)" })
        }
        await replaced.cloud.close()
    }

    private func isExpired(_ error: any Error) -> Bool { (error as? CKError)?.code == .changeTokenExpired }

    private func databaseChanges(
        _ database: CKDatabase, _ token: CKServerChangeToken?
    ) async throws -> ([String], CKServerChangeToken) {
        let page = try await database.databaseChanges(since: token)
        return (page.modifications.map(\.zoneID.zoneName), page.changeToken)
    }
}
