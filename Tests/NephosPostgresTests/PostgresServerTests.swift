import Dispatch
import Foundation
import NephosPostgresTesting
import NephosStorage
import NephosTesting
import NephosThreads
import Synchronization
import Testing

@testable import NephosPostgres

/// The requirements on a server, and its short outages.
@Suite(.overPostgreSQL, .oneAtATime) struct PostgresServerTests {
    @Test func `a server that may lose acknowledged commits is refused with the reason`() async throws {
        let error = #expect(throws: StorageError.self) { _ = try PostgresStores(try TestCluster.address.get()) }
        #expect(error?.code == .constraint)
        #expect(error?.message.contains("fsync = off") == true)
    }

    @Test(
        arguments: [
            ("server_version_num", "140011"), ("server_encoding", "SQL_ASCII"), ("server_encoding", "LATIN1"),
            ("fsync", "off"), ("synchronous_commit", "off"), ("max_prepared_transactions", "10"),
        ])
    func `each setting that loses or alters data, or blocks feeds, is refused by its name`(name: String, value: String)
    {
        let fine = [
            "server_version_num": "150004", "server_encoding": "UTF8", "fsync": "on", "synchronous_commit": "on",
            "max_prepared_transactions": "0",
        ]
        #expect(ServerChecks.problem { fine[$0] ?? "" } == nil)
        let problem = ServerChecks.problem { $0 == name ? value : fine[$0] ?? "" }
        #expect(problem?.hasPrefix("PostgreSQL has \(name) = \(value): ") == true)
    }

    @Test func `a database that is not in UTF-8 is refused`() throws {
        let admin = try PostgresConnection(
            try TestCluster.address.get(), PostgresOptions(acceptsUnsafeServer: true), damage: nil)
        let name = "ascii_\(UInt32.random(in: .min ... .max))"
        _ = try admin.ask("CREATE DATABASE \(name) ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
        defer {
            _ = try? admin.ask("DROP DATABASE \(name) WITH (FORCE)")
            admin.close()
        }
        let address = try PostgresAddress("\(try TestCluster.text.get()) dbname=\(name)")
        let error = #expect(throws: StorageError.self) { _ = try PostgresStores(address) }
        #expect(error?.code == .constraint)
        #expect(
            error?.message == "PostgreSQL has server_encoding = SQL_ASCII: create the database with ENCODING 'UTF8'")
    }

    @Test(
        arguments: [
            ("postgresql://db.example.org/nephos", true), ("postgresql://localhost/nephos", false),
            ("postgresql://a,b/nephos?sslmode=verify-full", false), ("postgresql://localhost,b/nephos", true),
            ("postgresql://db.example.org/nephos?sslmode=require", true), ("host=/tmp dbname=x", false),
        ])
    func `a remote server needs TLS with a verified certificate`(address: String, isExposed: Bool) throws {
        #expect(try PostgresAddress(address).isExposed == isExposed)
    }

    @Test func `an invalid address is refused without repeating it`() {
        let error = #expect(throws: StorageError.self) { _ = try PostgresAddress("postgresql://u:secret@[") }
        #expect(error?.message.contains("secret") == false)
    }

