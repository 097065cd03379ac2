import Dispatch
import NephosPostgresTesting
import NephosStorage
import Synchronization
import Testing

@testable import NephosPostgres

/// Concurrent lookups of single records.
@Suite(.overPostgreSQL, .oneAtATime) struct LookupPipelineTests {
    private static let names = (0..<20).map { "record\($0)" }

    /// Makes stores of a zone with records in each, and runs `body` with their engines and numbers.
    private func withStores(
        _ count: Int, _ body: (PostgresStores, [(engine: any StorageEngine, number: StoreNumber)]) async throws -> Void
    ) async throws {
        let options = TestCluster.options(connections: 4)
        let stores = try PostgresStores(try TestCluster.address.get(), options: options)
        var opened: [(engine: any StorageEngine, number: StoreNumber)] = []
        for number in 1...count {
            let engine = try stores.open(TestCluster.newStore())
            opened.append((engine, StoreNumber(value: Int64(number))))
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

    @Test func `waiting lookups of all stores are pipelined, sixteen at a time`() async throws {
        try await withStores(2) { provider, stores in
            let (opening, opened) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            let (address, prefix) = (try TestCluster.address.get(), provider.prefix)
            let pipeline = LookupPipeline(batches: 1, losses: ConnectionLosses(), patienceNanoseconds: .max / 4) {
                opening.signal()
                opened.wait()
                return try PostgresConnection(
                    address, PostgresOptions(acceptsUnsafeServer: true, prefix: prefix), damage: nil)
            }
            /// Looks up a record on this thread until it waits.
            func begin(_ name: String, _ store: Int) -> Task<String?, Never> {
                let number = stores[store].number
                return Task.immediate {
                    let row = await pipeline.row(
                        of: ZoneLookup(store: number, owner: 0, zone: "Zone", record: name))
                    return row.map {
                        String(
                            decoding: PostgresStatement.bytes($0.result, 0, PostgresSQL.zoneColumnCount), as: UTF8.self)
                    }
                }
            }
            var tasks = [begin("record0", 0)]
            // All wait for the connection.
            opening.wait()
            tasks += Self.names.enumerated().map { begin($1, $0 % 2) } + [begin("none", 1)]
            opened.signal()
            var found: [String?] = []
            for task in tasks { found.append(await task.value) }
            #expect(found.map { $0 ?? "" } == ["record0"] + Self.names + [""])
            // One to see what the database is, then 16 and 6.
            #expect(pipeline.roundTrips == 3)
            pipeline.close()
            #expect(await begin("record0", 0).value == nil, "it is closed")
        }
    }

    @Test func `a lookup that waits for a lock falls back to an ordinary read, which waits longer`() async throws {
        try await withStores(2) { stores, opened in
            for (engine, _) in opened { #expect(try await Self.lookup("record1", in: engine) != nil) }
            let other = try connection()
            try other.execute("BEGIN; LOCK TABLE \(stores.prefix).record IN ACCESS EXCLUSIVE MODE")
            async let waiting = Self.lookup("record1", in: opened[0].engine)
            var isWaiting = false
            while !isWaiting {
                isWaiting =
                    try other.ask(
                        """
                        SELECT 1 FROM pg_locks JOIN pg_stat_activity USING (pid)
                        WHERE NOT granted AND relation = '\(stores.prefix).record'::regclass AND query LIKE '%record%'
                        """
                    ).count > 0
            }
            try other.execute("ROLLBACK")
            #expect(try await waiting == [1])
            #expect(try await Self.lookup("record1", in: opened[1].engine) == [2])
            other.close()
        }
    }

    @Test(arguments: [0, Int64.max / 4])
    func `after a lost connection lookups fall back for as long as the backoff`(_ backoff: Int64) async throws {
        try await withStores(1) { provider, stores in
            let other = try connection()
            let (address, prefix) = (try TestCluster.address.get(), provider.prefix)
            let process = Mutex("")
            let losses = ConnectionLosses()
            let pipeline = LookupPipeline(batches: 1, losses: losses, backoffNanoseconds: backoff) {
                let connection = try PostgresConnection(
                    address, PostgresOptions(acceptsUnsafeServer: true, prefix: prefix), damage: nil)
                process.withLock { $0 = (try? connection.ask("SELECT pg_backend_pid()::text").first?.first) ?? "" }
                return connection
            }
            let lookup = ZoneLookup(store: stores[0].number, owner: 0, zone: "Zone", record: "record1")
            #expect(await pipeline.row(of: lookup) != nil)
            let last = process.withLock { $0 }
            _ = try other.ask("SELECT pg_terminate_backend(\(last), 10000)::text")
            #expect(await pipeline.row(of: lookup) == nil)
            #expect(losses.count == 1, "all others are made anew, too")
            let trips = pipeline.roundTrips
            let next = await pipeline.row(of: lookup)
            #expect((next == nil) == (backoff > 0))
            #expect((pipeline.roundTrips == trips) == (backoff > 0))
            #expect((process.withLock { $0 } == last) == (backoff > 0))
            pipeline.close()
            other.close()
        }
    }

    @Test func `after a failed lookup all fall back to ordinary reads`() async throws {
        try await withStores(2) { provider, stores in
            let (address, prefix) = (try TestCluster.address.get(), provider.prefix)
            let (opening, opened) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            let pipeline = LookupPipeline(
                batches: 1, losses: ConnectionLosses(), backoffNanoseconds: .max / 4
            ) {
                opening.signal()
                opened.wait()
                var options = PostgresOptions(acceptsUnsafeServer: true, prefix: prefix)
                options.lockMilliseconds = 50
                return try PostgresConnection(address, options, damage: nil)
            }
            func begin(_ store: Int) -> Task<Bool, Never> {
                let lookup = ZoneLookup(store: stores[store].number, owner: 0, zone: "Zone", record: "record1")
                return Task.immediate {
                    guard let row = await pipeline.row(of: lookup) else { return false }
                    pipeline.release(row)
                    return true
                }
            }
            let first = begin(1)
            opening.wait()
            opened.signal()
            #expect(await first.value)
            let other = try connection()
            try other.execute("BEGIN; LOCK TABLE \(provider.prefix).record IN ACCESS EXCLUSIVE MODE")
            for task in [begin(1), begin(0), begin(1)] { #expect(await task.value == false) }
            #expect(await begin(0).value == false)
            #expect(await begin(1).value == false)
            try other.execute("ROLLBACK")
            pipeline.close()
            other.close()
        }
    }

    @Test func `callers that hold many rows block further lookups`() async throws {
        try await withStores(1) { provider, stores in
            let (address, prefix) = (try TestCluster.address.get(), provider.prefix)
            let pipeline = LookupPipeline(batches: 1, losses: ConnectionLosses()) {
                try PostgresConnection(address, PostgresOptions(acceptsUnsafeServer: true, prefix: prefix), damage: nil)
            }
            let lookup = ZoneLookup(store: stores[0].number, owner: 0, zone: "Zone", record: "record1")
            let other = try connection()
            try other.execute("UPDATE \(provider.prefix).record SET fields = convert_to(repeat('x', 1000000), 'UTF8')")
            var held: [ZoneLookup.Row] = []
            while held.count < 20, let row = await pipeline.row(of: lookup) { held.append(row) }
            #expect((15...17).contains(held.count))
            for row in held { pipeline.release(row) }
            #expect(await pipeline.row(of: lookup) != nil)
            pipeline.close()
            other.close()
        }
    }
}
