import NephosStorage
import NephosTesting
import NephosWire
import Testing

@testable import NephosService

/// Random histories of several writers, concurrent with
/// feeds, queries that make indexes, imports of schemas and purges: the result equals a dictionary.
@Suite struct ConcurrentWritersTests {
    private static let writers = 5
    private static let writes = 40

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func `feeds, queries and lookups return the written records`(seed: UInt64) async throws {
        let cloud = TestCloud(ServiceConfiguration())
        let database = try await TestDatabase(cloud).making(zone: "Z")
        var model: [String: Int64] = [:]
        // The type is there before the first query of it.
        _ = try await cloud.service.importSchema(schemaText("Note (n NUMBER QUERYABLE SORTABLE)"), database.context)
        try await withThrowingTaskGroup(of: [String: Int64].self) { group in
            for writer in 0..<Self.writers {
                group.addTask { try await Self.write(writer, seed, database) }
            }
            group.addTask {
                var random = SeededGenerator(seed: seed &+ 99)
                for round in 0..<12 {
                    _ = try await Self.names(above: Int64.random(in: 0..<100, using: &random), database, 3)
                    if round % 4 == 1 { try await cloud.service.forgetDeletions(before: cloud.now) }
                    if round % 4 == 2 {
                        _ = try await cloud.service.importSchema(
                            schemaText("Note (n NUMBER QUERYABLE SORTABLE, round\(round) STRING)"), database.context)
                    }
                    cloud.advance(milliseconds: 1)
                }
                return [:]
            }
            group.addTask {
                var follower = Follower(database: database)
                for _ in 0..<40 { try await follower.fetch() }
                await cloud.service.settle()
                return [:]
            }
            for try await written in group { model.merge(written) { $1 } }
        }
        await cloud.service.settle()

        var follower = Follower(database: database)
        try await follower.fetch()
        #expect(follower.seen == model, "the feed, seed \(seed)")
        for bound in [Int64(0), 50, 90] {
            let wanted = model.filter { $0.value > bound }.keys.sorted()
            #expect(try await Self.names(above: bound, database, 7).sorted() == wanted, "n > \(bound), seed \(seed)")
        }
        await cloud.service.close()
    }

    @Test(arguments: [5, 6, 7] as [UInt64])
    func `a reader of a feed misses nothing`(seed: UInt64) async throws {
        let cloud = TestCloud(ServiceConfiguration())
        let database = try await TestDatabase(cloud).making(zone: "Z")
        let follower = try await withThrowingTaskGroup(of: [String: Int64].self) { group in
            for writer in 0..<Self.writers {
                group.addTask { try await Self.write(writer, seed, database) }
            }
            // From the first token on, and never from the beginning again.
            var follower = Follower(database: database)
            for _ in 0..<60 { try await follower.fetch() }
            var model: [String: Int64] = [:]
            for try await written in group { model.merge(written) { $1 } }
            try await follower.fetch()
            #expect(follower.seen == model, "seed \(seed)")
            return follower
        }
        #expect(follower.restarts == 0)
        await cloud.service.close()
    }

    /// Saves and deletes records of its own.
    private static func write(_ writer: Int, _ seed: UInt64, _ database: TestDatabase) async throws -> [String: Int64] {
        var random = SeededGenerator(seed: seed &* 1000 &+ UInt64(writer))
        var model: [String: Int64] = [:]
        for _ in 0..<writes {
            let names = Set((0..<3).map { _ in "w\(writer)-\(Int.random(in: 0..<8, using: &random))" })
            let operations = names.sorted().map { name -> RecordOperation in
                if model[name] != nil, Int.random(in: 0..<4, using: &random) == 0 {
                    model[name] = nil
                    return .delete(name)
                }
                let value = Int64.random(in: 1...100, using: &random)
                model[name] = value
                return .force(name, ["n": .int64(value)])
            }
            for result in try await database.modify(operations) { #expect(result.error == nil, "seed \(seed)") }
        }
        return model
    }

    /// All pages of a query.
    private static func names(above bound: Int64, _ database: TestDatabase, _ limit: Int) async throws -> [String] {
        let query = Query(recordType: "Note", filterBy: [Filter(.field("n"), .greaterThan, .int64(bound))])
        var names: [String] = []
        var marker: String?
        repeat {
            let response = try await database.cloud.service.queryRecords(
                QueryRecordsRequest(
                    query: query, zoneID: database.zoneID, resultsLimit: limit, continuationMarker: marker),
                database.context)
            names += response.records.compactMap { $0.record?.recordName }
            marker = response.continuationMarker
        } while marker != nil
        return names
    }

    /// Who keeps a zone's records by its feed.
    private struct Follower {
        let database: TestDatabase
        var seen: [String: Int64] = [:]
        var token: String?
        var restarts = 0

        mutating func fetch() async throws {
            var hasMore = true
            while hasMore {
                let page: RecordZoneChanges
                do {
                    page = try await database.changes(since: token, limit: 5)
                } catch {
                    guard error.clientCode == .changeTokenExpired, token != nil else { throw error }
                    (token, seen) = (nil, [:])
                    restarts += 1
                    continue
                }
                take(page)
                token = page.syncToken
                hasMore = page.moreComing
            }
        }

        private mutating func take(_ page: RecordZoneChanges) {
            for result in page.records {
                switch result {
                case .record(let record):
                    if case .int64(let value)? = try? record.fields.decoded()["n"]?.value {
                        seen[record.recordName] = value
                    }
                case .deleted(let record): seen[record.recordName] = nil
                case .failure: Issue.record("a record that cannot be read")
                }
            }
        }
    }
}
