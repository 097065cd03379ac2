import NephosWire
import Testing

@testable import CloudKit

@Suite("Searching a database")
struct CKQueryOperationTests {
    private static func stored(_ name: String, year: Int64, zone: String = ZoneIDDictionary.defaultZoneName)
        -> QueryFake.Stored
    {
        QueryFake.Stored(
            values: RecordValues(
                recordName: name, zoneID: ZoneIDDictionary(zoneName: zone, ownerRecordName: "_me"),
                fields: RecordFields([
                    .init(name: "year", field: Field(.int64(year))), .init(name: "title", field: Field(.string(name))),
                ])), type: "Artwork")
    }

    private let fake = QueryFake(
        (0..<5).map { stored("r\($0)", year: Int64(1900 + $0)) } + [stored("z", year: 1950, zone: "Gallery")])

    private func query(_ format: String = "year >= 1901") -> CKQuery {
        let query = CKQuery(recordType: "Artwork", predicate: NSPredicate(format: format))
        query.sortDescriptors = [NSSortDescriptor(key: "year", ascending: false)]
        return query
    }

    private func names(_ results: [(CKRecord.ID, Result<CKRecord, any Error>)]) -> [String] {
        results.map(\.0.recordName)
    }

    @Test func `results come in order, page by page, until there is no cursor`() async throws {
        let database = fake.container.publicCloudDatabase
        var (results, cursor) = try await database.records(matching: query(), desiredKeys: ["year"], resultsLimit: 3)
        #expect(names(results) == ["r4", "r3", "r2"])
        #expect(try results[0].1.get()["year"] as? Int == 1904)
        #expect(try results[0].1.get()["title"] == nil)
        (results, cursor) = try await database.records(continuingMatchFrom: try #require(cursor))
        #expect(names(results) == ["r1"])
        #expect(try results[0].1.get()["title"] as? String == "r1")
        #expect(cursor == nil)
        let requests = fake.requests
        #expect(requests.map(\.resultsLimit) == [3, nil])
        #expect(requests.map(\.desiredKeys) == [["year"], nil])
        #expect(requests.map(\.continuationMarker) == [nil, "3"])
        #expect(requests[0].query == requests[1].query)
    }

    @Test func `without a zone the private database searches all zones, and each record knows its own`() async throws {
        let database = fake.container.privateCloudDatabase
        let gallery = CKRecordZone.ID(zoneName: "Gallery")
        let all = try await database.records(matching: query())
        #expect(names(all.matchResults) == ["z", "r4", "r3", "r2", "r1"])
        #expect(all.matchResults[0].0 == CKRecord.ID(recordName: "z", zoneID: gallery))
        #expect(all.matchResults[1].0 == CKRecord.ID(recordName: "r4"))
        let one =
            try await database.records(matching: query(), inZoneWith: gallery).matchResults
            as [(CKRecord.ID, Result<CKRecord, any Error>)]
        #expect(one.map(\.0) == [CKRecord.ID(recordName: "z", zoneID: gallery)])
        #expect(fake.requests.map(\.zoneWide) == [true, false])
        #expect(fake.requests[1].zoneID == ZoneIDDictionary(zoneName: "Gallery"))
    }

    @Test func `a cursor survives an archive, under the name of Apple's class`() async throws {
        let database = fake.container.privateCloudDatabase
        let (_, cursor) = try await database.records(matching: query(), resultsLimit: 2)
        let data = try NSKeyedArchiver.archivedData(withRootObject: try #require(cursor), requiringSecureCoding: true)
        #expect(String(decoding: data, as: UTF8.self).contains("CKQueryCursor"))
        let restored = try #require(
            try NSKeyedUnarchiver.unarchivedObject(ofClass: CKQueryOperation.Cursor.self, from: data))
        #expect(restored == cursor)
        let (results, _) = try await database.records(continuingMatchFrom: restored)
        #expect(names(results) == ["r3", "r2", "r1"])
    }

    @Test func `a query fails if it is invalid, and if the service refuses it`() async {
        func code(_ body: () async throws -> Void) async -> CKError.Code? {
            do {
                try await body()
                return nil
            } catch {
                return (error as? CKError)?.code
            }
        }
        let container = fake.container
        let or = CKQuery(recordType: "Artwork", predicate: NSPredicate(format: "a == 1 OR b == 2"))
        #expect(await code { _ = try await container.publicCloudDatabase.records(matching: or) } == .invalidArguments)
        let unknown = CKQuery(recordType: "Unknown", predicate: NSPredicate(value: true))
        #expect(
            await code { _ = try await container.publicCloudDatabase.records(matching: unknown) } == .invalidArguments)
        // What is refused here is never sent.
        #expect(fake.requests.count == 1)
    }

