import Synchronization

/// Read connections that are lent to threads that may block, one at a time each.
///
/// A connection that comes back keeps its snapshot until something is written: then the next read need not open one, which
/// costs two system calls and a lock that all connections share. The writer says when it writes.
package final class LentConnections: Sendable {
    /// A connection, and the zones that were found in its snapshot. They mean nothing once that has ended.
    private struct Reading {
        let connection: any SQLConnection
        var zones: [ZoneRow] = []
    }

    private struct State: @unchecked Sendable {
        // Unchecked: a connection belongs to whoever took it from here, under the lock.
        var idle: [Reading] = []
        var lent = 0
        /// Odd while a transaction writes. Snapshots of one even number are all of the same state, the newest.
        var era = 0
        var isClosing = false
        var closers: [CheckedContinuation<Void, Never>] = []

        /// Lends nothing any more; returns what the caller has to close.
        mutating func close() -> [any SQLConnection] {
            isClosing = true
            defer { idle = [] }
            return idle.map(\.connection)
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
        guard let (borrowed, era) = try borrow() else { return nil }
        var reading = borrowed
        let connection = reading.connection
        do {
            if !connection.isInTransaction {
                try connection.begin(writing: false)
                reading.zones = []
            }
            let reader = SQLReader(connection, foundZones: reading.zones)
            defer { reader.invalidate() }
            let result = try body(reader)
            reading.zones = reader.foundZones ?? []
            if !giveBackWithSnapshot(reading, of: era) { giveBack(connection) }
            return result
        } catch {
            giveBack(connection)
            throw error
        }
    }

    private func borrow() throws -> (Reading, era: Int)? {
        enum Found {
            case reading(Reading)
            case room, nothing
        }
        let (found, era) = try state.withLock { state -> (Found, Int) in
            if state.isClosing { throw StorageError.closed }
            if let reading = state.idle.popLast() {
                state.lent += 1
                return (.reading(reading), state.era)
            }
            guard state.lent < limit else { return (.nothing, state.era) }
            state.lent += 1
            return (.room, state.era)
        }
        switch found {
        case .reading(let reading): return (reading, era)
        case .nothing: return nil
        case .room:
            do {
                return (Reading(connection: try open()), era)
            } catch {
                giveBack(nil)
                throw error
            }
        }
    }

    /// Takes back a connection with its snapshot, if nothing has been written since `era`.
    private func giveBackWithSnapshot(_ reading: Reading, of era: Int) -> Bool {
        state.withLock { state in
            guard state.era == era, era.isMultiple(of: 2), !state.isClosing else { return false }
            state.lent -= 1
            state.idle.append(reading)
            return true
        }
    }

    private func giveBack(_ connection: (any SQLConnection)?) {
        connection?.rollback()
        let (closers, isClosing) = state.withLock { state in
            state.lent -= 1
            if let connection, !state.isClosing { state.idle.append(Reading(connection: connection)) }
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
            for reading in state.idle { reading.connection.rollback() }
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
            for reading in state.idle { reading.connection.rollback() }
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
