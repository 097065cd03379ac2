import NephosWire
import Testing

@testable import CloudKit

private let date = Date(timeIntervalSince1970: 1.5)
private let place = CLLocation(latitude: 1, longitude: 2)
private let zone = CKRecordZone.ID(zoneName: "Z")
private let id = CKRecord.ID(recordName: "A")
private let zoned = CKRecord.ID(recordName: "B", zoneID: zone)
private let owner = CKRecord.Reference(recordID: id, action: .deleteSelf)
private let zonedOwner = CKRecord.Reference(recordID: zoned, action: .none)
private let record = CKRecord(recordType: "T", recordID: zoned)

@Suite("Formats and the filters they become")
struct PredicateTableTests {
    typealias Row = (format: String, arguments: [Any?], expected: String)

    private func expectOutcomes(_ rows: [Row], sourceLocation: SourceLocation = #_sourceLocation) {
        for row in rows {
            let found = outcome(row.format, row.arguments)
            #expect(found == row.expected, "\(row.format)", sourceLocation: sourceLocation)
        }
    }

    /// As `expectOutcomes`, but the outcome only has to begin so.
    private func expectOutcomePrefixes(_ rows: [Row], sourceLocation: SourceLocation = #_sourceLocation) {
        for row in rows {
            let found = outcome(row.format, row.arguments)
            #expect(found.hasPrefix(row.expected), "\(row.format) gave \(found)", sourceLocation: sourceLocation)
        }
    }

    @Test func `constant predicates match everything or nothing`() {
        expectOutcomes([
            ("TRUEPREDICATE", [], ""), ("truepredicate", [], ""), ("(TRUEPREDICATE)", [], ""),
            ("FALSEPREDICATE", [], ":recordName IN []reference"),
            ("NOT TRUEPREDICATE", [], ":recordName IN []reference"),
            ("NOT FALSEPREDICATE", [], ""), ("TRUEPREDICATE AND a == 1", [], "a EQUALS 1"),
            ("FALSEPREDICATE AND a == 1", [], ":recordName IN []reference"),
        ])
    }

    @Test func `every operator parses in each of its spellings`() {
        expectOutcomes([
            ("a = 1", [], "a EQUALS 1"), ("a == 1", [], "a EQUALS 1"), ("a==1", [], "a EQUALS 1"),
            ("a != 1", [], "a NOT_EQUALS 1"), ("a <> 1", [], "a NOT_EQUALS 1"), ("a<>1", [], "a NOT_EQUALS 1"),
            ("a < 1", [], "a LESS_THAN 1"), ("a <= 1", [], "a LESS_THAN_OR_EQUALS 1"),
            ("a =< 1", [], "a LESS_THAN_OR_EQUALS 1"), ("a > 1", [], "a GREATER_THAN 1"),
            ("a >= 1", [], "a GREATER_THAN_OR_EQUALS 1"), ("a => 1", [], "a GREATER_THAN_OR_EQUALS 1"),
            ("a BETWEEN {1, 2}", [], "a GREATER_THAN_OR_EQUALS 1; a LESS_THAN_OR_EQUALS 2"),
            ("a between { 'x' , 'y' }", [], "a GREATER_THAN_OR_EQUALS 'x'; a LESS_THAN_OR_EQUALS 'y'"),
            ("a BETWEEN %@", [[1, 2]], "a GREATER_THAN_OR_EQUALS 1; a LESS_THAN_OR_EQUALS 2"),
            ("a IN {1, 2}", [], "a IN [1, 2]"), ("a in %@", [["x", "y"]], "a IN ['x', 'y']"),
            ("a IN {}", [], "a IN []unknown"), ("a IN {1, 2.5}", [], "a IN [1.0, 2.5]"),
            ("a IN {9007199254740992, 2.5}", [], "a IN [9007199254740992.0, 2.5]"),
            ("NOT a IN {1}", [], "a NOT_IN [1]"), ("NOT (a IN %@)", [["x"]], "a NOT_IN ['x']"),
            ("a BEGINSWITH 'red'", [], "a BEGINS_WITH 'red'"), ("a beginswith \"red\"", [], "a BEGINS_WITH 'red'"),
            ("a BEGINSWITH ''", [], "a BEGINS_WITH ''"), ("NOT a BEGINSWITH 'x'", [], "a NOT_BEGINS_WITH 'x'"),
            ("a CONTAINS 'x'", [], "a LIST_CONTAINS 'x'"), ("NOT (a CONTAINS 'x')", [], "a NOT_LIST_CONTAINS 'x'"),
            ("'x' IN a", [], "a LIST_CONTAINS 'x'"), ("NOT ('x' IN a)", [], "a NOT_LIST_CONTAINS 'x'"),
            ("ANY a = 'x'", [], "a LIST_CONTAINS 'x'"), ("any a == 'x'", [], "a LIST_CONTAINS 'x'"),
            ("SOME a = 'x'", [], "a LIST_CONTAINS 'x'"), ("ANY {1, 2} = a", [], "a IN [1, 2]"),
            ("ANY a BEGINSWITH 'red'", [], "a LIST_MEMBER_BEGINS_WITH 'red'"),
            ("NOT (ANY a BEGINSWITH 'red')", [], "a NOT_LIST_MEMBER_BEGINS_WITH 'red'"),
            ("ANY a IN {'x', 'y'}", [], "a LIST_CONTAINS_ANY ['x', 'y']"),
            ("ANY %@ IN a", [["x"]], "a LIST_CONTAINS_ANY ['x']"),
            ("%@ CONTAINS a", [["x", "y"]], "a IN ['x', 'y']"), ("NOT (%@ CONTAINS a)", [["x"]], "a NOT_IN ['x']"),
            ("1 < a", [], "a GREATER_THAN 1"), ("1 >= a", [], "a LESS_THAN_OR_EQUALS 1"), ("1 == a", [], "a EQUALS 1"),
            ("'x' != a", [], "a NOT_EQUALS 'x'"),
        ])
    }

