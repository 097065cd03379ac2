import NephosThreads
import Synchronization

/// A cache of credentials by name, of which each is read again after a short time. Two generations bound it: when the
/// newer one is full, it replaces the older one.
///
/// A name without a value is cached too, so that a client that repeats an unknown token costs no reads.
final class RecheckedCache<Value: Sendable>: Sendable {
    private struct Entry: Sendable {
        var value: Value?
        /// The time of the read, in nanoseconds of the monotonic clock.
        var readAt: Int64
    }

    private struct State {
        var newer: [String: Entry] = [:]
        var older: [String: Entry] = [:]
        /// Advances with each eviction, so that a read that began before does not bring back what it found.
        var evictions = 0
    }

    private let state = Mutex(State())
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    /// Returns the cached value, or the value that `read` returns, which is then cached.
    func value<Failure: Error>(
        _ name: String, read: () async throws(Failure) -> Value?
    ) async throws(Failure) -> Value? {
        let now = MonotonicTime.now.nanoseconds
        let (entry, evictions) = state.withLock { ($0.newer[name] ?? $0.older[name], $0.evictions) }
        if let entry, now - entry.readAt < Limits.credentialRecheck * 1_000_000 { return entry.value }
        let value = try await read()
        state.withLock { state in
            guard state.evictions == evictions else { return }
            if state.newer.count >= limit / 2 {
                state.older = state.newer
                state.newer = [:]
            }
            state.newer[name] = Entry(value: value, readAt: now)
        }
        return value
    }

    /// Evicts all entries, after a change by this server.
    func evictAll() {
        state.withLock { state in
            state = State(evictions: state.evictions + 1)
        }
    }

    /// Has every entry read again at its next use, as after `Limits.credentialRecheck`.
    func expire() {
        state.withLock { state in
            state.newer = state.newer.mapValues { Entry(value: $0.value, readAt: .min / 2) }
            state.older = state.older.mapValues { Entry(value: $0.value, readAt: .min / 2) }
        }
    }

    /// Evicts an entry, after a change that this server may use at once.
    func evict(_ name: String) {
        state.withLock { state in
            (state.newer[name], state.older[name]) = (nil, nil)
            state.evictions += 1
        }
    }

    /// The cached value, however old; nil if none is cached. For decisions that may be wrong, such as shares of memory.
    func cached(_ name: String) -> Value? {
        state.withLock { ($0.newer[name] ?? $0.older[name])?.value }
    }
}
