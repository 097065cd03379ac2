import Testing

@testable import NephosService

/// The CloudKit Schema Language, read and written.
@Suite struct SchemaTextTests {
    @Test(arguments: 0..<200)
    func `a printed schema parses to the same schema`(seed: UInt64) throws {
        var schemas = RandomSchemas(seed: seed, hasOddNames: true)
        let schema = schemas.schema()
        let text = SchemaPrinter.print(schema)
        let parsed = try SchemaParser.parse(text)
        #expect(parsed.schema == schema, "seed \(seed)\n\(text)")
        #expect(parsed.duplicates.isEmpty, "seed \(seed)")
        #expect(SchemaPrinter.print(parsed.schema) == text, "seed \(seed)")
    }

    /// Comments, order and the case of keywords are all that is lost.
    private static let written = """
        // A gallery.
        define Schema
            create role Curator;

            RECORD TYPE Users ( roles LIST<INT64>, GRANT WRITE TO "_creator", GRANT READ TO "_world" );

            RECORD TYPE Artwork (
                GRANT READ TO Curator,
                title           STRING SEARCHABLE SORTABLE QUERYABLE, -- as on the wall
                year            int64 QUERYABLE SORTABLE,
                "___recordID"   REFERENCE QUERYABLE,
                "grant"         NUMBER PREFERRED AS DOUBLE, /* of the
                                                              museum */
                place LOCATION QUERYABLE SORTABLE, note ENCRYPTED STRING, tags LIST < STRING > QUERYABLE,
                GRANT WRITE TO "_creator",
                GRANT CREATE, WRITE TO Curator
            );
        """

    private static let exported = """
        DEFINE SCHEMA

            CREATE ROLE Curator;

            RECORD TYPE Artwork (
                "___createTime" TIMESTAMP,
                "___createdBy"  REFERENCE,
                "___etag"       STRING,
                "___modTime"    TIMESTAMP,
                "___modifiedBy" REFERENCE,
                "___recordID"   REFERENCE QUERYABLE,
                "grant"         NUMBER PREFERRED AS DOUBLE,
                note            ENCRYPTED STRING,
                place           LOCATION QUERYABLE SORTABLE,
                tags            LIST<STRING> QUERYABLE,
                title           STRING QUERYABLE SEARCHABLE SORTABLE,
                year            INT64 QUERYABLE SORTABLE,
                GRANT WRITE TO "_creator",
                GRANT READ, CREATE, WRITE TO Curator
            );

            RECORD TYPE Users (
                "___createTime" TIMESTAMP,
                "___createdBy"  REFERENCE,
                "___etag"       STRING,
                "___modTime"    TIMESTAMP,
                "___modifiedBy" REFERENCE,
                "___recordID"   REFERENCE,
                roles           LIST<INT64>,
                GRANT WRITE TO "_creator",
                GRANT READ TO "_world"
            );

        """

    @Test func `an export is laid out as Apple's`() throws {
        #expect(SchemaPrinter.print(try SchemaParser.parse(Self.written).schema) == Self.exported)
    }

    @Test func `the longest name sets the width`() {
        var type = RecordTypeSchema()
        type.fields["aNameOfTwentyLetters"] = SchemaField(SchemaType(.bytes))
        let text = SchemaPrinter.print(Schema(recordTypes: ["T": type]))
        #expect(text.contains("\n        \"___etag\"            STRING,\n"))
        #expect(text.contains("\n        aNameOfTwentyLetters BYTES\n"))
    }

    @Test func `an empty schema is valid`() throws {
        #expect(try SchemaParser.parse("DEFINE SCHEMA").schema == Schema())
        #expect(SchemaPrinter.print(Schema()) == "DEFINE SCHEMA\n")
    }

    @Test(arguments: RandomSchemas.types)
    func `each type parses in its spelling`(type: SchemaType) throws {
        #expect(SchemaType(type.text) == type)
        let parsed = try SchemaParser.parse("DEFINE SCHEMA RECORD TYPE T (x \(type.text.lowercased()) queryable);")
        #expect(parsed.schema.recordTypes["T"]?.fields["x"] == SchemaField(type, .queryable))
    }