    @Test func `an unreachable server is an error within the time limit`() throws {
        var options = PostgresOptions()
        options.connectMilliseconds = 300
        let error = #expect(throws: StorageError.self) {
            _ = try PostgresStores(try PostgresAddress("host=/nowhere dbname=x"), options: options)
        }
        #expect(error?.code == .inputOutput)
    }

    @Test func `one server's notification reaches the other servers, and all look after a lost connection`()
        async throws
    {
        let name = "nephos-signals-\(UUID().uuidString)"
        let address = try PostgresAddress("\(try TestCluster.text.get()) application_name=\(name)")
        var options = TestCluster.options(connections: 1)
        options.lookMilliseconds = 600_000
        let id = TestCluster.newStore()
        let (first, second) = (
            try PostgresStores(address, options: options), try PostgresStores(address, options: options)
        )
        let (one, other) = (try first.open(id), try second.open(id))
        let (ownHeard, own) = AsyncStream<StoreSignals>.makeStream()
        let (heard, hear) = AsyncStream<StoreSignals>.makeStream()
        one.onSignals { own.yield($0) }
        other.onSignals { hear.yield($0) }
        var (mine, others) = (ownHeard.makeAsyncIterator(), heard.makeAsyncIterator())
        // Each looks for everything once it listens.
        #expect(await mine.next() == .all)
        #expect(await others.next() == .all)
        one.signalOthers(.polls)
        #expect(await others.next() == .polls)
        let killer = try PostgresConnection(
            try TestCluster.address.get(), PostgresOptions(acceptsUnsafeServer: true), damage: nil)
        _ = try killer.ask(
            "SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity WHERE application_name = '\(name)'")
        // Its own signal never came; this is the look after the loss.
        #expect(await mine.next() == .all)
        #expect(await others.next() == .all)
        other.signalOthers(.work)
        #expect(await mine.next() == .work)
        killer.close()
        for engine in [one, other] { await engine.close() }
        for stores in [first, second] { stores.close() }
    }

    @Test func `a notification arrives during a read of the database's clock`() async throws {
        var options = TestCluster.options(connections: 1)
        options.lookMilliseconds = 20
        let address = try TestCluster.address.get()
        let prefix = options.prefix
        let notifies = Mutex(false)
        let clock = options.clock
        options.clock = {
            let isDue = notifies.withLock { notifies in
                defer { notifies = false }
                return notifies
            }
            if isDue {
                let other = try? PostgresConnection(address, PostgresOptions(acceptsUnsafeServer: true), damage: nil)
                let payload = "other \(StoreSignals.polls.rawValue) 1"
                _ = try? other?.ask("SELECT pg_notify('\(prefix)', '\(payload)')::text")
                other?.close()
            }
            return clock()
        }
        let stores = try PostgresStores(address, options: options)
        let engine = try stores.open(TestCluster.newStore())
        let (heard, hear) = AsyncStream<StoreSignals>.makeStream()
        engine.onSignals { hear.yield($0) }
        var signals = heard.makeAsyncIterator()
        #expect(await signals.next() == .all)
        notifies.withLock { $0 = true }
        // Between them it looks for everything.
        var isHeard = false
        for _ in 0..<500 where !isHeard { isHeard = await signals.next() == .polls }
        #expect(isHeard)
        await engine.close()
        stores.close()
    }

    @Test func `waits for an owner's other write and for a connection are summed`() async throws {
        let stores = try PostgresStores(try TestCluster.address.get(), options: TestCluster.options(connections: 2))
        let id = TestCluster.newStore()
        let (first, second) = (try stores.open(id), try stores.open(id))
        let before = try #require(stores.waits)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for engine in [first, second, first] {
                group.addTask {
                    try await engine.write(of: [.everyone, OwnerID(rawValue: 7)]) { transaction in
                        _ = try transaction.nextSequence()
                        NativeThread.sleep(nanoseconds: 20_000_000)
                    }
                }
            }
            try await group.waitForAll()
        }
        let after = try #require(stores.waits)
        #expect(after.owners - before.owners > 0.01)
        #expect(after.connections - before.connections > 0.01)
        #expect(after.deadlocks == 0)
        for engine in [first, second] { await engine.close() }
        stores.close()
    }

    @Test func `connections that the server closed are reopened, and statements are prepared again`() async throws {
        let name = "nephos-test-\(UUID().uuidString)"
        let address = try PostgresAddress("\(try TestCluster.text.get()) application_name=\(name)")
        let stores = try PostgresStores(address, options: TestCluster.options(connections: 3))
        let engine = try stores.open(TestCluster.newStore())
        let zone = try await engine.write {
            try $0.insertZone(owner: .everyone, name: "Z", sequence: $0.nextSequence()).key
        }
        let other = try PostgresConnection(
            try TestCluster.address.get(), PostgresOptions(acceptsUnsafeServer: true), damage: nil)
        for round in 0..<3 {
            _ = try other.ask(
                "SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity WHERE application_name = '\(name)'")
            try await engine.write { transaction in
                let sequence = try transaction.nextSequence()
                try transaction.put(
                    RecordRow(
                        zone: zone, name: "r\(round)", type: "Note", sequence: sequence, createdAt: 1, createdBy: 2,
                        modifiedAt: 3, modifiedBy: 4, fields: []))
            }
            let names = try await engine.read { try $0.records(zone: zone, after: 0, limit: 9).map(\.name) }
            #expect(names == (0...round).map { "r\($0)" })
        }
        other.close()
        await engine.close()
        stores.close()
    }

    @Test func `a prepared statement that is gone is prepared again`() async throws {
        let stores = try PostgresStores(
            try TestCluster.address.get(), options: TestCluster.options(connections: 1))
        let engine = try stores.open(TestCluster.newStore())
        _ = try await engine.read { try $0.recordTypes() }
        try await stores.pool.run { try $0.execute("DEALLOCATE ALL") }
        #expect(try await engine.read { try $0.recordTypes() } == [])
        try await stores.pool.run { try $0.execute("DEALLOCATE ALL") }
        try await engine.write { try $0.insertRecordType("Note") }
        #expect(try await engine.read { try $0.recordTypes() } == ["Note"])
        await engine.close()
        stores.close()
    }

    @Test func `a request that gets no connection in time is refused, and so is one when too many wait`() async throws {
        var options = TestCluster.options(connections: 1)
        options.waitNanoseconds = 50_000_000
        options.waiting = 2
        let stores = try PostgresStores(try TestCluster.address.get(), options: options)
        let engine = try stores.open(TestCluster.newStore())
        let (starts, start) = AsyncStream<Void>.makeStream()
        let mayEnd = DispatchSemaphore(value: 0)
        async let holding: Void = engine.read { _ in
            start.yield()
            mayEnd.wait()
        }
        for await _ in starts { break }
        let codes = await withTaskGroup(of: StorageError.Code?.self) { group in
            for _ in 0..<5 {
                group.addTask {
                    do {
                        _ = try await engine.read { try $0.recordTypes() }
                        return nil
                    } catch {
                        return (error as? StorageError)?.code
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        mayEnd.signal()
        try await holding
        #expect(codes == Array(repeating: .busy, count: 5))
        #expect(try await engine.read { try $0.recordTypes() } == [])
        await engine.close()
        stores.close()
    }
}

/// A server that stops while it has an owner's line, and poolers.
@Suite(.overPostgreSQL) struct PostgresSessionTests {
    @Test func `a server that stops with a line held costs its owner no more than the idle time`() async throws {
        let held = DispatchSemaphore(value: 0)
        let goOn = DispatchSemaphore(value: 0)
        let isFirst = Mutex(true)
        var options = TestCluster.options(connections: 2)
        options.idleMilliseconds = 300
        let stores = try PostgresStores(try TestCluster.address.get(), options: options)
        let others = try PostgresStores(try TestCluster.address.get(), options: options)
        let id = TestCluster.newStore()
        let (stopped, other) = (try stores.open(id), try others.open(id))
        let zone = try await other.write(of: [.everyone]) {
            try $0.insertZone(owner: .everyone, name: "Z", sequence: $0.nextSequence()).key
        }
        async let late = stopped.write(of: [.everyone]) { transaction in
            transaction.mayRepeat()
            let token = try transaction.zone(zone)?.clientChangeToken ?? ""
            if isFirst.withLock({ isFirst in
                defer { isFirst = false }
                return isFirst
            }) {
                held.signal()
                goOn.wait()
            }
            try transaction.setClientChangeToken(token + "late", zone: zone)
        }
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                held.wait()
                continuation.resume()
            }
        }
        try await other.write(of: [.everyone]) { try $0.setClientChangeToken("other ", zone: zone) }
        goOn.signal()
        // Its session was ended, so it runs again, behind the other.
        try await late
        #expect(try await other.read { try $0.zone(zone)?.clientChangeToken } == "other late")
        for engine in [stopped, other] { await engine.close() }
        for stores in [stores, others] { stores.close() }
    }

    /// Returns a proxy before the tests' cluster, and the address that leads through it.
    private func proxy(in place: String) throws -> (CuttingProxy, PostgresAddress) {
        // The address of the tests' cluster names the directory of its socket.
        let text = try TestCluster.text.get()
        let directory = try #require(
            text.split(separator: " ").first { $0.hasPrefix("host=") }?.dropFirst("host=".count))
        let proxy = try CuttingProxy(
            to: .socket(path: "\(directory)/.s.PGSQL.5432"), listensOn: "\(place)/.s.PGSQL.5432")
        return (proxy, try PostgresAddress(text.replacing("host=\(directory)", with: "host=\(place)")))
    }

    @Test func `a server that stops amid a statement with a line held is ended by who waits for the line`() async throws
    {
        let place = "\(FileManager.default.temporaryDirectory.path)/nephos-\(UInt32.random(in: .min ... .max))"
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: place) }
        let (proxy, address) = try proxy(in: place)
        var options = TestCluster.options(connections: 2)
        (options.idleMilliseconds, options.lockMilliseconds) = (300, 60_000)
        let stores = try PostgresStores(address, options: options)
        let others = try PostgresStores(try TestCluster.address.get(), options: options)
        let id = TestCluster.newStore()
        let (stopped, other) = (try stores.open(id), try others.open(id))
        let zone = try await other.write(of: [.everyone]) {
            try $0.insertZone(owner: .everyone, name: "Z", sequence: $0.nextSequence()).key
        }
        // What a batch has beyond 64 KB does not arrive.
        let isStalled = Mutex(false)
        proxy.decide { bytes in
            guard bytes.count > 32_768 else { return .passes }
            let isFirst = isStalled.withLock { isStalled in
                defer { isStalled = true }
                return !isStalled
            }
            if isFirst { proxy.stall(true) }
            return .passes
        }
        async let late: Void = stopped.write(of: [.everyone]) { transaction in
            transaction.mayRepeat()
            let token = try transaction.zone(zone)?.clientChangeToken ?? ""
            for _ in 0..<10 {
                try transaction.setClientChangeToken(token + String(repeating: "l", count: 100_000), zone: zone)
            }
        }
        await eventually { isStalled.withLock(\.self) }
        let look = try PostgresConnection(try TestCluster.address.get(), options, damage: nil)
        try look.use(StoreNumber(value: 1))
        func waiting(_ owner: OwnerID) throws -> Int {
            try look.waitingWrites(holding: Lines(owners: [owner]), since: 0).count
        }
        try await eventually { try waiting(.everyone) == 1 }
        #expect(try waiting(OwnerID(rawValue: 7)) == 0, "who waits for another owner does not end it")
        look.close()
        try await other.write(of: [.everyone]) { try $0.setClientChangeToken("other ", zone: zone) }
        proxy.stall(false)
        // Its session was ended, so it runs again, behind the other.
        try await late
        #expect(try await other.read { try $0.zone(zone)?.clientChangeToken?.hasPrefix("other l") } == true)
        for engine in [stopped, other] { await engine.close() }
        for stores in [stores, others] { stores.close() }
        proxy.close()
    }

    @Test func `a server that stops before it has read an answer costs its owner no more than the idle time`()
        async throws
    {
        let place = "\(FileManager.default.temporaryDirectory.path)/nephos-\(UInt32.random(in: .min ... .max))"
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: place) }
        let (proxy, address) = try proxy(in: place)
        var options = TestCluster.options(connections: 2)
        // 4 MB take a slow machine a while.
        (options.idleMilliseconds, options.lockMilliseconds) = (1500, 60_000)
        let stores = try PostgresStores(address, options: options)
        let others = try PostgresStores(try TestCluster.address.get(), options: options)
        let id = TestCluster.newStore()
        let (stopped, other) = (try stores.open(id), try others.open(id))
        let zone = try await other.write(of: [.everyone]) {
            try $0.insertZone(owner: .everyone, name: "Z", sequence: $0.nextSequence()).key
        }
        // More than the buffers between them have room for. Its statements are prepared after that.
        try await stopped.write(of: [.everyone]) { transaction in
            // On a busy machine its session may be idle for too long.
            transaction.mayRepeat()
            _ = try transaction.zone(zone)
            try transaction.setClientChangeToken(String(repeating: "l", count: 4_000_000), zone: zone)
        }
        proxy.stallAtLargeAnswer()
        let runs = Mutex(0)
        async let late: Void = stopped.write(of: [.everyone]) { transaction in
            transaction.mayRepeat()
            runs.withLock { $0 += 1 }
            let token = try transaction.zone(zone)?.clientChangeToken ?? ""
            try transaction.setClientChangeToken(token.prefix(6) + "late", zone: zone)
        }
        await eventually { proxy.isStalled }
        try await other.write(of: [.everyone]) { try $0.setClientChangeToken("other ", zone: zone) }
        proxy.stall(false)
        try await late
        #expect(try await other.read { try $0.zone(zone)?.clientChangeToken } == "other late")
        #expect(runs.withLock(\.self) == 2, "its session was ended")
        for engine in [stopped, other] { await engine.close() }
        for stores in [stores, others] { stores.close() }
        proxy.close()
    }

    @Test(arguments: [
        // Idle: both connections have one session.
        ["7", "7"],
        // Busy: a connection has its session for a while, and then another.
        ["7", "8", "7", "8", "7", "9"], ["7", "8", "6", "8"],
    ])
    func `sessions that connections share are refused in words`(sessions: [String]) throws {
        var asked = 0
        let error = #expect(throws: StorageError.self) {
            try ServerChecks.refusePooler(connections: 2) { _ in
                defer { asked += 1 }
                return sessions[asked]
            }
        }
        #expect(error?.message.contains("pool_mode") == true)
    }

    @Test func `connections with sessions of their own are accepted`() throws {
        try ServerChecks.refusePooler(connections: 2) { String($0) }
    }
}
