import NephosSQLite
import NephosStorage
import NephosWire
import Testing

@testable import NephosService

@Suite("The catalog of indexes")
struct IndexCatalogTests {
    private struct Undone: Error {}

    private func store() throws -> any StorageEngine {
        try MemoryStores().open(StoreID(container: "iCloud.test", environment: "development"))
    }

    private static func define(_ transaction: StorageTransaction, _ components: String = "=a") throws {
        _ = try transaction.insertIndexDefinition(recordType: "Note", components: components, sequence: 1)
    }

    @Test func `a save sees an uncommitted definition before it, and none after that transaction failed`() async throws
    {
        let engine = try store()
        let catalog = IndexCatalog()
        // Something is kept.
        #expect(try await engine.write { try catalog.definitions(in: $0)["Note"] == nil })
        catalog.beginChange()
        await #expect(throws: Undone.self) {
            try await engine.write { transaction in
                try Self.define(transaction)
                // A save of the same group runs now, in the same transaction.
                #expect(try catalog.definitions(in: transaction)["Note"] != nil)
                throw Undone()
            }
        }
        // Nothing of what it saw was kept, before and after the change's end.
        #expect(try await engine.write { try catalog.definitions(in: $0)["Note"] == nil })
        catalog.endChange()
        #expect(try await engine.write { try catalog.definitions(in: $0)["Note"] == nil })
    }

    @Test func `a committed definition is seen before its writer learns of the commit`() async throws {
        let engine = try store()
        let catalog = IndexCatalog()
        #expect(try await engine.write { try catalog.definitions(in: $0)["Note"] == nil })
        catalog.beginChange()
        try await engine.write { try Self.define($0) }
        #expect(try await engine.write { try catalog.definitions(in: $0)["Note"] != nil })
        // Two changes at once: the end of one is not the end of both.
        catalog.beginChange()
        catalog.endChange()
        try await engine.write { try Self.define($0, "+b") }
        #expect(try await engine.write { try catalog.definitions(in: $0)["Note"]?.definitions.count } == 2)
        catalog.endChange()
        #expect(try await engine.write { try catalog.definitions(in: $0)["Note"]?.definitions.count } == 2)
    }

    @Test func `a cached catalog is not used for an older snapshot`() async throws {
        let engine = try store()
        let catalog = IndexCatalog()
        let before = catalog.now
        #expect(try await engine.read { try catalog.definitions(asOf: before, $0)["Note"] == nil })
        catalog.beginChange()
        try await engine.write { try Self.define($0) }
        catalog.endChange()
        let after = catalog.now
        #expect(try await engine.read { try catalog.definitions(asOf: after, $0)["Note"] != nil })
        // This snapshot stands for one from before the definition: it is read, and does not count as new.
        let empty = try store()
        #expect(try await empty.read { try catalog.definitions(asOf: before, $0)["Note"] == nil })
        #expect(try await empty.read { try catalog.definitions(asOf: after, $0)["Note"] != nil })
    }
}
