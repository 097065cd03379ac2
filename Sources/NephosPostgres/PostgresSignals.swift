import NephosStorage
import NephosThreads

/// The signals of a server's stores, over `NOTIFY` and `LISTEN` on two connections of their own.
///
/// `NOTIFY` within a transaction takes a lock of the whole cluster at its commit, so a signal is sent after the commit, and
/// those of a moment go together. Where the connection that listens was lost, and every few seconds, each store is told to
/// look for everything.
final class PostgresSignals: @unchecked Sendable {
    // Sendable because `lock` guards these.
    private let lock = Lock()
    private let condition: Condition
    private var handlers: [StoreNumber: @Sendable (StoreSignals) -> Void] = [:]
    private var waiting: [StoreNumber: StoreSignals] = [:]
    private var isRunning = false
    private var isClosed = false
    /// The connection that is listened on.
    private var listening: PostgresConnection?

    private let address: PostgresAddress
    private let options: PostgresOptions
    private let clock: DatabaseClock
    private let channel: String
    /// What this server's own signals are known by.
    private let sender = String(UInt64.random(in: .min ... .max), radix: 36)
    /// Those of so long go together, in nanoseconds.
    private static let coalescing: Int64 = 5_000_000
    private static let reconnectPause: Int64 = 500_000_000

    init(_ address: PostgresAddress, _ options: PostgresOptions, _ clock: DatabaseClock) {
        self.clock = clock
        self.address = address
        self.options = options
        channel = options.prefix
        condition = Condition(lock)
    }

    // MARK: Stores

    /// Has a store's signals given to `handler`, on a thread of this object's.
    func register(_ store: StoreNumber, _ handler: @escaping @Sendable (StoreSignals) -> Void) throws {
        lock.withLock { handlers[store] = handler }
        try start()
    }

    /// Listens before a store is open, so that what copies stores sees that a server has them. Blocks.
    /// - Throws: `StorageError` `.inUse` while stores are copied.
    func listenAtOnce() throws {
        do {
            try connect()
        } catch let error as StorageError where error.code == .busy {
            throw StorageError(
                .inUse, "'nephos migrate' copies the stores of the database (\(error)); start when it has ended")
        }
        try start()
    }

    private func start() throws {
        let starts = lock.withLock { () -> Bool in
            defer { isRunning = true }
            return !isRunning && !isClosed
        }
        guard starts else { return }
        try NativeThread.start("pg listen") { [self] in listen() }
        try NativeThread.start("pg notify") { [self] in send() }
    }

    func unregister(_ store: StoreNumber) {
        lock.withLock { handlers[store] = nil }
    }

    func signal(_ store: StoreNumber, _ signals: StoreSignals) {
        lock.withLock {
            guard isRunning, !isClosed else { return }
            waiting[store, default: []].formUnion(signals)
            condition.signal()
        }
    }

    func close() {
        lock.withLock {
            isClosed = true
            handlers = [:]
            condition.broadcast()
            listening?.link.interrupt()
        }
    }

    // MARK: Sending

    private func send() {
        var connection: PostgresConnection?
        while let batch = take() {
            let payloads = batch.map { "\(sender) \($0.value.rawValue) \($0.key.value)" }
            let calls = payloads.map {
                "pg_notify(\(PostgresAddress.literal(channel)), \(PostgresAddress.literal($0)))::text"
            }
            do {
                if connection?.isBroken ?? true {
                    connection?.close()
                    connection = try PostgresConnection(address, options, damage: nil)
                }
                for start in stride(from: 0, to: calls.count, by: 1000) {
                    let some = calls[start..<min(start + 1000, calls.count)].joined(separator: ", ")
                    _ = try connection?.ask("SELECT \(some)")
                }
            } catch {
                // The others look by themselves after a while.
                options.log("signals to other servers: \(error)")
                connection?.close()
                connection = nil
                NativeThread.sleep(nanoseconds: Self.reconnectPause)
            }
            NativeThread.sleep(nanoseconds: Self.coalescing)
        }
        connection?.close()
    }

    /// What waits to be sent; nil once this is closed.
    private func take() -> [StoreNumber: StoreSignals]? {
        lock.lock()
        defer { lock.unlock() }
        while waiting.isEmpty && !isClosed { condition.wait() }
        if isClosed { return nil }
        defer { waiting = [:] }
        return waiting
    }

    // MARK: Listening

    private func listen() {
        while !lock.withLock({ isClosed }) {
            do {
                let connection = try lock.withLock({ listening }) ?? connect()
                defer { disconnect() }
                // What was signalled before is lost.
                deliverToAll()
                try listen(on: connection)
            } catch {
                if lock.withLock({ isClosed }) { break }
                options.log("signals from other servers: \(error)")
                NativeThread.sleep(nanoseconds: Self.reconnectPause)
            }
        }
        disconnect()
    }

    /// Makes the connection that is listened on, with the lock of the servers.
    @discardableResult private func connect() throws -> PostgresConnection {
        let connection = try PostgresConnection(address, options, damage: nil)
        lock.withLock { listening = connection }
        do {
            let (first, second) = PostgresAddress.lockKey(PostgresAddress.nameOfServersLock(channel))
            _ = try connection.ask("SELECT pg_advisory_lock_shared(\(first), \(second))::text")
            try connection.execute("LISTEN \(PostgresAddress.quoted(channel))")
            return connection
        } catch {
            disconnect()
            throw error
        }
    }

    private func disconnect() {
        let connection = lock.withLock { () -> PostgresConnection? in
            defer { listening = nil }
            return listening
        }
        connection?.close()
    }

    private func listen(on connection: PostgresConnection) throws {
        let pause = Int64(options.lookMilliseconds) * 1_000_000
        var nextMeasure = MonotonicTime.now + pause
        while !lock.withLock({ isClosed }) {
            // Some may have been read with what measuring gave: no wait would end for those.
            for payload in try connection.link.takeNotifications() { deliver(payload) }
            if try !connection.link.waitForInput(milliseconds: options.lookMilliseconds) {
                // A connection may be lost without a word.
                nextMeasure = .now
                deliverToAll()
            }
            // Also while there is always something to hear.
            if MonotonicTime.now.nanoseconds >= nextMeasure.nanoseconds {
                try clock.measure(connection)
                nextMeasure = MonotonicTime.now + pause
            }
        }
    }

    private func deliver(_ payload: String) {
        let parts = payload.split(separator: " ", maxSplits: 2)
        guard parts.count == 3, parts[0] != sender, let signals = Int(parts[1]), let store = Int64(parts[2])
        else { return }
        lock.withLock { handlers[StoreNumber(value: store)] }?(StoreSignals(rawValue: signals))
    }

    private func deliverToAll() {
        for handler in lock.withLock({ Array(handlers.values) }) { handler(.all) }
    }
}
