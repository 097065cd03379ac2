import NephosPostgresTesting
import NephosSQLite
import NephosStorage
import NephosWire
import Testing

@testable import NephosService

/// A request that is repeated with its key is executed once.
@Suite struct RequestKeyTests {
    private func modify(
        _ database: TestDatabase, _ key: String, _ operations: [RecordOperation], digest: [UInt8] = [],
        atomic: Bool? = nil
    ) async throws -> [RecordResult] {
        var request = ModifyRecordsRequest(
            operations: operations, zoneID: database.zoneID, atomic: atomic, wantsServerRecord: true)
        request.requestKey = key
        request.bodyDigest = digest
        return try await database.cloud.service.modifyRecords(request, database.context).records
    }

    @Test func `a retry gets the first answer and changes nothing`() async throws {
        let cloud = TestCloud()
        let database = TestDatabase(cloud)
        let first = try await modify(database, "k1", [.create(nil, ["n": .int64(1)]), .create("a")])
        #expect(first.map(\.summary) == ["saved", "saved"])
        // Another client's change does not matter.
        _ = try await database.modify([.force("a", ["n": .int64(7)])])
        let again = try await modify(database, "k1", [.create(nil, ["n": .int64(1)]), .create("a")])
        #expect(again == first)
        #expect(try await database.lookup("a")[0].record?.fields.decoded()["n"]?.value == .int64(7))
        // Where both may win, it does not either.
        _ = try await modify(database, "k2", [.force("a", ["n": .int64(8)])])
        _ = try await database.modify([.force("a", ["n": .int64(9)])])
        _ = try await modify(database, "k2", [.force("a", ["n": .int64(8)])])
        #expect(try await database.lookup("a")[0].record?.fields.decoded()["n"]?.value == .int64(9))
        await cloud.service.close()
    }

    @Test func `a retry repeats partial refusals, and executes a refused request again`() async throws {
        let cloud = TestCloud()
        let database = TestDatabase(cloud)
        _ = try await database.modify([.create("a")])
        let mixed = try await modify(database, "mixed", [.create("a"), .create("b")], atomic: false)
        #expect(mixed.map(\.summary) == ["error 14", "saved"])
        _ = try await database.modify([.delete("a")])
        #expect(try await modify(database, "mixed", [.create("a"), .create("b")], atomic: false) == mixed)
        #expect(try await modify(database, "refused", [.create("b")]).map(\.summary) == ["error 14"])
        _ = try await database.modify([.delete("b")])
        #expect(try await modify(database, "refused", [.create("b")]).map(\.summary) == ["saved"])
        await cloud.service.close()
    }