    @Test func `AND parses, and NOT of a single comparison`() {
        expectOutcomes([
            ("a == 1 AND b == 2", [], "a EQUALS 1; b EQUALS 2"), ("a == 1 && b == 2", [], "a EQUALS 1; b EQUALS 2"),
            ("a == 1 and b == 2 And c == 3", [], "a EQUALS 1; b EQUALS 2; c EQUALS 3"),
            ("(a == 1 AND (b == 2)) AND c == 3", [], "a EQUALS 1; b EQUALS 2; c EQUALS 3"),
            ("(a <= %@) && (b >= %@)", [1, date], "a LESS_THAN_OR_EQUALS 1; b GREATER_THAN_OR_EQUALS t1500"),
            ("NOT a == 1", [], "a NOT_EQUALS 1"),
            ("! (a == 1)", [], "a NOT_EQUALS 1"),
            ("!(a = 1)", [], "a NOT_EQUALS 1"),
            ("NOT NOT a == 1", [], "a EQUALS 1"), ("NOT (a != 1)", [], "a EQUALS 1"),
            ("NOT a < 1", [], "a GREATER_THAN_OR_EQUALS 1"), ("NOT a >= 1", [], "a LESS_THAN 1"),
            ("NOT 1 < a", [], "a LESS_THAN_OR_EQUALS 1"), ("a == 1 AND NOT b == 2", [], "a EQUALS 1; b NOT_EQUALS 2"),
            ("a == 1 AND a == 1", [], "a EQUALS 1"),
        ])
    }

