import NephosTesting
import NephosWire
import Testing

@testable import CloudKit

@Suite("The predicate parser with any input")
struct PredicateParserFuzzTests {
    private static let pieces = [
        "a", "b.c", "#in", "self", "self.x", "%@", "%K", "%d", "%lud", "%", "'x'", "\"y\"", "'", "\\", "1", "2.5", "0x",
        "-",
        "+", "*", "**", "/", "(", ")", "{", "}", "[", "]", "[cd]", ",", "==", "=", "!=", "<>", "<", "=<", ">", "=>",
        "!",
        "&&", "||", "AND", "or", "NOT", "ANY", "ALL", "NONE", "IN", "BETWEEN", "CONTAINS", "BEGINSWITH", "LIKE",
        "TOKENMATCHES", "TRUEPREDICATE", "nil", "true", "now()", "tokenize(", "distanceToLocation:fromLocation:(", "$v",
        "CAST(", "é", "\u{0}", "🎈", " ", "\n", "SUBQUERY", "allTokens", ":", ".", "1e9", "§",
    ]

    private func arguments(_ random: inout SeededGenerator) -> [PredicateValue] {
        let all: [PredicateValue] = [
            .string("k"), .integer(1), .null, .list([.string("x")]), .double(.nan), .date(.now),
        ]
        return (0..<Int.random(in: 0...4, using: &random)).compactMap { _ in all.randomElement(using: &random) }
    }

    /// Parses, and checks that work is linear and that whatever was understood can be used.
    private func expectLinearParse(_ format: String, _ arguments: [PredicateValue]) {
        var parser = PredicateParser(format, arguments)
        let expression = try? parser.parse()
        #expect(parser.steps <= 4 * format.utf8.count + 8, "\(format)")
        guard let expression else { return }
        _ = try? PredicateConversion.condition(of: expression, .extended)
        _ = try? PredicateConversion.filters(of: expression)
        _ = PredicateEvaluation(expression).evaluate(with: ["a": 1, "x": "y"], variables: ["v": 1])
        _ = PredicatePrinter.describe(expression)
    }

    @Test func `any sequence of pieces parses or is refused, in steps linear in its length`() {
        let seed: UInt64 = 20_260_301
        var random = SeededGenerator(seed: seed)
        for _ in 0..<20_000 {
            let parts = (0..<Int.random(in: 0...14, using: &random)).map { _ in
                Self.pieces.randomElement(using: &random) ?? ""
            }
            expectLinearParse(parts.joined(separator: Bool.random(using: &random) ? " " : ""), arguments(&random))
        }
    }

    @Test func `any bytes parse or are refused`() {
        var random = SeededGenerator(seed: 7)
        for _ in 0..<5000 {
            let bytes = (0..<Int.random(in: 0...40, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            expectLinearParse(String(decoding: bytes, as: UTF8.self), arguments(&random))
        }
    }

    @Test func `a valid format with one byte changed, added or left out parses or is refused`() {
        let formats = [
            "(a <= %@) && NOT (b IN {1, 'x', -2.5}) AND ANY tags BEGINSWITH[cd] \"red\\n\"",
            "distanceToLocation:fromLocation:(%K, %@) < 10 * 1000 AND allTokens TOKENMATCHES[cdl] tokenize(%@, 'Cdl')",
        ]
        var random = SeededGenerator(seed: 11)
        for format in formats {
            for _ in 0..<5000 {
                var bytes = Array(format.utf8)
                let index = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0...2, using: &random) {
                case 0: bytes[index] = UInt8.random(in: 0...127, using: &random)
                case 1: bytes.insert(UInt8.random(in: 0...127, using: &random), at: index)
                default: bytes.remove(at: index)
                }
                expectLinearParse(String(decoding: bytes, as: UTF8.self), arguments(&random))
            }
        }
    }

    @Test(
        arguments: [
            "(", "NOT ", "!", "{", "- ", "a == 1 AND ", "a == 1 OR ", "1 + ", "2 ** ", "abs(", "a.", "'x' ", "%@ ",
            "((a == 1) AND ",
            "ANY ", "[", "a IN {", "f:", "$", "#", "\\", "distanceToLocation:fromLocation:(",
        ])
    func `long repetitions are linear, and deep nesting is refused without a stack overflow`(_ piece: String) {
        for count in [10, 1000, 50_000] {
            for end in ["", "a == 1"] { expectLinearParse(String(repeating: piece, count: count) + end, []) }
        }
    }

    @Test func `AND may join many conditions`() throws {
        let format = (0..<5000).map { "a\($0) == \($0)" }.joined(separator: " AND ")
        #expect(try PredicateConversion.filters(of: PredicateTree(format: format)).count == 5000)
    }

    @Test func `the depth limit is exact`() throws {
        let limit = PredicateTree.depthLimit
        func nested(_ depth: Int) -> String {
            String(repeating: "(", count: depth) + "a == 1" + String(repeating: ")", count: depth)
        }
        #expect(outcome(nested(limit)) == "a EQUALS 1")
        #expect(outcome(nested(limit + 1)).hasPrefix("unparsable: expected at most \(limit) levels of nesting"))
    }
}