    @Test(arguments: [
        "ENCRYPTED REFERENCE", "ENCRYPTED ASSET", "ENCRYPTED NUMBER", "LIST<LIST<STRING>>", "ENCRYPTED LIST<STRING>",
        "STRING PREFERRED AS INT64", "NUMBER PREFERRED AS STRING", "LIST STRING", "LIST<>", "TEXT", "", "STRING STRING",
    ])
    func `other type names are refused`(text: String) {
        #expect(SchemaType(text) == nil)
    }

    @Test(arguments: ["\n", "\r\n", "\r"])
    func `all usual line endings are accepted`(newline: String) throws {
        let text = ["DEFINE SCHEMA // one", "-- two", "RECORD TYPE T ( -- three", "a STRING );"].joined(
            separator: newline)
        let parsed = try SchemaParser.parse(text)
        #expect(parsed.schema.type(of: "a", in: "T") == SchemaType(.string))
        #expect(
            parsed.positions[.field(recordType: "T", name: "a")] == SchemaPosition(line: 4, column: 1))
    }

    @Test func `a byte order mark and a comment at the end are accepted`() throws {
        #expect(try SchemaParser.parse("\u{FEFF}DEFINE SCHEMA -- the end").schema == Schema())
        #expect(try SchemaParser.parse("/**/DEFINE/* * / */SCHEMA/**/").schema == Schema())
    }

    @Test(arguments: SchemaNames.reserved)
    func `reserved words are names in double quotes only`(word: String) throws {
        let parsed = try SchemaParser.parse("DEFINE SCHEMA RECORD TYPE \"\(word)\" (\"\(word)\" STRING);")
        #expect(parsed.schema.type(of: word, in: word) == SchemaType(.string))
        #expect(throws: SchemaSyntaxError.self) {
            try SchemaParser.parse("DEFINE SCHEMA RECORD TYPE \(word) (x STRING);")
        }
        #expect(SchemaNames.written(word.lowercased()) == "\"\(word.lowercased())\"")
    }

    @Test(arguments: [
        "define", "schema", "Record", "TYPE", "list", "string", "READ", "to", "number", "role", "encrypted",
    ])
    func `all other keywords are names`(word: String) throws {
        let text = "DEFINE SCHEMA CREATE ROLE \(word); RECORD TYPE \(word) (\(word) STRING, GRANT READ TO \(word));"
        let schema = try SchemaParser.parse(text).schema
        #expect(schema.type(of: word, in: word) == SchemaType(.string))
        #expect(schema.grants(of: word) == [word: .read])
        #expect(SchemaNames.written(word) == word)
    }

    @Test func `grants to a role add up`() throws {
        let text = "DEFINE SCHEMA RECORD TYPE T (GRANT READ TO a, GRANT READ, WRITE TO \"a\", GRANT CREATE TO b);"
        #expect(try SchemaParser.parse(text).schema.recordTypes["T"]?.grants == ["a": [.read, .write], "b": .create])
    }

    @Test func `a second declaration is reported, and the first one counts`() throws {
        let parsed = try SchemaParser.parse(
            """
            DEFINE SCHEMA
            CREATE ROLE a; CREATE ROLE a;
            RECORD TYPE T (x STRING, x INT64);
            RECORD TYPE T (y STRING);
            """)
        #expect(parsed.schema.type(of: "x", in: "T") == SchemaType(.string))
        #expect(parsed.schema.type(of: "y", in: "T") == nil)
        #expect(
            parsed.duplicates.map(\.description) == [
                "line 2, column 28: role 'a' is declared twice, first at line 2, column 13",
                "line 3, column 26: field 'x' of record type 'T' is declared twice, first at line 3, column 16",
                "line 4, column 13: record type 'T' is declared twice, first at line 3, column 13",
            ])
    }
}
