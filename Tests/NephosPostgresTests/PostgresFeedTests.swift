import Dispatch
import NephosPostgresTesting
import NephosStorage
import NephosTesting
import NephosThreads
import Synchronization
import Testing

@testable import NephosPostgres

/// Feeds are complete up to the last change that is committed.
@Suite(.overPostgreSQL, .oneAtATime) struct PostgresFeedTests {
    @Test(arguments: [1, 2, 3])
    func `a feed's reader gets every record's last version, of many writers`(seed: UInt64) async throws {
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

    @Test func `a foreign transaction that writes holds up no feed`() async throws {
        let stores = try PostgresStores(try TestCluster.address.get(), options: TestCluster.options(connections: 4))
        let engine = try stores.open(TestCluster.newStore())
        let zone = try await engine.write {
            try $0.insertZone(owner: .everyone, name: "Z", sequence: $0.nextSequence()).key
        }
        let foreign = try PostgresConnection(
            try TestCluster.address.get(), PostgresOptions(acceptsUnsafeServer: true), damage: nil)
        _ = try foreign.ask("CREATE TABLE IF NOT EXISTS public.elsewhere (n BIGINT)")
        try foreign.execute("BEGIN; INSERT INTO public.elsewhere VALUES (1)")
        let saved = try await engine.write { transaction in
            let sequence = try transaction.nextSequence()
            try transaction.put(record(zone, "a", sequence: sequence))
            try transaction.noteChange(zone: zone)
            return sequence
        }
        let reaches = try await engine.read { reader in
            reader.expectFeeds()
            let known = try reader.zone(owner: .everyone, named: "Z").map { try reader.completeUpTo(zone: $0.key) }
            return [known ?? 0, try reader.completeUpTo(zone: zone), try reader.completeUpTo(owner: .everyone)]
        }
        #expect(reaches == [saved, saved, saved])
        try foreign.execute("COMMIT")
        foreign.close()
        await engine.close()
        stores.close()
    }

    /// The numbers of two owners are drawn in one order and committed in the other.
    @Test(arguments: [false, true])
    func `settled sequences of two owners have all commits below them`(_ settlesFirst: Bool) async throws {
        let stores = try PostgresStores(try TestCluster.address.get(), options: TestCluster.options(connections: 6))
        let engine = try stores.open(TestCluster.newStore())
        let owners = [OwnerID(rawValue: 1), OwnerID(rawValue: 2)]
        let zones = try await engine.write(of: Set(owners)) { transaction in
            try owners.map {
                try transaction.insertZone(owner: $0, name: "Z", sequence: transaction.nextSequence()).key
            }
        }
        @Sendable func save(_ zone: ZoneKey, _ before: @escaping @Sendable () -> Void) async throws -> Int64 {
            try await engine.write(of: [zone.owner]) { transaction in
                let sequence = try transaction.nextSequence()
                try transaction.put(record(zone, "a", sequence: sequence))
                before()
                return sequence
            }
        }
        let (drawn, mayCommit) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        async let early = save(zones[0]) {
            drawn.signal()
            mayCommit.wait()
        }
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                drawn.wait()
                continuation.resume()
            }
        }
        let late = try await save(zones[1]) {}
        // The read waits for the first owner's write, which is behind the second's.
        async let settled = engine.read { reader in
            let settled = try reader.settledSequence(of: Set(owners))
            return (settled, try zones.map { try reader.completeUpTo(zone: $0) })
        }
        if settlesFirst { try await Self.waitsForLock() }
        mayCommit.signal()
        let (sequence, last) = try await settled
        let first = try await early
        #expect(first < late)
        #expect(last == [first, late])
        #expect(sequence >= late)
        let next = try await save(zones[0]) {}
        #expect(next > sequence)
        await engine.close()
        stores.close()
    }

    private static func waitsForLock() async throws {
        let other = try PostgresConnection(
            try TestCluster.address.get(), PostgresOptions(acceptsUnsafeServer: true), damage: nil)
        defer { other.close() }
        try await eventually {
            try !other.ask("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted").isEmpty
        }
    }

    @Test func `a zone's last change never falls when its newest record is rewritten`() async throws {
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
