import Testing

@testable import NephosService

/// Syntax errors of a schema: their position, the token found and the tokens expected.
@Suite struct SchemaSyntaxErrorTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var text: String
        var line: Int
        var column: Int
        var found: String
        var expected: [String]
        var testDescription: String { text }

        init(_ text: String, _ line: Int, _ column: Int, _ found: String, _ expected: [String]) {
            self.text = text
            self.line = line
            self.column = column
            self.found = found
            self.expected = expected
        }
    }

    private static let types = [
        "\"ASSET\"", "\"BYTES\"", "\"DOUBLE\"", "\"ENCRYPTED\"", "\"INT64\"", "\"LIST\"", "\"LOCATION\"", "\"NUMBER\"",
        "\"REFERENCE\"", "\"STRING\"", "\"TIMESTAMP\"",
    ]
    private static let options = ["\"QUERYABLE\"", "\"SEARCHABLE\"", "\"SORTABLE\"", "\",\"", "\")\""]
    private static let permissions = ["\"READ\"", "\"CREATE\"", "\"WRITE\""]

    static let rows = [
        Row("", 1, 1, "<EOF>", ["\"DEFINE\""]),
        Row("  \n // nothing", 2, 12, "<EOF>", ["\"DEFINE\""]),
        Row("DEFINE", 1, 7, "<EOF>", ["\"SCHEMA\""]),
        Row("DEFINE SCHEME", 1, 8, "\"SCHEME\"", ["\"SCHEMA\""]),
        Row("\"DEFINE\" SCHEMA", 1, 1, "the name \"DEFINE\"", ["\"DEFINE\""]),
        Row("DEFINE SCHEMA;", 1, 14, "\";\"", ["\"CREATE\"", "\"RECORD\"", "<EOF>"]),
        Row("DEFINE SCHEMA\nCREATE Curator;", 2, 8, "\"Curator\"", ["\"ROLE\""]),
        Row("DEFINE SCHEMA CREATE ROLE ;", 1, 27, "\";\"", ["<name>"]),
        Row("DEFINE SCHEMA CREATE ROLE a", 1, 28, "<EOF>", ["\";\""]),
        Row("DEFINE SCHEMA RECORD Artwork", 1, 22, "\"Artwork\"", ["\"TYPE\""]),
        Row("DEFINE SCHEMA RECORD TYPE a.b (", 1, 28, "\".\"", ["\"(\""]),
        Row("DEFINE SCHEMA RECORD TYPE T ()", 1, 30, "\")\"", ["\"GRANT\"", "<name>"]),
        Row("DEFINE SCHEMA RECORD TYPE T (x STRING,)", 1, 39, "\")\"", ["\"GRANT\"", "<name>"]),
        Row("DEFINE SCHEMA RECORD TYPE T (__x STRING)", 1, 30, "\"__x\"", ["\"GRANT\"", "<name>"]),
        Row("DEFINE SCHEMA RECORD TYPE T (9x STRING)", 1, 30, "\"9x\"", ["\"GRANT\"", "<name>"]),
        Row(
            "DEFINE SCHEMA\n\n    RECORD TYPE T (\n        \"___etag\"       STRING,\n        år INT64,", 5, 9, "\"å\"",
            ["\"GRANT\"", "<name>"]),
        Row(
            "DEFINE SCHEMA\n\n    RECORD TYPE T (\n        \"___etag\"       STRING,\n        a               INT64,\n"
                + "        title           BADTYPE\n", 6, 25, "\"BADTYPE\"", types),
        Row("DEFINE SCHEMA RECORD TYPE T (\"åäö\" BAD", 1, 36, "\"BAD\"", types),
        Row("DEFINE SCHEMA RECORD TYPE T (\"🎨\" \"STRING\")", 1, 34, "the name \"STRING\"", types),
        Row("DEFINE SCHEMA RECORD TYPE T (x STRING y)", 1, 39, "\"y\"", options),
        Row("DEFINE SCHEMA RECORD TYPE T (x STRING SORTABLE", 1, 47, "<EOF>", options.filter { $0 != "\"SORTABLE\"" }),
        Row("DEFINE SCHEMA RECORD TYPE T (x NUMBER;", 1, 38, "\";\"", ["\"PREFERRED\""] + options),
        Row("DEFINE SCHEMA RECORD TYPE T (x NUMBER PREFERRED INT64", 1, 49, "\"INT64\"", ["\"AS\""]),
        Row(
            "DEFINE SCHEMA RECORD TYPE T (x NUMBER PREFERRED AS STRING", 1, 52, "\"STRING\"",
            ["\"DOUBLE\"", "\"INT64\""]),
        Row("DEFINE SCHEMA RECORD TYPE T (x LIST STRING", 1, 37, "\"STRING\"", ["\"<\""]),
        Row("DEFINE SCHEMA RECORD TYPE T (x LIST<STRING)", 1, 43, "\")\"", ["\">\""]),
        Row("DEFINE SCHEMA RECORD TYPE T (x LIST<NUMBER)", 1, 43, "\")\"", ["\"PREFERRED\"", "\">\""]),
        Row("DEFINE SCHEMA RECORD TYPE T (x LIST<LIST<STRING>>", 1, 37, "\"LIST\"", types.filter { $0 != "\"LIST\"" }),
        Row(
            "DEFINE SCHEMA RECORD TYPE T (x ENCRYPTED ASSET)", 1, 42, "\"ASSET\"",
            ["\"BYTES\"", "\"DOUBLE\"", "\"INT64\"", "\"LOCATION\"", "\"STRING\"", "\"TIMESTAMP\""]),
        Row("DEFINE SCHEMA RECORD TYPE T (GRANT DELETE TO x)", 1, 36, "\"DELETE\"", permissions),
        Row("DEFINE SCHEMA RECORD TYPE T (GRANT READ, TO x)", 1, 42, "\"TO\"", permissions),
        Row("DEFINE SCHEMA RECORD TYPE T (GRANT READ x)", 1, 41, "\"x\"", ["\",\"", "\"TO\""]),
        Row("DEFINE SCHEMA RECORD TYPE T (GRANT READ TO _world)", 1, 44, "\"_world\"", ["<name>"]),
        Row("DEFINE SCHEMA RECORD TYPE T (GRANT READ TO x QUERYABLE)", 1, 46, "\"QUERYABLE\"", ["\",\"", "\")\""]),
        Row("DEFINE SCHEMA RECORD TYPE T (x STRING)", 1, 39, "<EOF>", ["\";\""]),
        Row("DEFINE SCHEMA RECORD TYPE \"T\n(x STRING)", 1, 29, "the end of the line", ["\"\\\"\""]),
        Row("DEFINE SCHEMA RECORD TYPE \"T", 1, 29, "<EOF>", ["\"\\\"\""]),
        Row("DEFINE SCHEMA\n/* never\nclosed *", 3, 9, "<EOF>", ["\"*/\""]),
        Row("DEFINE SCHEMA /", 1, 15, "\"/\"", ["\"CREATE\"", "\"RECORD\"", "<EOF>"]),
        Row("DEFINE SCHEMA - x", 1, 15, "\"-\"", ["\"CREATE\"", "\"RECORD\"", "<EOF>"]),
    ]

    @Test(arguments: rows)
    func `an error names the position, the token found and the tokens expected`(row: Row) {
        do throws(SchemaSyntaxError) {
            _ = try SchemaParser.parse(row.text)
            Issue.record("it was read")
        } catch {
            #expect(error.position == SchemaPosition(line: row.line, column: row.column))
            #expect(error.found == row.found)
            #expect(error.expected == row.expected)
        }
    }

    @Test func `an error reads like Apple's`() {
        let text = "DEFINE SCHEMA\n    RECORD TYPE T (\n        title           LIST<BADTYPE>\n"
        #expect(
            SchemaCommands.report(SchemaCommands.validate(text)) == """
                ❌ Schema validation failed: Encountered "BADTYPE" at line 3, column 30. Was expecting one of: "ASSET", \
                "BYTES", "DOUBLE", "ENCRYPTED", "INT64", "LOCATION", "NUMBER", "REFERENCE", "STRING", "TIMESTAMP"
                """)
    }

    @Test func `an error for a name that needs double quotes says so`() {
        let findings = SchemaCommands.validate("DEFINE SCHEMA RECORD TYPE T (x STRING, GRANT READ TO _world);")
        #expect(
            findings.map(\.description) == [
                "Encountered \"_world\" at line 1, column 54. Was expecting: <name> (as a name it needs double quotes)"
            ])
    }
}
