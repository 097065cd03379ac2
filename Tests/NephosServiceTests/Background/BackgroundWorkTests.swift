import NephosSQLite
import NephosStorage
import NephosTesting
import NephosWire
import Testing

@testable import NephosService

struct BackgroundWorkTests {
    private func jobs(_ engine: any StorageEngine) async throws -> [JobRow] {
        try await engine.read { try $0.jobs(limit: 100) }
    }

    /// A cloud with a job that always fails: it purges a zone that is not deleted.
    private func failing(_ cloud: TestCloud) async throws -> any StorageEngine {
        _ = try await TestDatabase(cloud).making(zone: "Live")
        let engine = try #require(cloud.service.openStores.first).engine
        try await engine.write { transaction in
            let owner = try #require(try transaction.account(named: "me")).owner
            let zone = try #require(try transaction.zone(owner: owner, named: "Live"))
            try transaction.insert(
                JobRow(kind: BackgroundJob.purgeZone.rawValue, zone: zone.key, subject: "never"))
        }
        return engine
    }

    @Test func `a failing job delays neither later jobs nor other owners'`() async throws {
        let cloud = TestCloud()
        let engine = try await failing(cloud)
        for account in ["me", "other"] {
            let database = try await TestDatabase(cloud, account).making(zone: "Gone")
            _ = try await database.modify([.create("a"), .create("b")])
            try await database.deleteZone("Gone")
        }
        await cloud.service.settle()
        #expect(try await jobs(engine).map(\.subject) == ["never"])
        let lines = cloud.log.all.filter { $0.contains("purgeZone") && $0.contains("not a deleted zone") }
        #expect(lines.count == 1 && lines[0].hasPrefix("iCloud.test, development: "), "\(lines)")
        await cloud.service.close()
    }

    @Test func `a failed job is retried after a pause, and each pause is longer`() async throws {
        let cloud = TestCloud()
        _ = try await failing(cloud)
        func attempts() -> Int { cloud.log.all.count { $0.contains("purgeZone") } }
        await cloud.service.settle()
        #expect(attempts() == 1)
        for (pause, expected) in [(999, 1), (1, 2), (1999, 2), (1, 3), (3999, 3), (1, 4)] {
            cloud.advance(milliseconds: Int64(pause))
            await cloud.service.settle()
            #expect(attempts() == expected)
        }
        #expect(cloud.log.all.last { $0.contains("purgeZone") }?.contains("8000 ms") == true)
        await cloud.service.close()
    }

    @Test func `a failed job is retried automatically until it succeeds`() async throws {
        let cloud = TestCloud()
        let engine = try await failing(cloud)
        await cloud.service.settle()
        try await engine.write { transaction in
            let zone = try #require(try transaction.jobs(limit: 1).first).zone
            try transaction.markZoneDeleted(zone, sequence: transaction.nextSequence(), at: 1, reason: 0)
        }
        cloud.advance(milliseconds: 1000)
        try await eventually { try await jobs(engine).isEmpty }
        await cloud.service.close()
    }

    @Test func `a failed job that another server did is not waited for`() async throws {
        let cloud = TestCloud()
        let engine = try await failing(cloud)
        await cloud.service.settle()
        try await engine.write { transaction in
            for job in try transaction.jobs(limit: .max) { try transaction.removeJob(id: job.id) }
        }
        cloud.advance(milliseconds: 1000)
        await cloud.service.settle()
        let before = cloud.sleepCount
        for _ in 0..<5 { await cloud.service.settle() }
        #expect(cloud.sleepCount == before)
        await cloud.service.close()
    }

    @Test func `a step of a cascade ends early if its records have many references`() async throws {
        let cloud = TestCloud()
        let database = TestDatabase(cloud)
        let targets = ["t"] + (0..<30).map { "x\($0)" }
        _ = try await database.modify(targets.map { .create($0) })
        let references = targets.map { FieldValue.reference(ReferenceValue(recordName: $0, action: .deleteSelf)) }
        for source in 0..<3 {
            _ = try await database.modify([.create("a\(source)", ["of": .list(of: .reference, references)])])
        }
        let store = try #require(cloud.service.openStores.first)
        await cloud.service.settle()
        var written: [Int] = []
        var left: [Int] = []
        for _ in 0..<4 {
            let step = try await store.engine.write { transaction -> (written: Int, left: Int) in
                let owner = try #require(try transaction.account(named: "me")).owner
                let zone = try #require(try transaction.zone(owner: owner, named: ZoneIDDictionary.defaultZoneName)).key
                let job = JobRow(kind: BackgroundJob.cascade.rawValue, zone: zone, subject: "\(Int64.max) t")
                let indexes = IndexWriter(
                    definitions: try store.indexes.definitions(in: transaction), accounts: store.accounts)
                _ = try BackgroundStep(
                    job: job, limit: 2, environment: store.environment, indexes: indexes, notifier: store.notifier
                ).run(in: transaction)
                let sources = try transaction.references(
                    zone: zone, to: "t", kinds: [.deleteSelf], after: nil, limit: 9)
                return (transaction.writtenRows, sources.count)
            }
            written.append(step.written)
            left.append(step.left)
        }
        // Each record is one row and 31 edges; the limit of two records allows 20 rows.
        #expect(left == [2, 1, 0, 0])
        #expect(written.allSatisfy { $0 < 2 * 31 }, "\(written)")
        await cloud.service.close()
    }

    @Test func `owners are served round-robin, and each owner's oldest job first`() async throws {
        let engine = try MemoryStores().open(StoreID(container: "iCloud.test", environment: "development"))
        try await engine.write { transaction in
            for (owner, subject) in [(1, "a1"), (1, "a2"), (1, "a3"), (2, "b1"), (3, "c1"), (2, "b2")] {
                let zone = ZoneKey(owner: OwnerID(rawValue: Int64(owner)), id: 1)
                try transaction.insert(JobRow(kind: "k", zone: zone, subject: subject))
            }
        }
        var turns = JobSchedule()
        var order: [String] = []
        while let job = try await engine.read({ [turns] in try turns.next(now: 0, $0) }) {
            turns.begin(job)
            order.append(job.subject)
            try await engine.write { try $0.removeJob(id: job.id) }
            turns.succeeded(job)
        }
        #expect(order == ["a1", "b1", "c1", "a2", "b2", "a3"])
        await engine.close()
    }
}