    @Test func `literals parse`() {
        expectOutcomes([
            ("a == -5", [], "a EQUALS -5"), ("a == +5", [], "a EQUALS 5"), ("a == 1.5", [], "a EQUALS 1.5"),
            ("a == .5", [], "a EQUALS 0.5"),
            ("a == -1e3", [], "a EQUALS -1000.0"),
            ("a == 2.5E-1", [], "a EQUALS 0.25"),
            ("a == 0x1F", [], "a EQUALS 31"), ("a == 0b101", [], "a EQUALS 5"), ("a == 0o17", [], "a EQUALS 15"),
            ("a == 9223372036854775807", [], "a EQUALS 9223372036854775807"),
            ("a == true", [], "a EQUALS 1"), ("a == NO", [], "a EQUALS 0"), ("a == YES", [], "a EQUALS 1"),
            ("a == FALSE", [], "a EQUALS 0"), ("a == ''", [], "a EQUALS ''"),
            ("a == 'it\\'s'", [], "a EQUALS 'it's'"), ("a == \"say \\\"x\\\"\"", [], "a EQUALS 'say \"x\"'"),
            ("a == \"it's\"", [], "a EQUALS 'it's'"), ("a == 'tab\\tnew\\nline'", [], "a EQUALS 'tab\tnew\nline'"),
            ("a == '\\u00e9\\x41'", [], "a EQUALS 'éA'"), ("a == 'é 日本 🎈'", [], "a EQUALS 'é 日本 🎈'"),
            ("a == '%@'", [], "a EQUALS '%@'"),
            ("a == 2 + 3 * 4", [], "a EQUALS 14"),
            ("a == (2 + 3) * 4", [], "a EQUALS 20"),
            ("a == 2 ** 3", [], "a EQUALS 8.0"),
            ("a > 10 / 4", [], "a GREATER_THAN 2.5"),
            ("a == -(5)", [], "a EQUALS -5"),
            ("a == CAST(0, 'NSDate')", [], "a EQUALS t978307200000"), ("a == abs(-5)", [], "a EQUALS 5.0"),
        ])
    }

    @Test func `placeholders take their arguments`() {
        enum State: Int { case open = 3 }
        expectOutcomes([
            ("a == %@", ["x"], "a EQUALS 'x'"),
            ("a == %@", ["x" as NSString], "a EQUALS 'x'"),
            ("a == %@", [5], "a EQUALS 5"),
            ("a == %@", [NSNumber(value: 5)], "a EQUALS 5"), ("a == %@", [2.5], "a EQUALS 2.5"),
            ("a == %@", [true], "a EQUALS 1"), ("a == %@", [NSNumber(value: false)], "a EQUALS 0"),
            ("a == %@", [Float(0.5)], "a EQUALS 0.5"), ("a == %@", [UInt8(7)], "a EQUALS 7"),
            ("a == %@", [date], "a EQUALS t1500"), ("a == %@", [date as NSDate], "a EQUALS t1500"),
            ("a == %@", [Optional("x")], "a EQUALS 'x'"), ("a == %@", [Substring("x")], "a EQUALS 'x'"),
            ("a == %@", [owner], "a EQUALS @A"),
            ("a == %@", [zonedOwner], "a EQUALS @B/Z"),
            ("a == %@", [id], "a EQUALS @A"),
            ("a == %@", [record], "a EQUALS @B/Z"), ("a == %@", [place], "a EQUALS (1.0 2.0)"),
            ("a IN %@", [[owner, zonedOwner]], "a IN [@A, @B/Z]"), ("a IN %@", [Set(["x"])], "a IN ['x']"),
            ("a IN %@", [NSSet(object: "x")], "a IN ['x']"), ("a IN %@", [NSOrderedSet(object: 1)], "a IN [1]"),
            ("a IN %@", [["x"] as NSArray], "a IN ['x']"), ("a IN %@", [[date]], "a IN [t1500]"),
            ("a CONTAINS %@", [owner], "a LIST_CONTAINS @A"),
            ("%K CONTAINS %@", ["tags", "x"], "tags LIST_CONTAINS 'x'"),
            ("%K == %@", ["owningList", owner], "owningList EQUALS @A"), ("%K = %@", ["in", 1], "in EQUALS 1"),
            ("%K BEGINSWITH ''", ["name"], "name BEGINS_WITH ''"),
            ("state == %ld", [State.open.rawValue], "state EQUALS 3"),
            ("state == %lud", [State.open.rawValue], "state EQUALS 3"), ("a == %d", [5], "a EQUALS 5"),
            ("a == %i", [5], "a EQUALS 5"),
            ("a == %u", [UInt32(5)], "a EQUALS 5"),
            ("a == %lu", [UInt(5)], "a EQUALS 5"),
            ("a == %lld", [Int64(5)], "a EQUALS 5"),
            ("a == %llu", [UInt64(5)], "a EQUALS 5"),
            ("a == %hd", [5], "a EQUALS 5"),
            ("a == %x", [255], "a EQUALS 255"), ("a == %d", [true], "a EQUALS 1"), ("a == %f", [2.5], "a EQUALS 2.5"),
            ("a == %.2f", [2.5], "a EQUALS 2.5"), ("a == %lf", [2.5], "a EQUALS 2.5"), ("a == %g", [1], "a EQUALS 1.0"),
            ("a == %s", ["x"], "a EQUALS 'x'"), ("a == %c", ["x"], "a EQUALS 120"), ("a == %d", [2.9], "a EQUALS 2"),
            ("a == %@ AND b == %@", [1, 2, 3], "a EQUALS 1; b EQUALS 2"),
            ("a IN {%d, %@}", [1, 2], "a IN [1, 2]"),
        ])
    }

