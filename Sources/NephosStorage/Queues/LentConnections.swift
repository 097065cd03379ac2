import Synchronization

/// Read connections that are lent to threads that may block, one at a time each.
package final class LentConnections: Sendable {
    private struct State: @unchecked Sendable {
        // Unchecked: a connection belongs to whoever took it from here, under the lock.
        var idle: [any SQLConnection] = []
        var lent = 0
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

    /// Runs `body` over a snapshot on the calling thread; nil if no connection is left to lend.
    package func read<T>(_ body: (any StorageReader) throws -> T) throws -> T? {
        guard let connection = try borrow() else { return nil }
        defer { giveBack(connection) }
        try connection.begin(writing: false)
        defer { connection.rollback() }
        let reader = SQLReader(connection)
        defer { reader.invalidate() }
        return try body(reader)
    }

    private func borrow() throws -> (any SQLConnection)? {
        enum Found {
            case connection(any SQLConnection)
            case room, nothing
        }
        let found = try state.withLock { state -> Found in
            if state.isClosing { throw StorageError.closed }
            if let connection = state.idle.popLast() {
                state.lent += 1
                return .connection(connection)
            }
            guard state.lent < limit else { return .nothing }
            state.lent += 1
            return .room
        }
        switch found {
        case .connection(let connection): return connection
        case .nothing: return nil
        case .room:
            do {
                return try open()
            } catch {
                giveBack(nil)
                throw error
            }
        }
    }

    private func giveBack(_ connection: (any SQLConnection)?) {
        let (closers, isClosing) = state.withLock { state in
            state.lent -= 1
            if let connection, !state.isClosing { state.idle.append(connection) }
            defer { if state.isClosing && state.lent == 0 { state.closers = [] } }
            return (state.isClosing && state.lent == 0 ? state.closers : [], state.isClosing)
        }
        if isClosing { connection?.close() }
        for closer in closers { closer.resume() }
    }

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
