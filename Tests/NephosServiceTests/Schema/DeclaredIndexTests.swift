import NephosStorage
import NephosWire
import Testing

@testable import NephosService

@Suite("Indexes of several fields")
struct DeclaredIndexTests {
    private func parse(_ items: String) throws -> ParsedSchema {
        try SchemaParser.parse("DEFINE SCHEMA\nRECORD TYPE Task (\n\(items)\n);")
    }

    private static let fields = """
        list STRING QUERYABLE SORTABLE, due TIMESTAMP SORTABLE, place LOCATION QUERYABLE, tags LIST<STRING> QUERYABLE,
        done INT64, owners LIST<STRING> QUERYABLE
        """

    @Test func `a declaration parses with its equalities in any order, and prints back`() throws {
        let parsed = try parse(
            """
            -- nephos: INDEX (tags, list, due DESC)
            list STRING QUERYABLE, --nephos: INDEX (list, place NEAR)
            -- an ordinary comment
            due TIMESTAMP SORTABLE, tags LIST<STRING> QUERYABLE, place LOCATION SORTABLE
            -- nephos: index (list, due asc)
            -- nephos: INDEX (list, "___modTime" DESC)
            """)
        let type = try #require(parsed.schema.recordType("Task"))
        #expect(
            type.orderedIndexes.map(\.text) == ["=list,+due", "=list,-___modTime", "=list,=tags,-due", "=list,@place"])
        let written = SchemaPrinter.print(parsed.schema)
        #expect(written.contains("\n        -- nephos: INDEX (list, tags, due DESC)\n"))
        #expect(try SchemaParser.parse(written).schema == parsed.schema)
        #expect(try SchemaPrinter.print(SchemaParser.parse(written).schema) == written)
    }

    @Test(
        arguments: [
            ("-- nephos: INDEXES (list, due)", "Encountered \"INDEXES\" at line 3, column 12"),
            ("-- nephos: INDEX list, due", "Encountered \"list\" at line 3, column 18"),
            ("-- nephos: INDEX ()", "Encountered \")\" at line 3, column 19"),
            ("-- nephos: INDEX (list, due DOWN)", "Encountered \"DOWN\" at line 3, column 29"),
            ("-- nephos: INDEX (list,\n due DESC)", "Encountered the end of the line at line 4, column 10"),
        ])
    func `an invalid declaration is an error at its position`(_ line: String, _ expected: String) {
        let error = #expect(throws: SchemaSyntaxError.self) { try parse(line + "\n" + Self.fields) }
        #expect(error?.description.hasPrefix(expected) == true, "\(error as Any)")
    }

    @Test(
        arguments: [
            ("(list)", "has one field, whose options are enough"),
            ("(list, nothing)", "names 'nothing', which is no field of the type"),
            ("(list, list DESC)", "names 'list' twice"), ("(due, list)", "has 'due', which is not QUERYABLE"),
            ("(list, done ASC)", "has 'done', which is not SORTABLE"),
            ("(due ASC, list)", "has a field without ASC or DESC behind one with it: those come first"),
            ("(list, place ASC)", "has the LOCATION 'place', which is ordered by distance: NEAR"),
            ("(list, due NEAR)", "has 'due' NEAR, which is no LOCATION"), ("(owners, tags)", "has two lists"),
            ("(list, place NEAR, due ASC)", "has NEAR beside an order: the order by distance stands alone"),
        ])
    func `a declaration that no query could use is refused`(_ index: String, _ reason: String) throws {
        let schema = try parse("-- nephos: INDEX \(index)\n" + Self.fields).schema
        let findings = SchemaRules.findings(schema)
        #expect(findings.map(\.reason) == [reason])
        #expect(findings.first?.message == "index \(index) of record type 'Task' \(reason)")
    }

    @Test func `a type has a limited number of declared indexes`() throws {
        let fields = (0..<30).map { "f\($0) INT64 QUERYABLE" }.joined(separator: ", ")
        let indexes = (1...25).map { "-- nephos: INDEX (f0, f\($0))" }.joined(separator: "\n")
        let findings = SchemaRules.findings(try parse(indexes + "\n" + fields).schema)
        #expect(findings.map(\.reason) == ["has 25 indexes of several fields; at most 24 are allowed"])
    }

    // MARK: - In a store

    private static let task = "INDEX (list, rank DESC)"

    private func tasks(_ cloud: QueryCloud, _ count: Int) async throws {
        try await cloud.modify(
            (0..<count).map {
                .create(
                    "t\($0)", ["list": .string("l\($0 % 3)"), "rank": .int64(Int64($0 % 7)), "n": .int64(Int64($0))])
            })
    }

    private var query: Query {
        Query(
            recordType: "Note", filterBy: [Filter(.field("list"), .equals, .string("l1"))],
            sortBy: [QuerySortDescriptor(.field("rank"), ascending: false)])
    }

    private func names(_ count: Int, in list: Int) -> [String] {
        (0..<count).filter { $0 % 3 == list }.map { (rank: -($0 % 7), name: "t\($0)") }
            .sorted { ($0.rank, $0.name) < ($1.rank, $1.name) }.map(\.name)
    }

    @Test func `no account's query makes a declared index`() async throws {
        let stores = OpenStores()
        var bounds = QueryBounds()
        bounds.smallSet = 0
        let cloud = QueryCloud(stores: stores, bounds: bounds)
        try await tasks(cloud, 200)
        for first in ["rank", "n", "list"] {
            for second in ["rank", "n", "list"] where second != first {
                var query = query
                query.filterBy.append(Filter(.field("n"), .greaterThan, .int64(-1)))
                query.sortBy = [first, second].map { QuerySortDescriptor(.field($0), ascending: false) }
                #expect(try await cloud.all(query).count == names(200, in: 1).count)
            }
        }
        #expect(try await cloud.all(query) == names(200, in: 1))
        let made = try await stores.engine.read { try $0.indexDefinitions() }
        #expect(made.allSatisfy { !$0.components.contains(",") } && !made.isEmpty)
    }

    @Test func `an import makes a declared index, and the next import removes it with its entries`() async throws {
        let stores = OpenStores()
        let cloud = QueryCloud(stores: stores)
        try await tasks(cloud, 300)
        let before = try #require(try await cloud.page(query, limit: 5, explain: true).explanation)
        #expect(before.helpfulIndex == "-- nephos: INDEX (list, rank DESC)")
        #expect(before.entriesRead > 100, "\(before)")
        let old = try await cloud.export()
        try await cloud.declare(Self.task, of: "Note")
        let after = try #require(try await cloud.page(query, limit: 5, explain: true).explanation)
        #expect(after.helpfulIndex == nil && after.recordsRead == 5 && after.scans.map(\.field) == ["list, rank"])
        #expect(try await cloud.all(query) == names(300, in: 1))
        #expect(try await cloud.export().contains("-- nephos: INDEX (list, rank DESC)"))

        // A query with one more equality uses it too.
        var more = query
        more.filterBy.append(Filter(.field("n"), .notEquals, .int64(4)))
        more.filterBy.append(Filter(.field("rank"), .equals, .int64(1)))
        #expect(try await cloud.all(more) == names(300, in: 1).filter { Int($0.dropFirst())! % 7 == 1 && $0 != "t4" })

        #expect(
            try await cloud.importing(old).changes == ["index (list, rank DESC) of record type 'Note' dropped"])
        await cloud.service.settle()
        let left = try await stores.engine.read { reader in
            try (reader.indexDefinitions().map(\.components), reader.jobs(limit: 1).count)
        }
        #expect(!left.0.contains("=list,-rank") && left.1 == 0)
        #expect(try await cloud.all(query) == names(300, in: 1))
    }

    @Test func `a declared index is deployed with the schema, and a reset restores production's`() async throws {
        let cloud = QueryCloud()
        try await tasks(cloud, 10)
        try await cloud.declare(Self.task, of: "Note")
        #expect(try await cloud.service.deploySchema(cloud.schema()).isAllowed)
        #expect(try await cloud.export(.production).contains("-- nephos: \(Self.task)"))
        try await cloud.declare("INDEX (rank, n DESC)", of: "Note")
        _ = try await cloud.service.resetSchema(cloud.schema())
        let text = try await cloud.export()
        #expect(text.contains("-- nephos: \(Self.task)") && !text.contains("INDEX (rank"))
    }

    @Test func `a field of a declared index cannot be dropped alone`() async throws {
        let cloud = QueryCloud()
        let text = schemaText("Task (\n-- nephos: INDEX (a, b DESC)\na INT64 QUERYABLE, b INT64 SORTABLE)")
        #expect(try await cloud.importing(text).isAllowed)
        let report = try await cloud.importing(text.replacing(", b INT64 SORTABLE", with: ""))
        #expect(report.errors == ["index (a, b DESC) of record type 'Task' names 'b', which is no field of the type"])
        #expect(report.findings.first?.line == 3)
    }

    @Test func `an order by several fields without an index is right, and refused with too many ties in the first`()
        async throws
    {
        var bounds = QueryBounds()
        bounds.smallSet = 0
        let cloud = QueryCloud(bounds: bounds)
        try await tasks(cloud, 120)
        var query = Query(recordType: "Note")
        query.sortBy = [
            QuerySortDescriptor(.field("list"), ascending: false), QuerySortDescriptor(.field("rank")),
            QuerySortDescriptor(.field("n"), ascending: false),
        ]
        let expected = (0..<120).map { (list: $0 % 3, rank: $0 % 7, n: $0) }
            .sorted { (-$0.list, $0.rank, -$0.n) < (-$1.list, $1.rank, -$1.n) }.map { "t\($0.n)" }
        for limit in [1, 7, 200] { #expect(try await cloud.all(query, limit: { limit }) == expected) }

        bounds.unindexedSort = 39
        let small = QueryCloud(bounds: bounds)
        try await tasks(small, 120)
        let refusal = await small.refusal(query)
        #expect(refusal?.clientCode == .limitExceeded)
        #expect(
            refusal?.reason
                == "more than 39 records have the same value in the first field of the order: add to Note in the schema:"
                + " -- nephos: INDEX (list DESC, rank ASC, n DESC)")
        try await small.declare("INDEX (list DESC, rank ASC, n DESC)", of: "Note")
        #expect(try await small.all(query) == expected)
    }

    @Test func `records that are too large to sort in memory are read in index order`() async throws {
        var bounds = QueryBounds()
        bounds.sortedBytes = 100
        let cloud = QueryCloud(bounds: bounds)
        try await tasks(cloud, 100)
        #expect(try await cloud.all(query) == names(100, in: 1))
        var several = query
        several.sortBy.append(QuerySortDescriptor(.field("n")))
        #expect(await cloud.refusal(several)?.clientCode == .limitExceeded)
    }

    @Test func `a page ends at its bytes scanned, and a count at its candidates`() async throws {
        var bounds = QueryBounds()
        bounds.bytesPerPage = 400
        bounds.candidatesPerCount = 10
        bounds.candidatesPerPage = 5
        let cloud = QueryCloud(bounds: bounds)
        try await tasks(cloud, 60)
        var all = Query(recordType: "Note", filterBy: [Filter(.field("list"), .notEquals, .string("l0"))])
        all.sortBy = [QuerySortDescriptor(.field("n"))]
        var (marker, total, requests) = (String?.none, 0, 0)
        repeat {
            let answer = try await cloud.page(all, marker: marker, count: true)
            total += answer.count ?? 0
            requests += 1
            marker = answer.continuationMarker
        } while marker != nil
        #expect(total == 40 && requests >= 5)
        #expect(try await cloud.page(all).records.count < 10)
        #expect(try await cloud.all(all).count == 40)
        bounds = QueryBounds()
        bounds.entriesPerCount = 7
        let counted = QueryCloud(bounds: bounds)
        try await tasks(counted, 60)
        #expect(try await counted.page(Query(recordType: "Note"), count: true).count == 60)
    }
}
