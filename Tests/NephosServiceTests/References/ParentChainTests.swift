import NephosWire
import Testing

@testable import NephosService

/// The chains of parents of batches whose records share ancestors.
@Suite struct ParentChainTests {
    private let database = TestDatabase(TestCloud(), "me", zone: "Z")

    /// Saves a chain, whose record with the highest number is the deepest.
    private func saveChain(_ count: Int) async throws {
        _ = try await database.making(zone: "Z")
        for start in stride(from: 0, to: count, by: 400) {
            let operations = (start..<min(count, start + 400)).map {
                RecordOperation.create("c\($0)", parent: $0 == 0 ? nil : "c\($0 - 1)")
            }
            #expect(try await database.modify(operations).allSatisfy { $0.summary == "saved" })
        }
    }

    private func summaries(_ operations: [RecordOperation]) async throws -> [String] {
        try await database.modify(operations, atomic: false).map(\.summary)
    }

    @Test func `records under one deep parent are saved, and refused one level deeper`() async throws {
        try await saveChain(Limits.parentDepth)
        let last = Limits.parentDepth - 1
        #expect(
            try await summaries((0..<20).map { .create("a\($0)", parent: "c\(last)") }).allSatisfy { $0 == "saved" })
        let deeper = try await summaries(
            (0..<20).map { .create("b\($0)", parent: "a0") } + [.create("e", parent: "c0")])
        #expect(deeper.prefix(20).allSatisfy { $0 == "error 27" } && deeper.last == "saved", "\(deeper)")
        // Whichever is examined first: a record of the chain, or one below it.
        for names in [["x", "y", "z"], ["z", "y", "x"]] {
            let chain: [String: String] = ["x": "c\(last - 1)", "y": "x", "z": "y"]
            #expect(
                try await summaries(names.map { .create($0, parent: chain[$0]) }).sorted()
                    == ["error 27", "saved", "saved"])
            _ = try await summaries(["x", "y", "z"].map { .delete($0) })
        }
    }

    @Test func `a circle through stored records is refused, in any order, with the records below it`() async throws {
        try await saveChain(50)
        for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
            let operations: [RecordOperation] = [
                .force("c0", parent: "c49"), .create("below", parent: "c49"), .create("beside", parent: nil),
            ]
            let found = try await summaries(order.map { operations[$0] })
            let byOperation = Dictionary(uniqueKeysWithValues: zip(order, found))
            #expect(byOperation[0] == "error 12" && byOperation[2] == "saved", "\(byOperation)")
            _ = try await summaries([.delete("below"), .delete("beside")])
        }
        #expect(try await summaries([.force("c20", parent: "c40")]) == ["error 12"])
        #expect(
            try await summaries([.force("c40", parent: "c20"), .force("c20", parent: "c39")]) == ["saved", "error 12"])
    }
}
