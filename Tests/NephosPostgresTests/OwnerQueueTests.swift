import Dispatch
import NephosPostgresTesting
import NephosStorage
import NephosTesting
import Testing

@testable import NephosPostgres

/// Waiting writes of one owner, which are committed together.
@Suite(.overPostgreSQL) struct OwnerQueueTests {
    private struct Refused: Error {}

    /// Runs writes that wait while another of the same owner is under way.
    private func inOneGroup(
        _ bodies: [@Sendable (StorageTransaction, ZoneKey) throws -> Void],
        _ check: (any StorageEngine, ZoneKey, [(any Error)?]) async throws -> Void
    ) async throws {
        let stores = try PostgresStores(try TestCluster.address.get(), options: TestCluster.options(connections: 3))
        let engine = try stores.open(TestCluster.newStore())
        let zone = try await engine.write(of: [.everyone]) {
            try $0.insertZone(owner: .everyone, name: "Z", sequence: $0.nextSequence()).key
        }
        let mayEnd = DispatchSemaphore(value: 0)
        let (begun, begin) = AsyncStream<Void>.makeStream()
        async let first: Void = engine.write(of: [.everyone]) { transaction in
            _ = try transaction.nextSequence()
            begin.yield()
            mayEnd.wait()
        }
        for await _ in begun { break }
        var failures: [(any Error)?] = []
        // On this thread until they wait, so in this order.
        let tasks = bodies.map { body in
            Task.immediate { () -> (any Error)? in
                do {
                    try await engine.write(of: [.everyone]) { try body($0, zone) }
                    return nil
                } catch {
                    return error
                }
            }
        }
        let before = stores.roundTrips
        mayEnd.signal()
        try await first
        for task in tasks { failures.append(await task.value) }
        #expect(stores.roundTrips > before)
        try await check(engine, zone, failures)
        await engine.close()
        stores.close()
    }

    private static func put(_ names: [String], _ zone: ZoneKey, _ transaction: StorageTransaction) throws {
        _ = try transaction.records(zone: zone, named: names)
        for name in names {
            try transaction.put(
                RecordRow(
                    zone: zone, name: name, type: "Note", sequence: try transaction.nextSequence(), createdAt: 1,
                    createdBy: 1, modifiedAt: 1, modifiedBy: 1, fields: []))
        }
    }

    private func names(_ engine: any StorageEngine, _ zone: ZoneKey) async throws -> [String] {
        try await engine.read { try $0.records(zone: zone, after: 0, limit: .max).map(\.name) }
    }

    @Test func `a body that throws undoes its own changes alone`() async throws {
        try await inOneGroup([
            { try Self.put(["a"], $1, $0) },
            { transaction, zone in
                try Self.put(["b"], zone, transaction)
                throw Refused()
            },
            // It sees what the one before the refused one wrote.
            { transaction, zone in
                guard try transaction.record(zone: zone, named: "a") != nil,
                    try transaction.record(zone: zone, named: "b") == nil
                else { throw Refused() }
                try Self.put(["c"], zone, transaction)
            },
        ]) { engine, zone, failures in
            #expect(failures.map { $0 is Refused } == [false, true, false])
            let found = try await names(engine, zone)
            #expect(found == ["a", "c"])
        }
    }

    @Test func `a change that fails after its body returned fails its own write alone`() async throws {
        let many = (0..<100).map { "r\($0)" }
        // An entry of an index holds a third of a page, however well it compresses.
        var random = SeededGenerator(seed: 1)
        let long = (0..<9000).map { _ in String(UnicodeScalar(UInt8.random(in: 33...126, using: &random))) }.joined()
        try await inOneGroup([
            { try Self.put(many, $1, $0) }, { try Self.put(many.map { "x\($0)" } + [long], $1, $0) },
            { try Self.put(["c"], $1, $0) },
        ]) { engine, zone, failures in
            #expect(failures.map { ($0 as? StorageError)?.code } == [nil, .constraint, nil])
            let found = Set(try await names(engine, zone))
            #expect(found == Set(many + ["c"]))
        }
    }

    @Test func `a body that needs another owner's line, or the store's, runs by itself`() async throws {
        try await inOneGroup([
            { try Self.put(["a"], $1, $0) },
            { transaction, zone in
                try Self.put(["b"], zone, transaction)
                _ = try transaction.insertZone(
                    owner: OwnerID(rawValue: 7), name: "Other", sequence: transaction.nextSequence())
            },
            { transaction, zone in
                try Self.put(["c"], zone, transaction)
                try transaction.insertRecordType("Note")
            },
        ]) { engine, zone, failures in
            #expect(failures.allSatisfy { $0 == nil })
            let found = Set(try await names(engine, zone))
            #expect(found == ["a", "b", "c"])
            let zones = try await engine.read { try $0.zones(owner: OwnerID(rawValue: 7)).count }
            #expect(zones == 1)
        }
    }
}
