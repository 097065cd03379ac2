import NephosWire
import Testing

@testable import NephosService

/// Records of a cascade are held like its root: by children, and by `VALIDATE`.
@Suite struct CascadeHoldTests {
    private static let validated = FieldValue.reference(ReferenceValue(recordName: "item", action: .validate))

    /// A list that owns an item, and a note that holds the item.
    private func withItem(_ holder: RecordOperation, in zone: String?) async throws -> TestDatabase {
        let cloud = TestCloud()
        let database = zone == nil ? TestDatabase(cloud) : try await TestDatabase(cloud).making(zone: "Z")
        _ = try await database.modify([.create("list"), .create("item", ["list": .owner("list")]), holder])
        return database
    }

    @Test(arguments: [nil, "Z"])
    func `a deletion is refused if a remaining record holds a record of its cascade`(zone: String?) async throws {
        for holder in [RecordOperation.create("note", parent: "item"), .create("note", ["item": Self.validated])] {
            let database = try await withItem(holder, in: zone)
            let refused = try await database.modify([.delete("list")])
            #expect(refused.map(\.summary) == ["error 31"])
            #expect(
                refused[0].error?.reason.contains("takes 'item' along, which is still referenced by 'note'") == true)
            #expect(try await database.existing("list", "item", "note") == ["list", "item", "note"])
            let both = try await database.modify([.delete("list"), .delete("note")])
            #expect(both.map(\.summary) == ["deleted", "deleted"])
        }
    }

    @Test func `a holder within the cascade holds nothing`() async throws {
        let database = try await withItem(.create("note", ["list": .owner("list")], parent: "item"), in: "Z")
        #expect(try await database.modify([.delete("list")]).map(\.summary) == ["deleted"])
        #expect(try await database.existing("list", "item", "note") == [])
    }

    @Test func `of several deletions only the one that cascades to the held record is refused`() async throws {
        let database = TestDatabase(TestCloud())
        _ = try await database.modify([
            .create("a"), .create("b"), .create("item", ["list": .owner("b")]), .create("note", parent: "item"),
        ])
        #expect(try await database.modify([.delete("a"), .delete("b")]).map(\.summary) == ["deleted", "error 31"])
    }

    @Test func `in the public database nothing holds a record of a cascade`() async throws {
        let cloud = TestCloud()
        let owner = TestDatabase(cloud, "owner", .public)
        let stranger = TestDatabase(cloud, "stranger", .public)
        _ = try await owner.modify([.create("list")])
        _ = try await stranger.modify([
            .create("item", ["list": .owner("list")]), .create("note", ["item": Self.validated]),
        ])
        #expect(try await owner.modify([.delete("list")]).map(\.summary) == ["deleted"])
    }
}
