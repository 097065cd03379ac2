import NephosWire
import Testing

@testable import NephosService

/// A batch's late refusals and cascades count for its other items.
@Suite struct BatchReferenceTests {
    private static func validates(_ name: String) -> FieldValue {
        .reference(ReferenceValue(recordName: name, action: .validate))
    }

    private func database(_ zone: String?) async throws -> TestDatabase {
        let cloud = TestCloud()
        return zone == nil ? TestDatabase(cloud) : try await TestDatabase(cloud).making(zone: "Z")
    }

    @Test(arguments: [nil, "Z"])
    func `a save that is refused for a cycle of parents keeps its old parent`(zone: String?) async throws {
        let database = try await database(zone)
        _ = try await database.modify([.create("p"), .create("c", parent: "p")])
        let results = try await database.modify([.force("c", parent: "c"), .delete("p")], atomic: false)
        #expect(results.map(\.summary) == ["error 12", "error 31"])
        #expect(try await database.existing("p", "c") == ["p", "c"])
    }

    @Test(arguments: [nil, "Z"])
    func `a reference to a save refused for its cycle lacks its target`(zone: String?) async throws {
        let database = try await database(zone)
        let results = try await database.modify(
            [
                .create("a", parent: "a"), .create("b", parent: "a"), .create("c", ["to": Self.validates("a")]),
                .create("d", ["of": .owner("b")]),
            ], atomic: false)
        #expect(results.map(\.summary) == ["error 12", "error 31", "error 31", "error 31"])
        #expect(try await database.existing("a", "b", "c", "d") == [])
    }

    @Test func `a reference to a save refused for too many owned records lacks its target`() async throws {
        let database = try await database("Z")
        _ = try await database.modify([.create("p")])
        var names = (0..<Limits.deleteSelfSources).map { "s\($0)" }
        while !names.isEmpty {
            let results = try await database.modify(names.prefix(400).map { .create($0, ["of": .owner("p")]) })
            #expect(results.allSatisfy { $0.summary == "saved" })
            names.removeFirst(min(400, names.count))
        }
        let results = try await database.modify(
            [
                .create("a", ["of": .owner("p")]), .create("b", parent: "a"), .create("c", ["to": Self.validates("a")]),
                .create("d", ["of": .owner("a")]),
            ], atomic: false)
        #expect(results.map(\.summary) == ["error 27", "error 31", "error 31", "error 31"])
    }

    @Test(arguments: [nil, "Z"])
    func `a save below a record that the batch's deletions cascade to prevents that`(zone: String?) async throws {
        for save in [RecordOperation.create("x", parent: "r"), .create("x", ["to": Self.validates("r")])] {
            let database = try await database(zone)
            _ = try await database.modify([.create("o"), .create("r", ["of": .owner("o")])])
            let results = try await database.modify([save, .delete("o")], atomic: false)
            #expect(results.map(\.summary) == ["saved", "error 31"])
            #expect(try await database.existing("o", "r", "x") == ["o", "r", "x"])
        }
    }

    @Test func `records in a batch's cascade may refer to each other`() async throws {
        let database = try await database("Z")
        _ = try await database.modify([.create("o"), .create("r", ["of": .owner("o")])])
        let save = RecordOperation.create("x", ["of": .owner("r"), "a": Self.validates("r"), "b": Self.validates("x")])
        let results = try await database.modify([.delete("o"), save])
        #expect(results.map(\.summary) == ["deleted", "saved"])
        #expect(try await database.existing("o", "r", "x") == [])
    }

    @Test func `in the public database the save is refused`() async throws {
        for save in [RecordOperation.create("x", parent: "r"), .create("x", ["to": Self.validates("r")])] {
            let database = TestDatabase(TestCloud(), "me", .public)
            _ = try await database.modify([.create("o"), .create("r", ["of": .owner("o")])])
            let results = try await database.modify([save, .delete("o")])
            #expect(results.map(\.summary) == ["error 31", "deleted"])
        }
    }

    @Test func `a save that leaves its owner is not deleted with it`() async throws {
        let database = try await database("Z")
        _ = try await database.modify([.create("o"), .create("r", ["of": .owner("o")])])
        let results = try await database.modify([.force("r", ["of": nil]), .delete("o")])
        #expect(results.map(\.summary) == ["saved", "deleted"])
        #expect(try await database.existing("r") == ["r"])
    }

    @Test func `the records that a request's saves touch are bounded`() async throws {
        let database = try await database("Z")
        let large = FieldValue.bytes([UInt8](repeating: 7, count: 1_000_000))
        for name in 0..<34 { _ = try await database.modify([.create("r\(name)", ["data": large])]) }
        let saves = (0..<34).map { RecordOperation.force("r\($0)", ["n": .int64(1)]) }
        let error = await #expect(throws: ServiceError.self) { try await database.modify(saves) }
        #expect(error?.clientCode == .limitExceeded)
        #expect(try await database.modify(Array(saves.prefix(20))).allSatisfy { $0.summary == "saved" })
        let deletions = (0..<34).map { RecordOperation.delete("r\($0)") }
        #expect(try await database.modify(deletions).allSatisfy { $0.summary == "deleted" })
    }
}
