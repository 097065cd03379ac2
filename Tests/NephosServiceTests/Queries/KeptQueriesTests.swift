import Testing

@testable import NephosService

/// What is kept by a hash.
@Suite struct KeptQueriesTests {
    private final class Entry: Sendable {
        let name: Int

        init(_ name: Int) { self.name = name }
    }

    private let kept = KeptQueries<Entry>()

    @Test("Of three thousand queries hardly one loses its place to another")
    func places() {
        let seed = UInt64.random(in: .min ... .max)
        var random = SeededGenerator(seed: seed)
        let hashes = (0..<3000).map { _ in random.next() }
        for (name, hash) in hashes.enumerated() { kept.keep(Entry(name), at: hash) }
        let found = hashes.enumerated().filter { name, hash in kept.first(at: hash) { $0.name == name } != nil }
        #expect(found.count > 2950, "seed \(seed)")
    }

    @Test("What is kept with the hash of another takes its place, and is not found as the other")
    func sameHash() {
        for name in 1...3 { kept.keep(Entry(name), at: 7) }
        #expect(kept.first(at: 7) { _ in true }?.name == 3)
        #expect(kept.first(at: 7) { $0.name == 2 } == nil)
        #expect(kept.first(at: 8) { _ in true } == nil)
    }

    @Test("What more is kept than there are places for takes places of what was before")
    func full() {
        let places = UInt64(4096)
        for hash in 0..<3 * places { kept.keep(Entry(Int(hash)), at: hash &* 0x9E37_79B9_7F4A_7C15) }
        let last = 3 * places - 1
        #expect(kept.first(at: last &* 0x9E37_79B9_7F4A_7C15) { $0.name == Int(last) } != nil)
    }
}
