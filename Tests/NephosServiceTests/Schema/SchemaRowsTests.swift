import NephosSQLite
import NephosStorage
import NephosWire
import Testing

@testable import NephosService

/// The stored form of the schema.
@Suite struct SchemaRowsTests {
    private func engine() throws -> any StorageEngine {
        try MemoryStores().open(StoreID(container: "iCloud.org.example.App", environment: "development"))
    }

    /// Schemas as they are stored: complete.
    private func schema(_ statements: String) -> Schema {
        SchemaCommands.planImport("DEFINE SCHEMA " + statements, development: Schema(), production: Schema()).schema
    }

    @Test(arguments: 0..<40)
    func `a schema reads back as it was written, over any other`(seed: UInt64) async throws {
        let engine = try engine()
        var schemas = RandomSchemas(seed: seed)
        var stored = Schema()
        for _ in 0..<4 {
            let next = schemas.schema()
            let old = stored
            try await engine.write { try next.write(replacing: old, in: $0) }
            stored = try await engine.read { try Schema($0) }
            #expect(stored == next, "seed \(seed)")
        }
        await engine.close()
    }

    @Test func `fields that a save adds are read with their automatic indexes`() async throws {
        let engine = try engine()
        let additions = SchemaAdditions(
            recordTypes: ["Note"],
            fields: [
                .init(recordType: "Note", field: "title", type: SchemaType(.string)),
                .init(recordType: "Note", field: "image", type: SchemaType(.asset)),
            ])
        try await engine.write { try additions.apply(in: $0) }
        let schema = try await engine.read { try Schema($0) }
        var expected = Schema()
        expected.add(recordType: "Note")
        expected.add(field: "title", SchemaType(.string), to: "Note")
        expected.add(field: "image", SchemaType(.asset), to: "Note")
        #expect(schema == expected)
        #expect(schema.options(of: "title", in: "Note") == [.queryable, .searchable, .sortable])
        #expect(schema.options(of: "___recordID", in: "Note") == [.queryable, .sortable])
        await engine.close()
    }

    @Test func `a save makes a dropped type again`() async throws {
        let engine = try engine()
        let old = schema("RECORD TYPE Note (title STRING, GRANT READ TO \"_icloud\");")
        try await engine.write { try old.write(replacing: Schema(), in: $0) }
        let new = schema("")
        try await engine.write { try new.write(replacing: old, in: $0) }
        #expect(try await engine.read { try Schema($0) } == new)
        #expect(try await engine.read { try Schema($0).hasRecordType("Note") } == false)

        let additions = SchemaAdditions(
            recordTypes: ["Note"], fields: [.init(recordType: "Note", field: "text", type: SchemaType(.string))])
        try await engine.write { try additions.apply(in: $0) }
        let again = try await engine.read { try Schema($0) }
        #expect(again.type(of: "title", in: "Note") == nil)
        #expect(again.options(of: "___modTime", in: "Note") == [.queryable, .sortable])
        #expect(again.grants(of: "Note") == .standard(for: "Note"))
        await engine.close()
    }

    @Test func `a field row without options has a save's defaults`() {
        let schema = SchemaRows.schema(
            recordTypes: ["T", "Users"],
            fields: [
                SchemaFieldRow(recordType: "T", field: "a", type: "STRING"),
                SchemaFieldRow(recordType: "T", field: "b", type: "STRING UNINDEXED"),
                SchemaFieldRow(recordType: "T", field: "c", type: "STRING SORTABLE"),
                SchemaFieldRow(recordType: "T", field: "d", type: ""),
                SchemaFieldRow(recordType: "", field: "role", type: "ROLE"),
                SchemaFieldRow(recordType: "", field: "old", type: ""),
            ])
        #expect(schema.options(of: "a", in: "T") == [.queryable, .searchable, .sortable])
        #expect(schema.type(of: "b", in: "T") == SchemaType(.string))
        #expect(schema.options(of: "b", in: "T") == [])
        #expect(schema.options(of: "c", in: "T") == .sortable)
        #expect(schema.type(of: "d", in: "T") == nil)
        #expect(schema.type(of: "roles", in: "Users")?.text == "LIST<INT64>")
        #expect(schema.roles == ["role"])
        #expect(!schema.hasRecordType(""))
    }
}