    @Test func `keys may be properties, system fields, escaped words, and follow self.`() {
        expectOutcomes([
            ("recordID == %@", [id], ":recordName EQUALS @A"),
            ("recordID = %@", [zonedOwner], ":recordName EQUALS @B/Z"),
            ("___recordID == %@", [record], ":recordName EQUALS @B/Z"),
            ("recordName = %@", ["A"], ":recordName EQUALS @A/?"),
            ("recordName IN {'A', 'B'}", [], ":recordName IN [@A/?, @B/?]"),
            ("recordID IN %@", [[owner, zonedOwner]], ":recordName IN [@A, @B/Z]"),
            ("recordID IN %@", [[id]], ":recordName IN [@A]"),
            ("recordID IN %@", [[CKRecord.ID]()], ":recordName IN []reference"),
            ("%K == %@", [CKRecord.SystemFieldKey.recordID, id], ":recordName EQUALS @A"),
            ("creationDate > %@", [date], ":createdTimestamp GREATER_THAN t1500"),
            ("modificationDate <= %@", [date as NSDate], ":modifiedTimestamp LESS_THAN_OR_EQUALS t1500"),
            ("___modTime > %@", [date], ":modifiedTimestamp GREATER_THAN t1500"),
            (
                "creatorUserRecordID == %@", [CKRecord.ID(recordName: CKCurrentUserDefaultName)],
                ":createdUserRecordName EQUALS @__defaultOwner__"
            ),
            ("lastModifiedUserRecordID = %@", [owner], ":modifiedUserRecordName EQUALS @A"),
            ("%K == %@", [CKRecord.SystemFieldKey.parent, owner], ":parent EQUALS @A"),
            ("___share == %@", [owner], ":share EQUALS @A"), ("parent == %@", [owner], "parent EQUALS @A"),
            ("self.year == 5", [], "year EQUALS 5"),
            ("SELF.in == 5", [], "in EQUALS 5"),
            ("#in == 5", [], "in EQUALS 5"),
            ("a_1 == 5", [], "a_1 EQUALS 5"), ("size == 5 AND first == 1", [], "size EQUALS 5; first EQUALS 1"),
        ])
    }

    @Test func `full-text searches parse`() {
        expectOutcomes([
            ("self CONTAINS 'bob smith'", [], "* CONTAINS_ANY_TOKENS 'bob smith'"),
            ("SELF contains %@", ["x"], "* CONTAINS_ANY_TOKENS 'x'"),
            ("self CONTAINS 'a1' AND self CONTAINS 'b1'", [], "* CONTAINS_ANY_TOKENS 'a1'; * CONTAINS_ANY_TOKENS 'b1'"),
            ("self CONTAINS[cd] 'x'", [], "* CONTAINS_ANY_TOKENS 'x'"),
            ("%K CONTAINS %@", ["self", "x"], "* CONTAINS_ANY_TOKENS 'x'"),
            ("allTokens TOKENMATCHES[cdl] %@", ["x y"], "* CONTAINS_ALL_TOKENS 'x y'"),
            ("allTokens TOKENMATCHES tokenize(%@, 'Cdl')", ["x"], "* CONTAINS_ALL_TOKENS 'x'"),
            ("allTokens TOKENMATCHES tokenize:using:(%@, 'Cdl')", ["x"], "* CONTAINS_ALL_TOKENS 'x'"),
            ("ALL tokenize(%@, 'Cdl') IN allTokens", ["x y"], "* CONTAINS_ALL_TOKENS 'x y'"),
            ("ANY tokenize(%@, 'Cdl') IN allTokens", ["x y"], "* CONTAINS_ANY_TOKENS 'x y'"),
        ])
    }

