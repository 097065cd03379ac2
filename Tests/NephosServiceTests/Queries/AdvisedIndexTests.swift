import NephosTesting
import NephosWire
import Testing

@testable import NephosService

@Suite("The index that an explanation or a refusal advises")
struct AdvisedIndexTests {
    /// Bounds under which a few records with one value are too many to sort.
    private static let bounds: QueryBounds = {
        var bounds = QueryBounds()
        bounds.smallSet = 0
        bounds.unindexedSort = 5
        bounds.candidatesPerPage = 20
        bounds.timePerPage = .seconds(600)
        return bounds
    }()

    /// What the service advises for a query, and whether it refuses the query.
    private func advice(_ query: Query, _ cloud: QueryCloud) async -> (line: String?, refusal: ServiceError?) {
        do throws(ServiceError) {
            return (try await cloud.page(query, explain: true).explanation?.helpfulIndex, nil)
        } catch {
            let parts = error.reason.split(separator: ": -- nephos: ", maxSplits: 1)
            return (parts.count == 2 ? "-- nephos: \(parts[1])" : nil, error)
        }
    }

    /// Imports the schema with one declared index more.
    private func declare(_ line: String, _ schema: String, _ cloud: QueryCloud) async throws -> [String] {
        let head = "RECORD TYPE Item ("
        let parts = schema.split(separator: head, maxSplits: 1, omittingEmptySubsequences: false)
        return try await cloud.importing("\(parts[0])\(head)\n\(line)\n\(parts[1])").errors
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `it is one that an import accepts, and with which the query is answered`(seed: UInt64) async throws {
        var random = RandomQueries(seed: seed)
        let cloud = QueryCloud(bounds: Self.bounds)
        let names = (0..<60).map { "r\($0)" }
        try await cloud.modify(names.map { random.record($0, others: names) })
        let schema = try await cloud.export()
        var advised = 0
        var refused = 0
        for _ in 0..<150 {
            var query = random.query(names, extended: false)
            // Conditions and orders of the same few fields.
            if random.random.chance(50) {
                let field = random.random.pick(["s", "i", "t"])
                query.filterBy.append(Filter(.field(field), .equals, random.value(of: field, names)))
                query.sortBy = [field, random.random.pick(["i", "s", "d"])].shuffled(using: &random.random)
                    .map { QuerySortDescriptor(.field($0), ascending: random.random.chance(50)) }
            }
            // The strings of this field begin with more equal characters than an index keeps.
            if query.sortBy.contains(where: { $0.key == .field("long") }) { continue }
            let (line, refusal) = await advice(query, cloud)
            guard let line else { continue }
            advised += 1
            #expect(try await declare(line, schema, cloud) == [], "seed \(seed): \(line) for \(query)")
            if refusal != nil { refused += 1 }
            let after = await cloud.refusal(query)
            #expect(after == nil, "seed \(seed): \(line) for \(query): \(after?.reason ?? "")")
            #expect(await advice(query, cloud).line != line, "seed \(seed): \(line) is advised where it exists")
            #expect(try await cloud.importing(schema).errors == [])
        }
        #expect(advised > 20 && refused > 5, "seed \(seed): \(advised) lines, \(refused) of them in refusals")
    }

    @Test func `a field with an equality and an order is named once`() async throws {
        let cloud = QueryCloud(bounds: Self.bounds)
        try await cloud.modify(
            (0..<12).map { .create("n\($0)", ["a": .int64(1), "u": .int64(Int64($0)), "k": .int64(Int64($0 % 2))]) })
        func query(_ fields: [String], _ sort: QuerySortDescriptor...) -> Query {
            Query(
                recordType: "Note", filterBy: fields.map { Filter(.field($0), .equals, .int64(1)) }, sortBy: sort)
        }
        let (a, u) = (QuerySortDescriptor(.field("a")), QuerySortDescriptor(.field("u")))
        let k = QuerySortDescriptor(.field("k"), ascending: false)
        #expect(await advice(query(["a"], a, u), cloud).line == "-- nephos: INDEX (a ASC, u ASC)")
        #expect(await advice(query(["a", "k"], k), cloud).line == "-- nephos: INDEX (a, k DESC)")
        #expect(await advice(query(["a"], a), cloud).line == nil)
        let again = QuerySortDescriptor(.field("u"), ascending: false)
        #expect(await advice(query(["k"], a, u, again), cloud).line == "-- nephos: INDEX (k, a ASC, u ASC)")
    }
}
