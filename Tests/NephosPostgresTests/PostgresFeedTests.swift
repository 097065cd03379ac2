import NephosPostgresTesting
import NephosStorage
import NephosThreads
import Synchronization
import Testing

@testable import NephosPostgres

/// Feeds are complete without a lock that blocks writers: late commits are not skipped.
@Suite(.overPostgreSQL, .oneAtATime) struct PostgresFeedTests {
    @Test(arguments: [1, 2, 3])
    func `a feed's reader gets every record's last version, in whatever order writers commit`(seed: UInt64) async throws
    {
        let stores = try TestCluster.stores.get()
        let engine = try stores.open(TestCluster.newStore())
        let zone = try await engine.write {
            try $0.insertZone(owner: .everyone, name: "Z", sequence: $0.nextSequence()).key
        }
        let isOver = Mutex(false)
        let follower = Task {
            var seen: [String: Int64] = [:]
            var position: Int64 = 0
            while true {
                let isLast = isOver.withLock { $0 }
                let start = position
                let (rows, end) = try await engine.read { reader in
                    let end = try reader.completeUpTo(zone: zone)
                    return (try reader.records(zone: zone, after: start, limit: 20), end)
                }
                for row in rows where row.sequence <= end {
                    seen[row.name] = row.sequence
                    position = row.sequence
                }
                if isLast && !rows.contains(where: { $0.sequence <= end }) { return seen }
                await Task.yield()
            }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<10 {
                group.addTask {
                    var random = Seeded(state: seed &* 100 &+ UInt64(writer))
                    for _ in 0..<20 {
                        let name = "r\(Int.random(in: 0..<15, using: &random))"
                        let pause = Int64.random(in: 0...3_000_000, using: &random)
                        try await engine.write { transaction in
                            _ = try transaction.records(zone: zone, named: [name])
                            try transaction.put(record(zone, name, sequence: try transaction.nextSequence()))
                            NativeThread.sleep(nanoseconds: pause)
                            try transaction.noteChange(zone: zone)
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        isOver.withLock { $0 = true }
        let seen = try await follower.value
        let stored = try await engine.read { try $0.records(zone: zone, after: 0, limit: .max) }
        #expect(seen == Dictionary(uniqueKeysWithValues: stored.map { ($0.name, $0.sequence) }), "seed \(seed)")
        await engine.close()
    }

    @Test func `a feed waits for the caller's own save, and answers without it if it stays incomplete`() async throws {
        var options = TestCluster.options(connections: 4)
        options.horizonNanoseconds = 300_000_000
        let stores = try PostgresStores(try TestCluster.address.get(), options: options)
        let id = TestCluster.newStore()
        let engine = try stores.open(id)
        let zone = try await engine.write {
            try $0.insertZone(owner: .everyone, name: "Z", sequence: $0.nextSequence()).key
        }
        // Somebody else's transaction, which writes and goes on.
        let other = try PostgresConnection(try TestCluster.address.get(), options, damage: nil)
        _ = try other.ask("CREATE TABLE IF NOT EXISTS public.elsewhere (n BIGINT)")
        try other.execute("BEGIN; INSERT INTO public.elsewhere VALUES (1)")
        let saved = try await engine.write { transaction in
            let sequence = try transaction.nextSequence()
            try transaction.put(record(zone, "a", sequence: sequence))
            return sequence
        }
        let early = try await engine.read { try $0.completeUpTo(zone: zone) }
        #expect(early < saved)
        // The record itself is there.
        #expect(try await engine.read { try $0.record(zone: zone, named: "a")?.sequence } == saved)
        async let late = engine.read { try $0.completeUpTo(zone: zone) }
        try other.execute("COMMIT")
        _ = try await late
        #expect(try await engine.read { try $0.completeUpTo(zone: zone) } == saved)
        other.close()
        await engine.close()
        stores.close()
    }

    @Test func `a feed waits for another server's save in its own zone only`() async throws {
        // Longer than any test: what waits for the end of it fails by its time.
        var options = TestCluster.options(connections: 4)
        options.horizonNanoseconds = 3_600_000_000_000
        let address = try TestCluster.address.get()
        let (first, second) = (
            try PostgresStores(address, options: options), try PostgresStores(address, options: options)
        )
        let id = TestCluster.newStore()
        let (one, other) = (try first.open(id), try second.open(id))
        let zones = try await one.write { transaction in
            try ["Y", "Z"].map {
                try transaction.insertZone(owner: .everyone, name: $0, sequence: transaction.nextSequence()).key
            }
        }
        // Somebody else's transaction, which writes and goes on.
        let foreign = try PostgresConnection(address, options, damage: nil)
        _ = try foreign.ask("CREATE TABLE IF NOT EXISTS public.elsewhere (n BIGINT)")
        try foreign.execute("BEGIN; INSERT INTO public.elsewhere VALUES (1)")
        let saved = try await one.write { transaction in
            let sequence = try transaction.nextSequence()
            try transaction.put(record(zones[1], "a", sequence: sequence))
            try transaction.noteChange(zone: zones[1])
            return sequence
        }
        // The other zone is complete, whatever else is not.
        for engine in [one, other] {
            #expect(try await engine.read { try $0.completeUpTo(zone: zones[0]) } < saved)
        }
        async let byName = other.read { reader in
            reader.expectFeeds()
            let zone = try reader.zone(owner: .everyone, named: "Z")
            return try zone.map { try reader.completeUpTo(zone: $0.key) }
        }
        async let byKey = other.read { try $0.completeUpTo(zone: zones[1]) }
        async let database = other.read { try $0.completeUpTo(owner: .everyone) }
        try foreign.execute("COMMIT")
        let reaches = try await [byName ?? 0, byKey, database]
        #expect(reaches == [saved, saved, saved])
        foreign.close()
        for engine in [one, other] { await engine.close() }
        for stores in [first, second] { stores.close() }
    }

    @Test func `a zone's last change is kept when its newest record is rewritten and not yet complete`() async throws {
        let stores = try TestCluster.stores.get()
        let engine = try stores.open(TestCluster.newStore())
        let zone = try await engine.write {
            try $0.insertZone(owner: .everyone, name: "Z", sequence: $0.nextSequence()).key
        }
        @Sendable func save() async throws -> Int64 {
            try await engine.write { transaction in
                let sequence = try transaction.nextSequence()
                try transaction.put(record(zone, "a", sequence: sequence))
                try transaction.noteChange(zone: zone)
                return sequence
            }
        }
        var last: Int64 = 0
        for _ in 0..<40 {
            _ = try await save()
            let complete = try await engine.read { try $0.completeUpTo(zone: zone) }
            #expect(complete >= last)
            last = complete
        }
        await engine.close()
    }
}

private func record(_ zone: ZoneKey, _ name: String, sequence: Int64) -> RecordRow {
    RecordRow(
        zone: zone, name: name, type: "Note", sequence: sequence, createdAt: 1, createdBy: 2, modifiedAt: 3,
        modifiedBy: 4, fields: Array("{}".utf8))
}

private struct Seeded: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ value >> 30) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ value >> 27) &* 0x94d0_49bb_1331_11eb
        return value ^ value >> 31
    }
}
