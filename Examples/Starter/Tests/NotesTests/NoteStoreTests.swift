#if canImport(CloudKitLocal)
    import CloudKitLocal
    import Notes
    import Testing

    // One after another, because they share the process's default container.
    @Suite(.serialized) struct NoteStoreTests {
        @Test func keepsNotes() async throws {
            let cloud = try LocalCloud()
            cloud.becomeDefault()
            defer { cloud.resignDefault() }

            let store = NoteStore()
            try await store.add("Milk")
            #expect(try await store.titles() == ["Milk"])
        }

        @Test func startsEmpty() async throws {
            let cloud = try LocalCloud()
            cloud.becomeDefault()
            defer { cloud.resignDefault() }

            #expect(try await NoteStore().titles() == [])
        }
    }
#endif
