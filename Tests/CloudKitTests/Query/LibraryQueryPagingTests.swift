import CloudKit
import NephosTesting
import Testing

/// Cursors, while other devices of the account save, change and delete: no record is returned twice, and none that matches
/// from the first page to the last is missed.
@Suite("Paging through the library while others write")
struct LibraryQueryPagingTests {
    private static let names = (0..<40).map { "r\($0)" }
    private static let keys = ["name", "rank", "on"]

    /// One way to search, in an order that the others' writes change, or in none.
    struct Search: Sendable {
        var format: String
        var sort: [(key: String, ascending: Bool)]

        var query: CKQuery {
            let query = CKQuery(recordType: "Item", predicate: NSPredicate(format: format))
            if !sort.isEmpty {
                query.sortDescriptors = sort.map { NSSortDescriptor(key: $0.key, ascending: $0.ascending) }
            }
            return query
        }

        func matches(_ records: [CKRecord]) -> Set<String> {
            let predicate = NSPredicate(format: format)
            return Set(records.filter(predicate.evaluate(with:)).map(\.recordID.recordName))
        }
    }

    private static let searches = [
        Search(format: "TRUEPREDICATE", sort: []),
        Search(format: "on == 1", sort: [("rank", true)]),
        Search(format: "on == 1 AND rank > 2", sort: [("rank", false), ("name", true)]),
        Search(format: "rank >= 0", sort: [("modificationDate", false)]),
        Search(format: "name BEGINSWITH 'n'", sort: [("on", true), ("rank", true)]),
        Search(format: "self CONTAINS 'word'", sort: []),
    ]

    /// The forms of a page: with a cursor, or from the beginning; into every record's name and the next cursor.
    enum Form: CaseIterable, Sendable {
        case async, operation, olderOperation

        func page(
            _ search: Search, after cursor: CKQueryOperation.Cursor?, _ zoneID: CKRecordZone.ID, limit: Int,
            _ database: CKDatabase
        ) async throws -> (names: [String], cursor: CKQueryOperation.Cursor?) {
            if self == .async {
                let page =
                    if let cursor {
                        try await database.records(
                            continuingMatchFrom: cursor, desiredKeys: keys, resultsLimit: limit)
                    } else {
                        try await database.records(
                            matching: search.query, inZoneWith: zoneID, desiredKeys: keys, resultsLimit: limit)
                    }
                return (try page.matchResults.map { try $0.1.get().recordID.recordName }, page.queryCursor)
            }
            let operation = cursor.map(CKQueryOperation.init(cursor:)) ?? CKQueryOperation(query: search.query)
            operation.zoneID = zoneID
            operation.resultsLimit = limit
            operation.desiredKeys = keys
            return try await run(operation, in: database)
        }

        private func run(
            _ operation: CKQueryOperation, in database: CKDatabase
        ) async throws -> (names: [String], cursor: CKQueryOperation.Cursor?) {
            let found = CallLog()
            let cursor = try await withCheckedThrowingContinuation { continuation in
                if self == .operation {
                    operation.recordMatchedBlock = { id, result in
                        if case .success = result { found.note(id.recordName) }
                    }
                    operation.queryResultBlock = { continuation.resume(with: $0) }
                } else {
                    (operation as any OlderQueryBlocks).setOlderBlocks(
                        record: { found.note($0.recordID.recordName) },
                        end: { cursor, error in
                            continuation.resume(with: error.map { .failure($0) } ?? .success(cursor))
                        })
                }
                database.add(operation)
            }
            return (found.lines, cursor)
        }
    }

