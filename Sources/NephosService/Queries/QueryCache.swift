import NephosWire
import Synchronization

/// A cache of decoded queries or of plans, in two generations.
///
/// A hit moves the entry to the young generation. Once the young generation uses half of the capacity, it becomes the
/// old one, and the entries of the former old one are evicted. The capacity is in bytes; the caller states the cost of
/// each entry. Keys are compared as a whole.
final class QueryCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private typealias Generation = [Key: (value: Value, cost: Int)]

    private struct State {
        var young: Generation = [:]
        var old: Generation = [:]
        var youngCost = 0

        /// Inserts an entry into the young generation.
        /// - Returns: the evicted entries, so that the caller frees them outside the lock.
        mutating func insert(_ key: Key, _ value: Value, cost: Int, generationSize: Int) -> Generation {
            var evicted: Generation = [:]
            if youngCost + cost > generationSize {
                (evicted, old, young, youngCost) = (old, young, [:], 0)
            }
            young[key] = (value, cost)
            youngCost += cost
            return evicted
        }
    }

    /// The maximum total cost of the entries, in bytes.
    private let capacity: Int
    private let state = Mutex(State())

    init(capacity: Int) {
        self.capacity = capacity
    }

    /// The maximum cost per entry, in bytes, so that a caller cannot fill the cache with few requests.
    private var mostPerEntry: Int { capacity / 512 }

    var count: Int { state.withLock { $0.young.count + $0.old.count } }

    func value(for key: Key) -> Value? {
        let (value, evicted) = state.withLock { state -> (Value?, Generation) in
            if let entry = state.young[key] { return (entry.value, [:]) }
            guard let entry = state.old.removeValue(forKey: key) else { return (nil, [:]) }
            return (entry.value, state.insert(key, entry.value, cost: entry.cost, generationSize: capacity / 2))
        }
        withExtendedLifetime(evicted) {}
        return value
    }

    /// Caches a value in place of the key's old value. A value that costs more than `mostPerEntry` is not cached.
    /// - Parameter cost: the approximate number of bytes of the key and the value.
    func insert(_ value: Value, for key: Key, cost: Int) {
        if cost > mostPerEntry { return }
        let evicted = state.withLock { state in
            if let former = state.young.removeValue(forKey: key) { state.youngCost -= former.cost }
            state.old[key] = nil
            return state.insert(key, value, cost: cost, generationSize: capacity / 2)
        }
        withExtendedLifetime(evicted) {}
    }
}

/// Bytes that serve as a cache key and are hashed once.
struct QueryBytes: Hashable, Sendable {
    let bytes: [UInt8]
    private let hash: Int

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        var hasher = Hasher()
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
        hash = hasher.finalize()
    }

    static func == (left: QueryBytes, right: QueryBytes) -> Bool {
        left.hash == right.hash
            && left.bytes.withUnsafeBytes { left in right.bytes.withUnsafeBytes { compareBytes(left, $0) == 0 } }
    }

    func hash(into hasher: inout Hasher) { hasher.combine(hash) }

    /// An estimate of the number of values, names and members, which take more memory decoded than encoded.
    var partCount: Int { bytes.count { $0 == UInt8(ascii: ",") } + 1 }
}
