import CloudKit
import CloudKitExtras
import Testing

@Suite("What CloudKitExtras adds to queries", .serialized)
struct QueryExtrasTests {
    private static var isBright: NSPredicate {
        NSPredicate(format: "color == 'red' OR NOT (stars BETWEEN {1, 8})")
    }

    private func withNotes(_ transport: Transport, _ body: (CKDatabase) async throws -> Void) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            try await database.saveAll(
                (0..<30).map { index in
                    let record = note("n\(index)")
                    record["color"] = index % 3 == 0 ? "red" : "blue"
                    record["stars"] = index % 10
                    record["title"] = "Note number \(index)"
                    return record
                })
            try await body(database)
        }
    }

    @Test(arguments: Transport.allCases)
    func `OR and NOT of anything are answered in an extended query`(_ transport: Transport) async throws {
        try await withNotes(transport) { database in
            let query = CKQuery(recordType: "Note", predicate: Self.isBright)
            query.sortDescriptors = [NSSortDescriptor(key: "stars", ascending: false)]
            let expected = (0..<30).filter { $0 % 3 == 0 || !(1...8).contains($0 % 10) }
            let found = try await database.records(matching: query.extended).matchResults.map { $0.0.recordName }
            #expect(Set(found) == Set(expected.map { "n\($0)" }))
            #expect(found.prefix(3).allSatisfy { name in Int(name.dropFirst()).map { $0 % 10 == 9 } ?? false })
            // Page by page, with cursors.
            var page = try await database.records(matching: query.extended, resultsLimit: 4)
            var paged = page.matchResults.map { $0.0.recordName }
            while let cursor = page.queryCursor {
                page = try await database.records(continuingMatchFrom: cursor, resultsLimit: 4)
                paged += page.matchResults.map { $0.0.recordName }
            }
            #expect(paged == found)
        }
    }

    @Test(arguments: Transport.allCases)
    func `the same query without the extension is refused as Apple's is`(_ transport: Transport) async throws {
        try await withNotes(transport) { database in
            let query = CKQuery(recordType: "Note", predicate: Self.isBright)
            #expect(await code { _ = try await database.records(matching: query) } == .invalidArguments)
            #expect(await code { _ = try await database.count(matching: query) } == .invalidArguments)
            #expect(await code { _ = try await database.explain(query) } == .invalidArguments)
            #expect(query.extended.recordType == "Note")
            // Asking for more does not change the query that was there.
            #expect(await code { _ = try await database.records(matching: query) } == .invalidArguments)
            // Some queries are always refused.
            let like = CKQuery(recordType: "Note", predicate: NSPredicate(format: "color LIKE 'r*'")).extended
            #expect(await code { _ = try await database.records(matching: like) } == .invalidArguments)
        }
    }

    @Test(arguments: Transport.allCases)
    func `a count covers all matches and returns no records`(_ transport: Transport) async throws {
        try await withNotes(transport) { database in
            func count(_ format: String, _ arguments: Any?...) async throws -> Int {
                try await database.count(
                    matching: CKQuery(
                        recordType: "Note", predicate: NSPredicate(format: format, argumentArray: arguments)
                    ).extended)
            }
            #expect(try await count("TRUEPREDICATE") == 30)
            #expect(try await count("FALSEPREDICATE") == 0)
            #expect(try await count("color == %@", "red") == 10)
            #expect(try await count("color == 'red' AND stars >= %d", 5) == 5)
            #expect(try await count("color == 'red' OR stars == 1") == 12)
            #expect(try await count("NOT (color == 'red' OR stars == 1)") == 18)
            #expect(try await count("self CONTAINS 'number'") == 30)
            let zoneID = try await database.zone("Other")
            try await database.saveAll([note("other", in: zoneID)])
            let all = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
            #expect(try await database.count(matching: all) == 31)
            #expect(try await database.count(matching: all, inZoneWith: zoneID) == 1)
            #expect(
                await code {
                    _ = try await database.count(
                        matching: CKQuery(recordType: "Nothing", predicate: NSPredicate(value: true)))
                } == .unknownItem)
        }
    }

    @Test(arguments: Transport.allCases)
    func `an explanation lists the indexes, entries and records read`(_ transport: Transport) async throws {
        try await withNotes(transport) { database in
            let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "color == 'red' AND title != 'x'"))
            query.sortDescriptors = [NSSortDescriptor(key: "stars", ascending: false)]
            let explanation = try await database.explain(query, resultsLimit: 4)
            #expect(explanation.scans.map(\.fields) == [["color"]])
            #expect(explanation.scans.map(\.options) == [["QUERYABLE"]])
            #expect(explanation.recordsReturned == 4 && explanation.hasMore)
            #expect(explanation.entriesRead < 60)
            #expect(explanation.helpfulIndex == "-- nephos: INDEX (color, stars DESC)")
            #expect(explanation.checkedOnRecords.count == 1 && explanation.checkedOnRecords[0].contains("title"))
            let last = explanation.description.split(separator: "\n").last ?? ""
            #expect(last.hasSuffix("records read, 4 records returned, and there are more"))
        }
    }

    @Test func `an archived query keeps its extensions`() throws {
        let query = CKQuery(recordType: "Note", predicate: Self.isBright).extended
        let data = try NSKeyedArchiver.archivedData(withRootObject: query, requiringSecureCoding: true)
        let again = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKQuery.self, from: data))
        #expect(again.isExtended)
        #expect((query.copy() as? CKQuery)?.isExtended == true)
        #expect(!CKQuery(recordType: "Note", predicate: Self.isBright).isExtended)
    }
}
