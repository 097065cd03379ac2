import Synchronization

/// Read connections that are lent to threads that may block, one at a time each.
///
/// A connection that comes back keeps its snapshot until something is written: then the next read need not open one, which
/// costs two system calls and a lock that all connections share. The writer says when it writes.
package final class LentConnections: Sendable {
    private struct State: @unchecked Sendable {
        // Unchecked: a connection belongs to whoever took it from here, under the lock.
        var idle: [any SQLConnection] = []
        var lent = 0
        /// Odd while a transaction writes. Snapshots of one even number are all of the same state, the newest.
        var era = 0
        var isClosing = false
        var closers: [CheckedContinuation<Void, Never>] = []

        /// Lends nothing any more; returns what the caller has to close.
        mutating func close() -> [any SQLConnection] {
            isClosing = true
            defer { idle = [] }
            return idle
        }
    }

    private let state = Mutex(State())
    private let limit: Int
    private let open: @Sendable () throws -> any SQLConnection

    /// - Parameters:
    ///   - limit: the largest number of connections.
    ///   - open: opens a connection.
    package init(limit: Int, open: @escaping @Sendable () throws -> any SQLConnection) {
        self.limit = limit
        self.open = open
    }

    // MARK: Readers

    /// Runs `body` over a snapshot on the calling thread; nil if no connection is left to lend.
    package func read<T>(_ body: (any StorageReader) throws -> T) throws -> T? {
        guard let (connection, era) = try borrow() else { return nil }
        do {
            if !connection.isInTransaction { try connection.begin(writing: false) }
            let reader = SQLReader(connection)
            defer { reader.invalidate() }
            let result = try body(reader)
            if !giveBackWithSnapshot(connection, of: era) { giveBack(connection) }
            return result
        } catch {
            giveBack(connection)
            throw error
        }
    }

    private func borrow() throws -> (any SQLConnection, era: Int)? {
        enum Found {
            case connection(any SQLConnection)
            case room, nothing
        }
        let (found, era) = try state.withLock { state -> (Found, Int) in
            if state.isClosing { throw StorageError.closed }
            if let connection = state.idle.popLast() {
                state.lent += 1
                return (.connection(connection), state.era)
            }
            guard state.lent < limit else { return (.nothing, state.era) }
            state.lent += 1
            return (.room, state.era)
        }
        switch found {
        case .connection(let connection): return (connection, era)
        case .nothing: return nil
        case .room:
            do {
                return (try open(), era)
            } catch {
                giveBack(nil)
                throw error
            }
        }
    }

    /// Takes back a connection with its snapshot, if nothing has been written since `era`.
    private func giveBackWithSnapshot(_ connection: any SQLConnection, of era: Int) -> Bool {
        state.withLock { state in
            guard state.era == era, era.isMultiple(of: 2), !state.isClosing else { return false }
            state.lent -= 1
            state.idle.append(connection)
            return true
        }
    }

    private func giveBack(_ connection: (any SQLConnection)?) {
        connection?.rollback()
        let (closers, isClosing) = state.withLock { state in
            state.lent -= 1
            if let connection, !state.isClosing { state.idle.append(connection) }
            defer { if state.isClosing && state.lent == 0 { state.closers = [] } }
            return (state.isClosing && state.lent == 0 ? state.closers : [], state.isClosing)
        }
        if isClosing { connection?.close() }
        for closer in closers { closer.resume() }
    }

    // MARK: The writer

    /// A transaction is about to write: from here until `didWrite()` no snapshot is kept. One that is older than the
    /// transaction would not show what it writes, and would keep the log from being moved into the database.
    func willWrite() {
        state.withLock { state in
            state.era += 1
            for connection in state.idle { connection.rollback() }
        }
    }

    /// The transaction is over. Called before anybody learns of it.
    func didWrite() {
        state.withLock { $0.era += 1 }
    }

    /// The log was moved into the database: a snapshot that was taken before would go on reading the log.
    package func renew() {
        state.withLock { state in
            state.era += 2
            for connection in state.idle { connection.rollback() }
        }
    }

    // MARK: The end

    /// Closes the connections, once those that are lent are back. Later reads throw.
    package func close() async {
        await withCheckedContinuation { continuation in
            // The closer is added with the mark that makes the last reader look for it: between the two it could leave.
            let (idle, isBack) = state.withLock { state in
                if state.lent > 0 { state.closers.append(continuation) }
                return (state.close(), state.lent == 0)
            }
            for connection in idle { connection.close() }
            if isBack { continuation.resume() }
        }
    }

    /// Like `close()`, without waiting for it.
    package func shutDown() {
        let idle = state.withLock { $0.close() }
        for connection in idle { connection.close() }
    }
}
