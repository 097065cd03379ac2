import CloudKit
import CloudKitExtras
import CloudKitLocal
import Testing

/// The code of Documentation/Queries.md.
@Suite struct QueriesTests {
    @Test func `extended queries are counted and explained`() async throws {
        let database = try CKContainer.local().privateCloudDatabase
        for stars in 1...5 {
            let note = CKRecord(recordType: "Note")
            note["stars"] = stars
            note["tags"] = ["a"]
            try await database.save(note)
        }

        let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "stars > 3 OR NOT tags CONTAINS 'a'"))
        let (matches, cursor) = try await database.records(matching: query.extended)  // OR, and NOT of anything
        let count = try await database.count(matching: query.extended)  // how many match, without sending them
        print(try await database.explain(query.extended))  // how they are found

        #expect(matches.count == 2 && count == 2 && cursor == nil)
    }
}
