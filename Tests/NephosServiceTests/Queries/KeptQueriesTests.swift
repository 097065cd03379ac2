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

    @Test("Where all places were taken by what nobody asks for any more, those who ask have them soon")
    func full() {
        let seed = UInt64.random(in: .min ... .max)
        var random = SeededGenerator(seed: seed)
        for name in 0..<10_000 { kept.keep(Entry(-name), at: random.next()) }
        let hashes = (0..<3000).map { _ in random.next() }
        var missing = 0
        for _ in 0..<10 {
            missing = 0
            for (name, hash) in hashes.enumerated() where kept.first(at: hash, where: { $0.name == name }) == nil {
                missing += 1
                kept.keep(Entry(name), at: hash)
            }
        }
        #expect(missing < 300, "seed \(seed)")
    }
}
