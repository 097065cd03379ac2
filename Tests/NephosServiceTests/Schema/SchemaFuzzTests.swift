import NephosTesting
import Testing

@testable import NephosService

/// No text makes the parser trap or hang: it is read, or refused at an existing position.
@Suite struct SchemaFuzzTests {
    private static let pieces = [
        "DEFINE ", "SCHEMA ", "RECORD TYPE ", "CREATE ROLE ", "GRANT ", "READ", "TO ", "LIST", "<", ">", "(", ")", ",",
        ";",
        "\"", "\"_world\"", "NUMBER ", "PREFERRED ", "AS ", "ENCRYPTED ", "STRING ", "QUERYABLE ", "//", "--", "/*",
        "*/",
        "\n", "\r\n", "\0", "é", "🎨", "_", "x ", "\u{FEFF}", "-", "/", "\\", "'",
    ]

    @Test(arguments: 0..<400)
    func `a schema with deleted, doubled and inserted pieces is read or refused`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var schemas = RandomSchemas(seed: seed, hasOddNames: true)
        var scalars = Array(SchemaPrinter.print(schemas.schema()).unicodeScalars)
        for _ in 0..<Int.random(in: 1...6, using: &random) {
            let at = Int.random(in: 0...scalars.count, using: &random)
            let end = min(scalars.count, at + Int.random(in: 0...12, using: &random))
            switch Int.random(in: 0..<3, using: &random) {
            case 0: scalars.removeSubrange(at..<end)
            case 1: scalars.insert(contentsOf: Array(scalars[at..<end]), at: at)
            default:
                scalars.insert(
                    contentsOf: Array((Self.pieces.randomElement(using: &random) ?? "").unicodeScalars), at: at)
            }
        }
        try expectSchemaOrError(scalars, "seed \(seed)")
    }

    @Test(arguments: 0..<200)
    func `pieces in any order are read or refused`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var text = Bool.random(using: &random) ? "DEFINE SCHEMA RECORD TYPE T (" : ""
        for _ in 0..<Int.random(in: 0...60, using: &random) { text += Self.pieces.randomElement(using: &random) ?? "" }
        try expectSchemaOrError(Array(text.unicodeScalars), "seed \(seed)")
    }

    private func expectSchemaOrError(_ scalars: [Unicode.Scalar], _ comment: Comment) throws {
        let text = String(String.UnicodeScalarView(scalars))
        do throws(SchemaSyntaxError) {
            let schema = try SchemaParser.parse(text).schema
            #expect(try SchemaParser.parse(SchemaPrinter.print(schema)).schema == schema, comment)
        } catch {
            let lines = Self.lines(scalars)
            try #require(error.position.line <= lines.count, comment)
            #expect(error.position.line >= 1 && error.position.column >= 1, comment)
            #expect(error.position.column <= lines[error.position.line - 1] + 1, comment)
            #expect(!error.expected.isEmpty, comment)
        }
    }

    /// The lengths of the lines.
    private static func lines(_ scalars: [Unicode.Scalar]) -> [Int] {
        var lines = [0]
        for (index, scalar) in scalars.enumerated() {
            let endsLine = scalar == "\n" || (scalar == "\r" && scalars.dropFirst(index + 1).first != "\n")
            if endsLine { lines.append(0) } else { lines[lines.count - 1] += 1 }
        }
        return lines
    }

    @Test(arguments: ["(", "LIST<", "LIST<ENCRYPTED ", "/* ", "\"", "GRANT READ, ", "DEFINE SCHEMA ", "-", "<", ">>"])
    func `deep nesting and long input are handled`(piece: String) {
        for prefix in ["", "DEFINE SCHEMA RECORD TYPE T (x "] {
            let text = prefix + String(repeating: piece, count: 100_000)
            #expect(throws: SchemaSyntaxError.self) { try SchemaParser.parse(text) }
        }
    }

    @Test func `thousands of fields on one line are read`() throws {
        let fields = (0..<20_000).map { "f\($0) STRING QUERYABLE" }.joined(separator: ", ")
        let parsed = try SchemaParser.parse("DEFINE SCHEMA RECORD TYPE T (\(fields));")
        #expect(parsed.schema.recordTypes["T"]?.fields.count == 20_006)
    }
}