    @Test(arguments: [Transport.inProcess, .http], Form.allCases)
    func `no record is returned twice, and no record that always matches is missed`(
        _ transport: Transport, _ form: Form
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let seed: UInt64 = 11
            var random = SeededGenerator(seed: seed)
            let zoneID = try await cloud.database().zone("Zone")
            var turns = 0
            for (index, search) in Self.searches.enumerated() {
                turns += try await follow(search, form, in: zoneID, cloud, &random, "seed \(seed), search \(index)")
            }
            #expect(turns > 30, "others wrote between \(turns) pages only")
        }
    }

    /// Reads all pages of a search, and writes from two other devices between them.
    /// - Returns: how many times they wrote.
    private func follow(
        _ search: Search, _ form: Form, in zoneID: CKRecordZone.ID, _ cloud: Cloud, _ random: inout SeededGenerator,
        _ label: String
    ) async throws -> Int {
        let writers = [cloud.database(), cloud.database()]
        try await write(Self.names, 0, to: writers[0], in: zoneID, &random)
        // The records after each write.
        let database = cloud.database()
        var always = search.matches(try await all(in: zoneID, database))
        var found: [String] = []
        var turns = 0
        var cursor: CKQueryOperation.Cursor?
        repeat {
            let limit = Int.random(in: 1...7, using: &random)
            let page = try await form.page(search, after: cursor, zoneID, limit: limit, database)
            #expect(page.names.count <= limit)
            found += page.names
            cursor = page.cursor
            guard cursor != nil else { break }
            for writer in writers {
                let some = Self.names.filter { _ in Int.random(in: 0..<10, using: &random) == 0 }
                try await write(some, 15, to: writer, in: zoneID, &random)
                always.formIntersection(search.matches(try await all(in: zoneID, database)))
            }
            turns += 1
        } while cursor != nil
        #expect(Set(found).count == found.count, "\(label): a record came twice")
        #expect(always.subtracting(found) == [], "\(label): missed")
        return turns
    }

    /// Saves the records with other values, and deletes so many in a hundred of them.
    private func write(
        _ names: [String], _ deletions: Int, to database: CKDatabase, in zoneID: CKRecordZone.ID,
        _ random: inout SeededGenerator
    ) async throws {
        var saved: [CKRecord] = []
        var deleted: [CKRecord.ID] = []
        for name in names {
            let record = note(name, in: zoneID, "Item")
            if Int.random(in: 0..<100, using: &random) < deletions {
                deleted.append(record.recordID)
                continue
            }
            record["name"] = "n\(Int.random(in: 0...4, using: &random))"
            record["rank"] = Int.random(in: 0...9, using: &random)
            record["on"] = Int.random(in: 0...9, using: &random) < 8
            record["text"] = Int.random(in: 0...9, using: &random) < 8 ? "a word" : "nothing"
            saved.append(record)
        }
        let results = try await database.modifyRecords(saving: saved, deleting: deleted, savePolicy: .allKeys)
        for result in results.saveResults.values { _ = try result.get() }
    }

    /// Every record of the zone, by its change feed: without a query.
    private func all(in zoneID: CKRecordZone.ID, _ database: CKDatabase) async throws -> [CKRecord] {
        var token: CKServerChangeToken?
        var records: [CKRecord.ID: CKRecord] = [:]
        while true {
            let changes = try await database.recordZoneChanges(inZoneWith: zoneID, since: token)
            for (id, result) in changes.modificationResultsByID { records[id] = try result.get().record }
            for deletion in changes.deletions { records[deletion.recordID] = nil }
            token = changes.changeToken
            if !changes.moreComing { return Array(records.values) }
        }
    }
}

/// The older blocks are deprecated; called through a protocol they give no warning.
private protocol OlderQueryBlocks {
    func setOlderBlocks(
        record: @escaping (CKRecord) -> Void, end: @escaping (CKQueryOperation.Cursor?, (any Error)?) -> Void)
}

extension CKQueryOperation: OlderQueryBlocks {
    @available(*, deprecated)
    fileprivate func setOlderBlocks(
        record: @escaping (CKRecord) -> Void, end: @escaping (CKQueryOperation.Cursor?, (any Error)?) -> Void
    ) {
        recordFetchedBlock = record
        queryCompletionBlock = end
    }
}
