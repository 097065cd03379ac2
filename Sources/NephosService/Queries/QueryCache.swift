import NephosWire
import Synchronization

/// An LRU cache of decoded queries or of plans.
///
/// Its capacity is in bytes, by the cost that the caller gives for each entry. Keys are compared whole.
final class QueryCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// An entry in the LRU list.
    private struct Node {
        var entry: (key: Key, value: Value)?
        var cost = 0
        var previous = 0
        var next = 0
    }

    private struct State {
        /// The first node is a sentinel: the list begins and ends there, and the most recently used entry is next to
        /// it.
        var nodes = [Node()]
        var indexes: [Key: Int] = [:]
        var free: [Int] = []
        var cost = 0

        mutating func unlink(_ index: Int) {
            nodes[nodes[index].previous].next = nodes[index].next
            nodes[nodes[index].next].previous = nodes[index].previous
        }

        mutating func linkFirst(_ index: Int) {
            let first = nodes[0].next
            nodes[index].previous = 0
            nodes[index].next = first
            nodes[first].previous = index
            nodes[0].next = index
        }

        mutating func use(_ index: Int) {
            if nodes[0].next == index { return }
            unlink(index)
            linkFirst(index)
        }

        /// Removes an entry and returns it, so that the caller frees it.
        mutating func remove(_ index: Int) -> (key: Key, value: Value)? {
            unlink(index)
            guard let entry = nodes[index].entry else { return nil }
            indexes[entry.key] = nil
            cost -= nodes[index].cost
            nodes[index] = Node()
            free.append(index)
            return entry
        }

        mutating func insert(_ key: Key, _ value: Value, cost: Int) {
            let index = free.popLast() ?? nodes.count
            if index == nodes.count { nodes.append(Node()) }
            nodes[index].entry = (key, value)
            nodes[index].cost = cost
            indexes[key] = index
            self.cost += cost
            linkFirst(index)
        }
    }

    /// Bytes.
    private let capacity: Int
    private let state = Mutex(State())

    init(capacity: Int) {
        self.capacity = capacity
    }

    /// The most that one entry may cost, so that a caller cannot fill the cache with few requests.
    private var mostPerEntry: Int { capacity / 512 }

    var count: Int { state.withLock { $0.indexes.count } }

    func value(for key: Key) -> Value? {
        state.withLock { state in
            guard let index = state.indexes[key] else { return nil }
            state.use(index)
            return state.nodes[index].entry?.value
        }
    }

    /// Caches a value in place of the key's old one, and evicts entries until it fits. A value over `mostPerEntry` is
    /// not cached.
    /// - Parameter cost: approximate bytes of key and value.
    func insert(_ value: Value, for key: Key, cost: Int) {
        if cost > mostPerEntry { return }
        // Freed outside the lock.
        var evicted: [(key: Key, value: Value)] = []
        state.withLock { state in
            if let index = state.indexes[key] { state.remove(index).map { evicted.append($0) } }
            while state.cost + cost > capacity, let entry = state.remove(state.nodes[0].previous) {
                evicted.append(entry)
            }
            state.insert(key, value, cost: cost)
        }
    }
}

/// Bytes as a cache key, hashed once.
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

    /// Number of values, names and members, which take more memory decoded than encoded.
    var partCount: Int { bytes.count { $0 == UInt8(ascii: ",") } + 1 }
}