    @Test func `distances are in metres, and only a position inside a radius can be queried`() {
        let inside = "loc NEAR (1.0 2.0) 500.0"
        expectOutcomes([
            ("distanceToLocation:fromLocation:(loc, %@) < 500", [place], inside),
            ("distanceToLocation:fromLocation:(%K, %@) < %f", ["loc", place, 500.0], inside),
            ("distanceToLocation:fromLocation:(%@, loc) <= %d", [place, 500], inside),
            ("500 > distanceToLocation:fromLocation:(loc, %@)", [place], inside),
        ])
        expectOutcomePrefixes([
            ("distanceToLocation:fromLocation:(loc, %@) > 500", [place], "refused: "),
            ("distanceToLocation:fromLocation:(loc, %@) == 500", [place], "refused: "),
            ("NOT distanceToLocation:fromLocation:(loc, %@) < 500", [place], "refused: NOT"),
            ("distanceToLocation:fromLocation:(loc, other) < 500", [], "refused: "),
            ("distanceToLocation:fromLocation:(loc, %@) < 'far'", [place], "refused: "),
            ("distanceToLocation:fromLocation:(loc) < 5", [], "unparsable: expected 2 arguments"),
        ])
    }

    @Test func `a predicate that CKQuery does not accept is refused, and the part is named`() {
        expectOutcomePrefixes([
            ("a == 1 OR b == 2", [], "refused: a == 1 OR b == 2: OR"),
            ("a IN {9007199254740993, 2.5}", [], "refused: a IN {9007199254740993, 2.5}: "),
            ("a IN %@", [[Int64.max as Any, 0.5]], "refused: "),
            ("a == 1 || b == 2", [], "refused: a == 1 OR b == 2"),
            ("NOT (a == 1 AND b == 2)", [], "refused: NOT (a == 1 AND b == 2)"),
            ("NOT a BETWEEN {1, 2}", [], "refused: NOT (a BETWEEN {1, 2})"),
            ("NOT self CONTAINS 'x'", [], "refused: NOT (SELF CONTAINS \"x\")"),
            ("c == 3 AND a LIKE 'x*'", [], "refused: a LIKE \"x*\": LIKE"),
            ("a ENDSWITH 'x'", [], "refused: a ENDSWITH \"x\""),
            ("a MATCHES 'x.*'", [], "refused: a MATCHES \"x.*\""), ("ALL a == 1", [], "refused: ALL a == 1: ALL"),
            ("NONE a == 1", [], "refused: NONE a == 1: NONE"), ("ANY a != 1", [], "refused: ANY a != 1"),
            ("a == nil", [], "refused: a == nil: fields cannot be compared with nil"),
            ("a != NULL", [], "refused: a != nil"),
            ("a == %@", [nil], "refused: a == nil"), ("a == %@", [Optional<String>.none], "refused: a == nil"),
            ("a == %@", [NSNull()], "refused: a == nil"), ("a == %@", [Data([1])], "refused: a == <1 bytes of data>"),
            ("a == %@", [UUID()], "refused: a == <a value of type UUID>"),
            ("a == %@", [["x"]], "refused: a == {\"x\"}: a is"),
            ("a == b", [], "refused: a == b"),
            ("1 == 1", [], "refused: 1 == 1"),
            ("a.b == 1", [], "refused: the key path \"a.b\""),
            ("%K == 1", ["a.b"], "refused: the key path"), ("%K == 1", ["a b"], "refused: the key \"a b\""),
            ("_a == 1", [], "refused: the key \"_a\""), ("___etag == 'x'", [], "refused: the key \"___etag\""),
            ("é == 1", [], "refused: the key \"é\""), ("a IN {1, 'x'}", [], "refused: a IN {1, \"x\"}: the values"),
            ("a IN 'abc'", [], "refused: a IN \"abc\""), ("'abc' CONTAINS a", [], "refused: \"abc\" CONTAINS a"),
            ("'abc' BEGINSWITH a", [], "refused: \"abc\" BEGINSWITH a"),
            ("a BEGINSWITH 5", [], "refused: a BEGINSWITH 5"),
            ("a BEGINSWITH[c] 'x'", [], "refused: a BEGINSWITH[c] \"x\": the options [c]"),
            ("a ==[cd] 'x'", [], "refused: a ==[cd] \"x\": the options [cd]"),
            ("a + 1 == 2", [], "refused: (a + 1) == 2"),
            ("a < %@", [owner], "refused: a < <reference to A>: only"), ("a BETWEEN {1}", [], "refused: a BETWEEN {1}"),
            ("recordID == 'A'", [], "refused: recordID == \"A\": recordID is compared with a string"),
            ("creationDate > 5", [], "refused: creationDate > 5: creationDate is compared with a number"),
            ("recordID BEGINSWITH 'A'", [], "refused: recordID BEGINSWITH"),
            ("recordID < %@", [id], "refused: recordID <"),
            ("title TOKENMATCHES 'x'", [], "refused: title TOKENMATCHES"), ("a == $x", [], "refused: a == $x"),
            ("a == %@", [Double.nan], "refused: a == nan"), ("a == {b}", [], "refused: a == {b}"),
        ])
    }

