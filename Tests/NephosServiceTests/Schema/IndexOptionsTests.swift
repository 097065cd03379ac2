import Testing

@testable import NephosService

/// The automatic indexes of a field, and the possible ones.
@Suite struct IndexOptionsTests {
    static let automatic: [(type: String, options: String)] = [
        ("ASSET", ""),
        ("BYTES", ""),
        ("DOUBLE", "QUERYABLE SORTABLE"),
        ("INT64", "QUERYABLE SORTABLE"),
        ("LOCATION", "QUERYABLE SORTABLE"),
        ("NUMBER", "QUERYABLE SORTABLE"),
        ("NUMBER PREFERRED AS INT64", "QUERYABLE SORTABLE"),
        ("REFERENCE", "QUERYABLE"),
        ("STRING", "QUERYABLE SEARCHABLE SORTABLE"),
        ("TIMESTAMP", "QUERYABLE SORTABLE"),
        ("LIST<ASSET>", ""),
        ("LIST<BYTES>", ""),
        ("LIST<DOUBLE>", "QUERYABLE"),
        ("LIST<INT64>", "QUERYABLE"),
        ("LIST<LOCATION>", "QUERYABLE"),
        ("LIST<NUMBER>", "QUERYABLE"),
        ("LIST<REFERENCE>", "QUERYABLE"),
        ("LIST<STRING>", "QUERYABLE"),
        ("LIST<TIMESTAMP>", "QUERYABLE"),
        ("ENCRYPTED BYTES", ""),
        ("ENCRYPTED DOUBLE", ""),
        ("ENCRYPTED INT64", ""),
        ("ENCRYPTED LOCATION", ""),
        ("ENCRYPTED STRING", ""),
        ("ENCRYPTED TIMESTAMP", ""),
        ("LIST<ENCRYPTED STRING>", ""),
    ]

    @Test(arguments: automatic)
    func `a field that a save makes gets the indexes of its type`(type: String, options: String) throws {
        var schema = Schema()
        schema.add(recordType: "T")
        schema.add(field: "x", try #require(SchemaType(type)), to: "T")
        #expect(schema.options(of: "x", in: "T").names.joined(separator: " ") == options)
    }

    @Test(arguments: RandomSchemas.types)
    func `a field gets no automatic index that its type forbids`(type: SchemaType) {
        #expect(IndexOptions.possible(for: type).isSuperset(of: .automatic(for: type)))
        #expect(IndexOptions.possible(for: type).isDisjoint(with: .tolerated(for: type)))
    }

    @Test func `a type that a save makes can be queried by its system fields`() {
        var schema = Schema()
        schema.add(recordType: "T")
        for field in SystemField.allCases {
            #expect(schema.options(of: field.rawValue, in: "T") == [.queryable, .sortable])
            #expect(schema.type(of: field.rawValue, in: "T") == field.type)
        }
        #expect(schema.grants(of: "T") == ["_creator": .write, "_icloud": .create, "_world": .read])
    }

    @Test func `the Users type has roles and no index`() {
        var schema = Schema()
        schema.add(recordType: "Users")
        #expect(schema.type(of: "roles", in: "Users")?.text == "LIST<INT64>")
        #expect(schema.options(of: "___recordID", in: "Users") == [])
        #expect(schema.grants(of: "Users") == ["_creator": .write, "_world": .read])
    }

    @Test func `options that have no effect make no index`() throws {
        let schema = try SchemaParser.parse(
            "DEFINE SCHEMA RECORD TYPE T (a BYTES QUERYABLE SORTABLE, b LIST<STRING> QUERYABLE SORTABLE);"
        ).schema
        #expect(schema.options(of: "a", in: "T") == [])
        #expect(schema.options(of: "b", in: "T") == .queryable)
        #expect(schema.options(of: "c", in: "T") == [])
        #expect(schema.options(of: "c", in: "U") == [])
    }
}
