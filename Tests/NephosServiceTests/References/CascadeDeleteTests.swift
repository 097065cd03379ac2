import Testing

@testable import NephosService

@Suite struct CascadeDeleteTests {
    /// The records that own nothing are left out: sources of a name.
    private func plan(_ deleted: [String], _ owned: [String: Set<String>]) -> [String] {
        CascadeDelete.plan(deleting: deleted) { $0.map { owned[$0] ?? [] } }.names
    }

    @Test func `a deletion cascades to owned records, to any depth`() {
        let owned: [String: Set<String>] = ["a": ["b"], "b": ["c"], "c": ["d"], "x": ["y"]]
        #expect(plan(["a"], owned) == ["b", "c", "d"])
    }

    @Test func `a record with two owners is deleted once`() {
        let owned: [String: Set<String>] = ["a": ["c"], "b": ["c"]]
        #expect(plan(["a", "b"], owned) == ["c"])
        #expect(plan(["b"], owned) == ["c"])
    }

    @Test func `a cascade through a cycle of owners ends`() {
        let owned: [String: Set<String>] = ["a": ["b"], "b": ["c"], "c": ["a", "b"]]
        #expect(plan(["a"], owned) == ["b", "c"])
        #expect(plan(["b"], owned) == ["c", "a"])
    }

    @Test func `a record that owns itself is deleted once`() {
        #expect(plan(["a"], ["a": ["a"]]) == [])
    }

    @Test func `a chain of ten thousand does not exhaust the stack`() {
        let owned = Dictionary(uniqueKeysWithValues: (0..<10_000).map { ("\($0)", Set(["\($0 + 1)"])) })
        #expect(plan(["0"], owned).count == 10_000)
    }
}
