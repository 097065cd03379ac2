import NephosTesting
import Testing

@testable import NephosService

@Suite struct QueryCacheTests {
    /// A key whose hash is that of all others.
    private struct Key: Hashable, Sendable {
        var name: Int

        func hash(into hasher: inout Hasher) { hasher.combine(0) }
    }

    @Test func `a used entry survives the eviction of a generation, and an unused one does not`() {
        let cache = QueryCache<Int, String>(capacity: 5120)
        for name in 0..<512 { cache.insert("\(name)", for: name, cost: 10) }
        #expect(cache.count == 512)
        #expect(cache.value(for: 0) == "0")
        for name in 1000..<1256 { cache.insert("new", for: name, cost: 10) }
        #expect(cache.value(for: 0) == "0")
        #expect(cache.value(for: 1) == nil)
        #expect(cache.value(for: 1000) == "new")
    }

    @Test func `the costs of all entries stay within the capacity, and an oversized value is not cached`() {
        let cache = QueryCache<Int, Int>(capacity: 51_200)
        for name in 0..<10_000 { cache.insert(name, for: name, cost: 1 + name % 100) }
        let cached = (0..<10_000).filter { cache.value(for: $0) == $0 }
        #expect(cached.count == cache.count && cached.count > 450)
        #expect(cached.reduce(0) { $0 + 1 + $1 % 100 } <= 51_200)
        cache.insert(1, for: -1, cost: 101)
        #expect(cache.value(for: -1) == nil)
    }

    @Test func `keys with the same hash are distinct entries`() {
        let cache = QueryCache<Key, Int>(capacity: 51_200)
        for name in 0..<50 { cache.insert(name, for: Key(name: name), cost: 1) }
        for name in 0..<50 { #expect(cache.value(for: Key(name: name)) == name) }
        #expect(cache.value(for: Key(name: 50)) == nil)
    }

    @Test func `a value replaces the one of its key`() {
        let cache = QueryCache<Int, String>(capacity: 5120)
        for value in ["a", "b", "c"] { cache.insert(value, for: 1, cost: 10) }
        #expect(cache.value(for: 1) == "c" && cache.count == 1)
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `a randomly used cache returns the last value of a key or none, within its capacity`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let cache = QueryCache<Int, Int>(capacity: 512 * 4)
        var model: [Int: (value: Int, cost: Int)] = [:]
        var hits = 0
        for step in 0..<4000 {
            let name = Int(random.next() % 1500)
            if random.next() % 2 == 0 {
                guard let value = cache.value(for: name) else { continue }
                hits += 1
                #expect(value == model[name]?.value, "seed \(seed), step \(step)")
            } else {
                let cost = Int(random.next() % 4) + 1
                cache.insert(step, for: name, cost: cost)
                model[name] = (step, cost)
                #expect(cache.value(for: name) == step, "seed \(seed), step \(step)")
            }
        }
        #expect(hits > 300, "seed \(seed)")
        let cost = model.reduce(0) { $0 + (cache.value(for: $1.key) == $1.value.value ? $1.value.cost : 0) }
        #expect(cost <= 512 * 4, "seed \(seed)")
    }
}