    @Test func `the error names the part of the predicate and the remedy`() async throws {
        let or = CKQuery(recordType: "Artwork", predicate: NSPredicate(format: "c == 3 AND (a == 1 OR b == 2)"))
        do {
            _ = try await fake.container.publicCloudDatabase.records(matching: or)
            Issue.record("the query ran")
        } catch let error as CKError {
            #expect(error.localizedDescription.contains("a == 1 OR b == 2: OR is not supported; use IN"))
        }
    }

    @Test func `a record that fails is a failed match, and the older block reports a partial failure`() async throws {
        let fake = QueryFake([Self.stored("a", year: 1), Self.stored("b", year: 2)], failing: "a")
        let query = CKQuery(recordType: "Artwork", predicate: NSPredicate(value: true))
        let (results, _) = try await fake.container.publicCloudDatabase.records(matching: query)
        #expect(names(results) == ["a", "b"])
        #expect(throws: CKError.self) { try results[0].1.get() }
        let outcome: (any LegacyBlocks) = LegacyRun()
        let (fetched, error) = await outcome.run(fake.container.publicCloudDatabase, query)
        #expect(fetched == ["b"])
        #expect(error?.code == .partialFailure)
        #expect(error?.partialErrorsByItemID?.keys.first == AnyHashable(CKRecord.ID(recordName: "a")))
    }

    @Test func `each record's block is called in order, then the result's once, and recordMatchedBlock has precedence`()
        async throws
    {
        let events = Locked<[String]>([])
        let operation = CKQueryOperation(query: query())
        let blocks: any LegacyBlocks = LegacyRun()
        blocks.setFetched(operation) { events.withLock { $0.append("fetched") } }
        operation.resultsLimit = 2
        operation.recordMatchedBlock = { id, _ in events.withLock { $0.append(id.recordName) } }
        let cursor: CKQueryOperation.Cursor? = try await withCheckedThrowingContinuation { continuation in
            operation.queryResultBlock = { continuation.resume(with: $0) }
            fake.container.publicCloudDatabase.add(operation)
        }
        #expect(events.withLock { $0 } == ["r4", "r3"])
        #expect(cursor != nil)
    }

    @Test func `an operation copies its query, and a cursor takes precedence`() async throws {
        let original = query()
        let operation = CKQueryOperation(query: original)
        original.sortDescriptors = nil
        #expect(operation.query?.sortDescriptors?.count == 1)
        #expect(operation.resultsLimit == CKQueryOperation.maximumResults)
        #expect(operation.desiredKeys == nil && operation.zoneID == nil && operation.cursor == nil)
        let (_, cursor) = try await fake.container.publicCloudDatabase.records(matching: query(), resultsLimit: 3)
        operation.cursor = cursor
        let names = Locked<[String]>([])
        operation.recordMatchedBlock = { id, _ in names.withLock { $0.append(id.recordName) } }
        _ = try await withCheckedThrowingContinuation { continuation in
            operation.queryResultBlock = { continuation.resume(with: $0) }
            fake.container.publicCloudDatabase.add(operation)
        }
        #expect(names.withLock { $0 } == ["r1"])
    }

