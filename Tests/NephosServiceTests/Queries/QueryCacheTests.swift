import Testing

@testable import NephosService

@Suite struct QueryCacheTests {
    /// A key whose hash is that of all others.
    private struct Key: Hashable, Sendable {
        var name: Int

        func hash(into hasher: inout Hasher) { hasher.combine(0) }
    }

    @Test func `the least recently used entry is evicted first`() {
        let cache = QueryCache<Int, String>(capacity: 5120)
        for name in 0..<512 { cache.insert("\(name)", for: name, cost: 10) }
        #expect(cache.count == 512)
        #expect(cache.value(for: 0) == "0")
        cache.insert("new", for: 1000, cost: 10)
        #expect(cache.count == 512)
        #expect(cache.value(for: 0) == "0")
        #expect(cache.value(for: 1) == nil)
        #expect(cache.value(for: 2) == "2")
    }

    @Test func `the costs of all entries stay within the capacity, and an oversized value is not cached`() {
        let cache = QueryCache<Int, Int>(capacity: 51_200)
        for name in 0..<10_000 { cache.insert(name, for: name, cost: 1 + name % 100) }
        let cached = (0..<10_000).filter { cache.value(for: $0) == $0 }
        #expect(cached.count == cache.count && cached.count > 900)
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
    func `a randomly used cache holds the same entries as its model`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let cache = QueryCache<Int, Int>(capacity: 512 * 4)
        /// The least recently used first.
        var model: [(name: Int, value: Int, cost: Int)] = []
        for step in 0..<4000 {
            let name = Int(random.next() % 1500)
            if random.next() % 2 == 0 {
                let entry = model.firstIndex { $0.name == name }
                #expect(cache.value(for: name) == entry.map { model[$0].value }, "seed \(seed), step \(step)")
                if let entry { model.append(model.remove(at: entry)) }
            } else {
                let cost = Int(random.next() % 4) + 1
                cache.insert(step, for: name, cost: cost)
                model.removeAll { $0.name == name }
                model.append((name, step, cost))
                while model.reduce(0, { $0 + $1.cost }) > 2048 { model.removeFirst() }
            }
        }
        #expect(cache.count == model.count)
    }
}