    @Test func `equality ignores case already, so [c] changes nothing`() {
        expectOutcomes([("a ==[c] 'x'", [], "a EQUALS 'x'"), ("tags CONTAINS[c] 'x'", [], "tags LIST_CONTAINS 'x'")])
    }

    @Test func `now() is the moment of the query's execution`() throws {
        let moment = Date(timeIntervalSince1970: 1000)
        for format in [
            "creationDate < now()", "creationDate < now", "creationDate < now() + 0", "now > creationDate",
            "now() > creationDate",
        ] {
            let expression = try PredicateTree(format: format)
            #expect(
                brief(try PredicateConversion.filters(of: expression, now: moment))
                    == ":createdTimestamp LESS_THAN t1000000")
        }
    }

    @Test func `a parse error says what was expected, and where`() {
        expectOutcomePrefixes([
            ("", [], "unparsable: expected a key or a value at 0, found the end"),
            ("a", [], "unparsable: expected a comparison operator"),
            ("a ==", [], "unparsable: expected a key or a value at 4, found the end"),
            ("a == 1 AND", [], "unparsable: expected a key or a value at 10"),
            ("(a == 1", [], "unparsable: expected \")\" at 7"),
            ("a == 1)", [], "unparsable: expected AND, OR or the end at 6, found \")\""),
            ("a == 1 b == 2", [], "unparsable: expected AND, OR or the end at 7, found \"b == 2\""),
            ("a == 'x", [], "unparsable: expected the quote that ends the string at 5"),
            ("a IN {1, 2", [], "unparsable: expected \",\" or \"}\" at 10"),
            (
                "a == %@", [],
                "unparsable: expected an argument for this placeholder, the 1. of the format at 5, found 0 arguments"
            ),
            ("%K == 1", [5], "unparsable: expected the name of a field for %K at 0, found a number"),
            ("a == %d", ["xy"], "unparsable: expected a whole number at 5, found a string"),
            ("a == %f", [nil], "unparsable: expected a number at 5, found nil"),
            ("a == %z", [1], "unparsable: expected %@, %K"),
            ("like == 1", [], "unparsable: expected a key or a value (give a field of this name as an argument of %K"),
            ("a NOT IN {1}", [], "unparsable: expected an operator (write NOT (a IN b)"),
            ("a IN (1, 2)", [], "unparsable: expected \")\" (a list of values stands in braces"),
            ("a ==[z] 1", [], "unparsable: expected one of the options c, d, n and l"),
            ("a[0] == 1", [], "unparsable: expected an operator"),
            ("foo(1) == a", [], "unparsable: expected a known function"),
            ("SUBQUERY(a, $x, $x == 1).@count > 0", [], "unparsable: "),
            ("a == 1 == 2", [], "unparsable: expected AND, OR or the end"),
            ("(a == 1) == 2", [], "unparsable: expected AND, OR"),
            ("a ~ 1", [], "unparsable: expected a key, a value or an operator at 2"),
            ("ANY a", [], "unparsable: expected a comparison operator"),
            ("a. == 1", [], "unparsable: expected a key after \".\""),
            ("a == 0x", [], "unparsable: expected a number at 5"),
            ("a == '\\u12'", [], "unparsable: expected 4 hexadecimal digits"),
            ("a == 99e99999", [], "unparsable: expected a number"),
        ])
    }
}