    @Test func `a key belongs to one account and one request`() async throws {
        let cloud = TestCloud()
        let (mine, others) = (TestDatabase(cloud, "me"), TestDatabase(cloud, "you"))
        #expect(try await modify(mine, "k", [.create("a")], digest: [1]).map(\.summary) == ["saved"])
        #expect(try await modify(others, "k", [.create("a")], digest: [2]).map(\.summary) == ["saved"])
        let error = await #expect(throws: ServiceError.self) {
            _ = try await modify(mine, "k", [.create("b")], digest: [2])
        }
        #expect(error?.reason.contains("another request") == true)
        #expect(try await mine.existing("b") == [])
        for wrong in ["", "a b", "ü", "signed-0", String(repeating: "k", count: 65)] {
            let error = await #expect(throws: ServiceError.self) { _ = try await modify(mine, wrong, [.create("b")]) }
            #expect(error?.reason.contains("nephosRequestKey") == true)
        }
        await cloud.service.close()
    }

    @Test func `concurrent requests with one key are executed once`() async throws {
        let cloud = TestCloud()
        let database = TestDatabase(cloud)
        _ = try await database.modify([.create("other")])
        let answers = try await withThrowingTaskGroup(of: [RecordResult].self) { group in
            for _ in 0..<8 { group.addTask { try await modify(database, "k", [.create(nil, ["n": .int64(1)])]) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(answers.compactMap { $0.first?.record?.recordName }).count == 1)
        await cloud.service.close()
    }

    @Test func `an outcome is kept for an hour`() async throws {
        let cloud = TestCloud()
        let database = TestDatabase(cloud)
        _ = try await modify(database, "k0", [.force("a", ["n": .int64(1)])])
        func kept() async throws -> Bool {
            try await cloud.withStore { store in
                let id = try #require(try await store.engine.read { try $0.account(named: "me") }).id
                return try await self.kept(id, store.engine) == ["k0"]
            }
        }
        // The clock of a database may be some milliseconds behind or ahead of the last look at it.
        let slack: Int64 = 60_000
        cloud.advance(milliseconds: Limits.requestKeyLifetime - slack)
        _ = try await modify(database, "k0", [.force("a", ["n": .int64(1)])])
        try await cloud.settle()
        #expect(try await kept())
        cloud.advance(milliseconds: Limits.requestKeyPurgeInterval + 2 * slack)
        _ = try await database.modify([.force("a")])
        try await cloud.settle()
        #expect(try await !kept())
        await cloud.service.close()
    }

    /// The keys that are kept of an account, oldest first.
    private func kept(_ account: Int64, _ engine: any StorageEngine) async throws -> [String] {
        try await engine.read { reader in
            try (0..<100).map { "k\($0)" }.filter {
                try reader.requestKey(account: account, key: $0, isSure: true) != nil
            }
        }
    }

    @Test func `a busy account's outcomes evict its own, and other accounts' only if they have more`() async throws {
        let engine = try MemoryStores().open(StoreID(container: "iCloud.test", environment: "development"))
        try await engine.write { transaction in
            for (account, count): (Int64, Int) in [(1, 100), (2, 30), (3, 5)] {
                for index in 0..<count {
                    // The busy one's are the newest.
                    let time = Int64(1000 + (account == 1 ? 500 : 0) + index)
                    try transaction.insert(
                        RequestKeyRow(account: account, key: "k\(index)", digest: [], outcome: [1], at: time))
                }
            }
        }
        func purge(_ perAccount: Int, _ inAll: Int) async throws -> [[String]] {
            let purge = RequestKeyPurge(
                engine: engine, isStopped: { false }, bounds: OutcomeBounds(perAccount: perAccount, inAll: inAll))
            try await purge.run(now: 2000)
            var left: [[String]] = []
            for account: Int64 in 1...3 { left.append(try await kept(account, engine)) }
            return left
        }
        #expect(try await purge(80, 1000).map(\.count) == [80, 30, 5])
        let rest = try await purge(80, 50)
        #expect(rest.map(\.count) == [20, 20, 5])
        // The newest stay.
        #expect(rest[0] == (80..<100).map { "k\($0)" } && rest[1] == (10..<30).map { "k\($0)" })
        await engine.close()
    }

    @Test func `outcomes beyond an account's bytes are evicted, the oldest first`() async throws {
        let cloud = TestCloud()
        let database = TestDatabase(cloud)
        _ = try await modify(TestDatabase(cloud, "other"), "k0", [.force("a", ["n": .int64(1)])])
        let text = String(repeating: "x", count: 900_000)
        for index in 0..<100 {
            cloud.advance(milliseconds: 1)
            _ = try await modify(database, "k\(index)", [.force("a", ["text": .string(text)])])
            await cloud.service.settle()
        }
        let engine = try #require(cloud.service.openStores.first).engine
        let id = try #require(try await engine.read { try $0.account(named: "me") }).id
        let kept = try await kept(id, engine)
        let sizes = try await engine.read { reader in
            try kept.map { try reader.requestKey(account: id, key: $0, isSure: true)?.outcome.count ?? 0 }
        }
        #expect(kept == (0..<100).suffix(kept.count).map { "k\($0)" }, "the newest stay")
        let total = sizes.reduce(0, +)
        #expect(total > Limits.requestOutcomesSize / 2)
        #expect(total <= Limits.requestOutcomesSize + Limits.requestOutcomesAhead + Limits.requestOutcomeSize)
        let others = try #require(try await engine.read { try $0.account(named: "other") }).id
        #expect(try await self.kept(others, engine) == ["k0"])
        await cloud.service.close()
    }

    @Test func `a deleted account's outcomes are deleted`() async throws {
        let cloud = TestCloud()
        let database = TestDatabase(cloud)
        _ = try await modify(database, "k1", [.force("a", ["n": .int64(1)])])
        _ = try await modify(TestDatabase(cloud, "other"), "k1", [.force("a", ["n": .int64(1)])])
        let engine = try #require(cloud.service.openStores.first).engine
        let id = try #require(try await engine.read { try $0.account(named: "me") }).id
        #expect(try await kept(id, engine) == ["k1"])
        _ = try await cloud.service.deleteAccount(DeleteAccountRequest(account: "me"), cloud.context())
        await cloud.service.settle()
        #expect(try await kept(id, engine) == [])
        #expect(try await engine.read { try $0.countRequestKeys(limit: 9) } == 1)
        await cloud.service.close()
    }
}
