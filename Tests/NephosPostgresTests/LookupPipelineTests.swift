import Dispatch
import NephosPostgresTesting
import NephosStorage
import Synchronization
import Testing

@testable import NephosPostgres

/// Single records that are looked up by many at once.
@Suite(.overPostgreSQL, .oneAtATime) struct LookupPipelineTests {
    private static let names = (0..<20).map { "record\($0)" }

    /// Makes stores of a zone with records in each, and runs `body` with their engines and schemas.
    private func withStores(
        _ count: Int, _ body: (PostgresStores, [(engine: any StorageEngine, schema: String)]) async throws -> Void
    ) async throws {
        let options = TestCluster.options(connections: 4)
        let stores = try PostgresStores(try TestCluster.address.get(), options: options)
        var opened: [(engine: any StorageEngine, schema: String)] = []
        for number in 1...count {
            let engine = try stores.open(TestCluster.newStore())
            opened.append((engine, "\(options.prefix)_\(number)"))
            try await engine.write { transaction in
                let zone = try transaction.insertZone(
                    owner: .everyone, name: "Zone", sequence: try transaction.nextSequence()
                ).key
                for name in Self.names {
                    _ = try transaction.put(
                        RecordRow(
                            zone: zone, name: name, type: "Note", sequence: try transaction.nextSequence(),
                            createdAt: 1, createdBy: 1, modifiedAt: 1, modifiedBy: 1, fields: [UInt8(number)]))
                }
            }
        }
        try await body(stores, opened)
        for (engine, _) in opened { await engine.close() }
        stores.close()
    }

    private static func lookup(_ name: String, in engine: any StorageEngine) async throws -> [UInt8]? {
        try await engine.read(expecting: .lookup) { reader in
            reader.expectZone(named: "Zone", records: [name], shares: 0)
            guard let zone = try reader.zone(owner: .everyone, named: "Zone") else { return nil }
            return try reader.record(zone: zone.key, named: name)?.fields
        }
    }

    private func connection() throws -> PostgresConnection {
        try PostgresConnection(
            try TestCluster.address.get(), PostgresOptions(acceptsUnsafeServer: true), damage: nil)
    }

    @Test func `lookups of a store that wait go together, sixteen at a time`() async throws {
        try await withStores(2) { _, stores in
            let (opening, opened) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            let address = try TestCluster.address.get()
            let pipeline = LookupPipeline(threads: 1) {
                opening.signal()
                opened.wait()
                return try PostgresConnection(
                    address, PostgresOptions(acceptsUnsafeServer: true), damage: nil)
            }
            /// Looks up a record on this thread until it waits.
            func begin(_ name: String, _ store: Int) -> Task<String?, Never> {
                let schema = stores[store].schema
                return Task.immediate {
                    let row = await pipeline.row(
                        of: ZoneLookup(schema: schema, owner: 0, zone: "Zone", record: name))
                    return row.map {
                        String(
                            decoding: PostgresStatement.bytes($0.result, 0, PostgresSQL.zoneColumnCount), as: UTF8.self)
                    }
                }
            }
            var tasks = [begin("record0", 0)]
            // The first is under way, so the others wait.
            opening.wait()
            tasks += Self.names.map { begin($0, 0) } + [begin("record7", 1), begin("none", 1)]
            opened.signal()
            var found: [String?] = []
            for task in tasks { found.append(await task.value) }
            #expect(found.map { $0 ?? "" } == ["record0"] + Self.names + ["record7", ""])
            // Two to see what each store is, then 1, 16, 4 and 2.
            #expect(pipeline.roundTrips == 6)
            pipeline.close()
            #expect(await begin("record0", 0).value == nil, "it is closed")
        }
    }

    @Test func `a lookup that has to wait for a lock keeps no other store's waiting`() async throws {
        try await withStores(2) { _, stores in
            for (engine, _) in stores { #expect(try await Self.lookup("record1", in: engine) != nil) }
            let other = try connection()
            try other.execute("BEGIN; LOCK TABLE \(stores[0].schema).record IN ACCESS EXCLUSIVE MODE")
            async let waiting = Self.lookup("record1", in: stores[0].engine)
            for name in Self.names { #expect(try await Self.lookup(name, in: stores[1].engine) == [2]) }
            try other.execute("ROLLBACK")
            #expect(try await waiting == [1])
            other.close()
        }
    }

    @Test func `where the connection is lost lookups are left to ordinary reads, until there is another`() async throws
    {
        try await withStores(1) { _, stores in
            let other = try connection()
            let address = try TestCluster.address.get()
            let process = Mutex("")
            let pipeline = LookupPipeline(threads: 1) {
                let connection = try PostgresConnection(
                    address, PostgresOptions(acceptsUnsafeServer: true), damage: nil)
                process.withLock { $0 = (try? connection.ask("SELECT pg_backend_pid()::text").first?.first) ?? "" }
                return connection
            }
            let lookup = ZoneLookup(schema: stores[0].schema, owner: 0, zone: "Zone", record: "record1")
            for _ in 0..<3 {
                #expect(await pipeline.row(of: lookup) != nil)
                let last = process.withLock { $0 }
                _ = try other.ask("SELECT pg_terminate_backend(\(last), 10000)::text")
                #expect(await pipeline.row(of: lookup) == nil)
            }
            pipeline.close()
            other.close()
        }
    }
}