    @Test func `an operation with neither a query nor a cursor fails`() async {
        await #expect(throws: CKError.self) {
            _ = try await withCheckedThrowingContinuation {
                (continuation: CheckedContinuation<CKQueryOperation.Cursor?, any Error>) in
                let operation = CKQueryOperation()
                operation.queryResultBlock = { continuation.resume(with: $0) }
                fake.container.publicCloudDatabase.add(operation)
            }
        }
    }

    @Test func `the completion-handler forms return the matches`() async throws {
        let database = fake.container.publicCloudDatabase
        let query = query()
        let page: ([String], CKQueryOperation.Cursor?) = try await withCheckedThrowingContinuation { continuation in
            database.fetch(withQuery: query, resultsLimit: 1) { result in
                continuation.resume(with: result.map { ($0.matchResults.map(\.0.recordName), $0.queryCursor) })
            }
        }
        #expect(page.0 == ["r4"])
        let cursor = try #require(page.1)
        let next: [String] = try await withCheckedThrowingContinuation { continuation in
            database.fetch(withCursor: cursor) { result in
                continuation.resume(with: result.map { $0.matchResults.map(\.0.recordName) })
            }
        }
        #expect(next == ["r3", "r2", "r1"])
        let former: any LegacyBlocks = LegacyRun()
        #expect(try await former.perform(database, query) == ["r4", "r3", "r2", "r1"])
    }

    @Test func `Apple's sample of a search by reference runs unchanged`() async throws {
        let list = CKRecord(recordType: "List", recordID: CKRecord.ID(recordName: "groceries"))
        let item = QueryFake.Stored(
            values: RecordValues(
                recordName: "milk",
                fields: RecordFields([
                    .init(name: "owningList", field: Field(.reference(ReferenceValue(recordName: "groceries"))))
                ])), type: "Item")
        let fake = QueryFake([item])
        let sample: any LegacyBlocks = LegacyRun()
        #expect(await sample.documentationSample(list, CKContainerDatabase(fake.container.publicCloudDatabase)) == true)
        #expect(fake.requests.map { brief($0.query.filterBy) } == ["owningList EQUALS @groceries"])
    }
}

/// Names the database as the sample does.
struct CKContainerDatabase: Sendable {
    let publicCloudDatabase: CKDatabase
    init(_ database: CKDatabase) { publicCloudDatabase = database }
}

/// Lets deprecated code run without a warning at each of its uses.
private protocol LegacyBlocks: Sendable {
    func run(_ database: CKDatabase, _ query: CKQuery) async -> (fetched: [String], error: CKError?)
    func setFetched(_ operation: CKQueryOperation, _ block: @escaping () -> Void)
    func perform(_ database: CKDatabase, _ query: CKQuery) async throws -> [String]
    func documentationSample(_ listRecord: CKRecord, _ container: CKContainerDatabase) async -> Bool
}

private struct LegacyRun: LegacyBlocks {
    @available(*, deprecated)
    func run(_ database: CKDatabase, _ query: CKQuery) async -> (fetched: [String], error: CKError?) {
        let fetched = Locked<[String]>([])
        let operation = CKQueryOperation(query: query)
        operation.recordFetchedBlock = { record in fetched.withLock { $0.append(record.recordID.recordName) } }
        let error: (any Error)? = await withCheckedContinuation { continuation in
            operation.queryCompletionBlock = { (cursor: CKQueryCursor?, error) in continuation.resume(returning: error)
            }
            database.add(operation)
        }
        return (fetched.withLock { $0 }, error as? CKError)
    }

    @available(*, deprecated)
    func setFetched(_ operation: CKQueryOperation, _ block: @escaping () -> Void) {
        operation.recordFetchedBlock = { _ in block() }
        operation.resultsLimit = CKQueryOperationMaximumResults
    }

    @available(*, deprecated)
    func perform(_ database: CKDatabase, _ query: CKQuery) async throws -> [String] {
        let records = try await database.perform(query, inZoneWith: nil)
        let handled: [String] = try await withCheckedThrowingContinuation { continuation in
            database.perform(query, inZoneWith: nil) { records, error in
                if let error { continuation.resume(throwing: error) }
                if let records { continuation.resume(returning: records.map(\.recordID.recordName)) }
            }
        }
        return handled == records.map(\.recordID.recordName) ? handled : []
    }

    @available(*, deprecated)
    func documentationSample(_ listRecord: CKRecord, _ container: CKContainerDatabase) async -> Bool {
        await withCheckedContinuation { continuation in
            // Match item records with an owningList field that points to the specified list record.
            let listID = listRecord.recordID
            let recordToMatch = CKReference(recordID: listID, action: .deleteSelf)
            let predicate = NSPredicate(format: "owningList == %@", recordToMatch)
            // Create the query object.
            let query = CKQuery(recordType: "Item", predicate: predicate)
            let queryOp = CKQueryOperation(query: query)
            queryOp.queryCompletionBlock = { (cursor, error) in
                // Process the results…
                continuation.resume(returning: cursor == nil && error == nil)
            }
            // Add the CKQueryOperation to a queue to execute it and process the results asynchronously.
            container.publicCloudDatabase.add(queryOp)
        }
    }
}
