#if canImport(CloudKitTesting)
    import CloudKit
    import CloudKitTesting
    import Testing

    @testable import Groceries

    @Suite(.cloud) struct ItemStoreTests {
        @Test func `items are listed by name`() async throws {
            let store = ItemStore()
            try await store.add("Milk")
            try await store.add("Bread")
            #expect(try await store.items().map(\.name) == ["Bread", "Milk"])
        }

        @Test func `an item is bought although another device saved it first`() async throws {
            let cloud = try LocalCloud.current
            let store = ItemStore()
            try await store.add("Milk")
            cloud.fail(.save, type: Item.recordType, with: .serverRecordChanged)
            try await store.buy(try #require(try await store.items().first))
            #expect(try await store.items().map(\.isBought) == [true])
        }
    }
#endif
