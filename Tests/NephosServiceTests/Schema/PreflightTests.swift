import NephosWire
import Testing

@testable import NephosService

/// `nephos preflight`: what production would refuse of what development does.
@Suite struct PreflightTests {
    private func preflight(_ database: TestDatabase, _ text: String? = nil) async throws -> [String] {
        let report = try await database.cloud.service.preflight(text, database.context)
        return report.findings.map { ($0.isError ? "" : "warning: ") + $0.message }
    }

    @Test func `what saves added is missing in production until it is deployed`() async throws {
        let database = TestDatabase(TestCloud())
        await #expect(throws: ServiceError.self, "no container") { try await preflight(database) }
        _ = try await database.modify([.create("a", ["title": .string("x")])])
        #expect(try await preflight(database) == ["not in production: record type 'Note' added"])
        _ = try await database.cloud.service.deploySchema(database.context)
        #expect(try await preflight(database) == [])
        _ = try await database.modify([.create("b", ["stars": .int64(1)])])
        #expect(
            try await preflight(database)
                == ["not in production: field 'stars' of record type 'Note' added: NUMBER QUERYABLE SORTABLE"])
        let cloud = database.cloud
        let other = cloud.context(container: "iCloud.other")
        _ = try await cloud.service.importSchema("DEFINE SCHEMA", other)
        #expect(try await cloud.service.preflight(nil, other).findings.isEmpty)
    }

    @Test func `a share's type and the system's fields need no deployment`() async throws {
        let cloud = TestCloud()
        _ = try await cloud.makeSharedList()
        let database = TestDatabase(cloud, "alice")
        #expect(try await preflight(database) == ["not in production: record type 'List' added"])
        #expect(try await preflight(database, "DEFINE SCHEMA RECORD TYPE List ( title STRING );").isEmpty == false)
    }

    @Test func `a schema file lacks fields, options and grants`() async throws {
        let database = TestDatabase(TestCloud())
        let text = try await schema(of: database, "title STRING QUERYABLE, n INT64, GRANT READ TO \"_world\"")
        #expect(try await preflight(database, text) == [])
        let without = Self.type("title STRING, GRANT READ TO \"_world\"")
        #expect(
            try await preflight(database, without) == [
                "not in the schema file: field 'n' of record type 'Note' added: INT64",
                "not in the schema file: field 'title' of record type 'Note' changed from STRING to STRING QUERYABLE",
            ])
        let ungranted = Self.type("title STRING QUERYABLE, n INT64, GRANT READ TO \"_icloud\"")
        #expect(
            try await preflight(database, ungranted)
                == ["not in the schema file: grants of record type 'Note' changed to GRANT READ TO \"_world\""])
        let retyped = Self.type("title STRING QUERYABLE, n STRING, GRANT READ TO \"_world\"")
        #expect(
            try await preflight(database, retyped) == [
                "field 'n' of record type 'Note' is STRING and cannot become INT64; add a field with another name"
            ])
        #expect(try await preflight(database, "DEFINE SCHEMA RECORD TYPE").first?.contains("Encountered") == true)
    }

    private static func type(_ items: String) -> String { "DEFINE SCHEMA RECORD TYPE Note ( \(items) );" }

    private func schema(of database: TestDatabase, _ items: String) async throws -> String {
        let report = try await database.cloud.service.importSchema(Self.type(items), database.context)
        #expect(report.isAllowed, "\(report)")
        return Self.type(items)
    }

    @Test func `limits that are nearly reached, and conditions of ours, are warnings`() async throws {
        let database = TestDatabase(TestCloud())
        _ = try await database.modify([.create("small", ["text": .string("x")])])
        _ = try await database.cloud.service.deploySchema(database.context)
        let text = FieldValue.string(String(repeating: "x", count: 900_000))
        _ = try await database.modify([.create("large", ["text": text])])
        _ = try await database.modify([.create("again", ["text": text])])
        _ = try await database.modify((0..<320).map { .create("n\($0)") })
        let either = QueryExpression.or([
            .filter(Filter(.field("text"), .equals, .string("x"))),
            .filter(Filter(.field("text"), .equals, .string("y"))),
        ])
        let query = Query(recordType: "Note", filterBy: [], sortBy: [], extendedFilter: either)
        _ = try await database.cloud.service.queryRecords(QueryRecordsRequest(query: query), database.context)
        #expect(
            try await preflight(database) == [
                "warning: records of type 'Note' have over 80 % of the 1048576 bytes that a record may have",
                "warning: requests have over 80 % of the 400 records that a request may have",
                "warning: queries of 'Note' are of a dialect that Apple's service refuses (`CKQuery.extended`)",
            ])
    }

    @Test func `production has no preflight`() async throws {
        let cloud = TestCloud()
        await #expect(throws: ServiceError.self) {
            try await cloud.service.preflight(nil, cloud.context(environment: .production))
        }
    }

    @Test func `concurrent merges into development lose nothing`() async throws {
        let cloud = TestCloud()
        let context = cloud.context(nil, .public)
        _ = try await cloud.service.importSchema(Self.type("title STRING"), context)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<16 {
                group.addTask {
                    let text = "DEFINE SCHEMA RECORD TYPE S\(number) (n INT64);"
                    let report = try await cloud.service.mergeSchema(text, context)
                    #expect(report.changes.count == 1, "\(report)")
                }
            }
            try await group.waitForAll()
        }
        let schema = try await cloud.service.exportSchema(context)
        #expect(
            (0..<16).allSatisfy { schema.contains("RECORD TYPE S\($0) (") } && schema.contains("RECORD TYPE Note ("))
        let other = try await cloud.service.mergeSchema(Self.type("title INT64"), context)
        #expect(other.findings.contains(where: \.isError) && other.changes.isEmpty)
        #expect(try await cloud.service.exportSchema(context) == schema)
    }

    @Test func `a merge of schemas loses nothing of either`() throws {
        let file = Self.type("title STRING QUERYABLE, n INT64")
        let stored = Self.type("title STRING SORTABLE, stars INT64")
        let merged = try SchemaCommands.merge(file, stored).get()
        #expect(merged.changesOfFile.contains("field 'stars' of record type 'Note' added: INT64"))
        #expect(merged.changesOfDevelopment.contains("field 'n' of record type 'Note' added: INT64"))
        #expect(merged.text.contains(" STRING QUERYABLE SORTABLE"))
        let again = try SchemaCommands.merge(merged.text, merged.text).get()
        #expect(again.changesOfFile == [] && again.changesOfDevelopment == [] && again.text == merged.text)
        let other = Self.type("title INT64")
        #expect(throws: SchemaRefusal.self) { try SchemaCommands.merge(other, stored).get() }
        #expect(throws: SchemaRefusal.self) { try SchemaCommands.merge("DEFINE", stored).get() }
    }
}
