import NephosSQLite
import NephosStorage
import NephosWire
import Synchronization
import Testing

@testable import NephosService

/// Large cascades: they are computed before the write, and respect concurrent saves.
@Suite struct LargeCascadeTests {
    private static let count = Limits.recordsPlannedInWrite + 300

    private let stores = InterceptedStores()
    private let cloud: TestCloud

    init() { cloud = TestCloud(ServiceConfiguration(), stores: stores) }

    /// A zone with a root that owns two lists, which own all others but two; and an index over them.
    private func database() async throws -> TestDatabase {
        let database = try await TestDatabase(cloud).making(zone: "Z")
        _ = try await database.modify([
            .create("root"), .create("l0", ["of": .owner("root")]), .create("l1", ["of": .owner("root")]),
            .create("apart"), .create("other"),
        ])
        for start in stride(from: 0, to: Self.count, by: 400) {
            let operations = (start..<min(start + 400, Self.count)).map {
                RecordOperation.create("n\($0)", ["of": .owner("l\($0 % 2)"), "rank": .int64(Int64($0))])
            }
            #expect(try await database.modify(operations).allSatisfy { $0.record != nil })
        }
        return database
    }

    private func left(_ database: TestDatabase) async throws -> [String] {
        var names: [String] = []
        var token: String?
        repeat {
            let page = try await database.changes(since: token)
            names += page.records.compactMap { $0.record?.recordName }
            token = page.moreComing ? page.syncToken : nil
        } while token != nil
        return names.sorted()
    }

    @Test func `a large cascade is deleted in one commit, with its index entries and edges`() async throws {
        let database = try await database()
        let query = QueryRecordsRequest(
            query: Query(recordType: "Note", filterBy: [Filter(.field("rank"), .greaterThan, .int64(-5))]),
            zoneID: database.zoneID)
        _ = try await cloud.service.queryRecords(query, database.context)
        let token = try await lastToken(database)
        #expect(try await database.modify([.delete("root")]).map(\.summary) == ["deleted"])
        #expect(try await left(database) == ["apart", "other"])
        #expect(try await deleted(database, since: token) == Self.count + 3)
        #expect(try await cloud.service.queryRecords(query, database.context).records.isEmpty)
        // Nothing points at them any more: names are free, and their former targets can go.
        _ = try await database.modify([.create("l0"), .create("n1", ["of": .owner("l0")])])
        #expect(try await database.modify([.delete("l0")]).map(\.summary) == ["deleted"])
        #expect(try await left(database) == ["apart", "other"])
    }

    private func lastToken(_ database: TestDatabase) async throws -> String {
        var page = try await database.changes()
        while page.moreComing { page = try await database.changes(since: page.syncToken) }
        return page.syncToken
    }

    private func deleted(_ database: TestDatabase, since token: String) async throws -> Int {
        var page = try await database.changes(since: token)
        var count = page.records.count(where: \.isDeleted)
        while page.moreComing {
            page = try await database.changes(since: page.syncToken)
            count += page.records.count(where: \.isDeleted)
        }
        return count
    }

    /// Deletes the root; something else happens once it is known what goes along.
    private func delete(
        _ database: TestDatabase, while action: @escaping @Sendable () async throws -> Void
    ) async throws -> [RecordResult] {
        stores.intercept(.before, write: 2, action)
        let results = try await database.modify([.delete("root")])
        // It came to that: the write began twice.
        #expect(stores.wasIntercepted)
        return results
    }

    @Test func `a record that joins the cascade meanwhile is deleted, and one that leaves it is not`() async throws {
        let database = try await database()
        let results = try await delete(database) {
            let changes: [RecordOperation] = [
                .create("new", ["of": .owner("n7")]), .create("newer", ["of": .owner("new")]),
                .force("other", ["of": .owner("l1")]), .force("n5", ["of": nil]), .delete("n9"),
                .force("n11", ["of": .owner("apart")]),
            ]
            let results = try await database.modify(changes)
            #expect(results.allSatisfy { $0.error == nil })
        }
        #expect(results.map(\.summary) == ["deleted"])
        #expect(try await left(database) == ["apart", "n11", "n5"])
    }

    @Test func `a record that becomes a holder meanwhile prevents the cascade, and one that ceases does not`()
        async throws
    {
        let database = try await database()
        _ = try await database.modify([.force("apart", parent: "n3")])
        let held = try await delete(database) {
            let results = try await database.modify([.create("holder", parent: "n4")])
            #expect(results[0].error == nil)
        }
        #expect(held.map(\.summary) == ["error 31"])
        let free = try await delete(database) {
            let results = try await database.modify([.delete("holder"), .delete("apart")])
            #expect(results.allSatisfy { $0.isDeleted })
        }
        #expect(free.map(\.summary) == ["deleted"])
        #expect(try await left(database) == ["other"])
    }

    @Test func `after too many saves meanwhile the cascade is computed again`() async throws {
        let database = try await database()
        let results = try await delete(database) {
            for start in stride(from: 0, through: Limits.changesBesideCascade, by: 400) {
                let operations = (start..<start + 400).map {
                    RecordOperation.create("m\($0)", ["of": .owner("n\(start)")])
                }
                let results = try await database.modify(operations)
                #expect(results.allSatisfy { $0.error == nil })
            }
            _ = try await database.modify((0..<300).map { .force("n\($0)", ["rank": .int64(-1)]) })
        }
        #expect(results.map(\.summary) == ["deleted"])
        #expect(try await left(database) == ["apart", "other"])
    }

    @Test func `another save of the batch counts, and a refused batch deletes nothing`() async throws {
        let database = try await database()
        let stays = try await database.modify(
            [.delete("l0"), .force("n2", ["of": nil]), .create("bad", ["of": .owner("none")])], atomic: true)
        #expect(stays.map(\.summary) == ["error 22", "error 22", "error 31"])
        #expect(try await left(database).count == Self.count + 5)
        let results = try await database.modify([.delete("root"), .force("n2", ["of": nil])])
        #expect(results.map(\.summary) == ["deleted", "saved"])
        #expect(try await left(database) == ["apart", "n2", "other"])
    }
}
