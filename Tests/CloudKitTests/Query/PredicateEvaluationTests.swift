import NephosTesting
import NephosWire
import Testing

@testable import CloudKit

@Suite("Predicates evaluated in memory")
struct PredicateEvaluationTests {
    private let record: CKRecord = {
        let record = CKRecord(recordType: "Artwork", recordID: CKRecord.ID(recordName: "A-17"))
        record["title"] = "Dusk over Málaga"
        record["year"] = 1931
        record["price"] = 12.5
        record["isSold"] = true
        record["sold"] = Date(timeIntervalSince1970: 1.5)
        record["tags"] = ["Red", "blue"]
        record["artist"] = CKRecord.Reference(recordID: CKRecord.ID(recordName: "P-1"), action: .deleteSelf)
        record["place"] = CLLocation(latitude: 36.7213, longitude: -4.4214)
        record.encryptedValues["secret"] = "hidden"
        return record
    }()

    private func holds(_ format: String, _ arguments: Any?...) -> Bool {
        NSPredicate(format: format, argumentArray: arguments).evaluate(with: record)
    }

    @Test(arguments: ["", "tags CONTAINS 'red' AND ", "NOT tags CONTAINS 'green' AND "])
    func `values compare exactly beside a part whose meaning depends on the field`(part: String) {
        record["exact"] = 9_007_199_254_740_993
        record["composed"] = "\u{E9}"
        for (format, value, expected) in [
            ("exact <= %@", 9_007_199_254_740_992.0, false), ("exact == %@", 9_007_199_254_740_992.0, false),
            ("exact > %@", 9_007_199_254_740_992.0, true), ("composed <= %@", "e\u{301}", false),
            ("composed > %@", "e\u{301}", true), ("composed >= %@", "\u{E9}", true),
        ] as [(String, Any, Bool)] {
            #expect(holds(part + format, value) == expected, "\(part)\(format)")
        }
    }

    @Test(arguments: ["<", "<=", "==", ">=", ">"])
    func `nothing compares with a number that is none`(comparison: String) {
        for format in ["year \(comparison) %@", "price \(comparison) %@", "tags CONTAINS 'x' OR year \(comparison) %@"]
        {
            #expect(!holds(format, Double.nan), "\(format)")
        }
    }

    @Test(
        arguments: [
            ("title == 'dusk OVER málaga'", true), ("title BEGINSWITH 'Dusk'", true),
            ("title BEGINSWITH 'dusk'", false),
            ("title != 'x'", true), ("missing != 'x'", true), ("missing == 'x'", false), ("missing < 5", false),
            ("NOT missing < 5", false), ("NOT (missing == 5)", true), ("year BETWEEN {1900, 1931}", true),
            ("year == 1931.0", true), ("year IN {1, 1931}", true), ("isSold == YES", true), ("isSold == FALSE", false),
            ("tags CONTAINS 'RED'", true), ("NOT (tags CONTAINS 'green')", true), ("ANY tags BEGINSWITH 'bl'", true),
            ("ANY tags == 'blue'", true), ("self CONTAINS 'malaga dawn'", true),
            ("allTokens TOKENMATCHES[cdl] 'malaga dawn'", false), ("allTokens TOKENMATCHES[cdl] 'MALAGA dusk'", true),
            ("secret == 'hidden'", false),
            ("TRUEPREDICATE", true),
            ("FALSEPREDICATE", false),
            ("recordName = 'A-17'", true),
            ("recordType == 'Artwork'", true), ("recordType != 'Artwork'", false), ("recordChangeTag == 'x'", false),
            ("recordType IN {'Person', 'Artwork'} AND year == 1931", true), ("recordType LIKE 'Art*'", true),
            ("year == 1931 AND price > 12 AND NOT price > 13", true),
            ("creationDate < now()", false),
            ("sold < now()", true),
        ] as [(String, Bool)])
    func `a predicate on a record evaluates as a query would`(_ format: String, _ expected: Bool) {
        #expect(holds(format) == expected, "\(format)")
    }

    @Test func `references compare by record ID, whatever their action, and with records and IDs`() {
        let id = CKRecord.ID(recordName: "P-1")
        #expect(holds("artist == %@", CKRecord.Reference(recordID: id, action: .none)))
        #expect(holds("artist == %@", id))
        #expect(holds("artist == %@", CKRecord(recordType: "Person", recordID: id)))
        #expect(holds("artist IN %@", [id]))
        #expect(!holds("artist == %@", CKRecord.ID(recordName: "P-1", zoneID: CKRecordZone.ID(zoneName: "Z"))))
        #expect(holds("recordID == %@", CKRecord.ID(recordName: "A-17")))
        #expect(holds("sold == %@", Date(timeIntervalSince1970: 1.5)))
        #expect(
            holds(
                "distanceToLocation:fromLocation:(place, %@) < 90000", CLLocation(latitude: 37.1773, longitude: -3.5986)
            ))
    }

    @Test(
        arguments: [
            ("title LIKE '*over*'", true), ("title LIKE 'dusk*'", false), ("title LIKE[c] 'dusk?over*'", true),
            ("title LIKE '*x*'", false), ("title MATCHES 'Dusk .*'", true), ("title MATCHES 'Dusk'", false),
            ("title ENDSWITH 'laga'", true), ("title CONTAINS 'over'", true), ("title CONTAINS[cd] 'MALAGA'", true),
            ("title BEGINSWITH[c] 'dusk'", true), ("year == 1 OR title CONTAINS 'Dusk'", true),
            ("NOT (year == 1931 AND price == 1)", true), ("ALL tags != 'green'", true), ("NONE tags == 'blue'", false),
            ("missing == nil", true), ("title == nil", false), ("title != nil", true), ("year + 1 == 1932", true),
            ("artist.recordID.recordName == 'P-1'", true),
            ("lowercase(title) BEGINSWITH 'dusk'", true),
            ("length(title) == 16", true),
        ] as [(String, Bool)])
    func `predicates that a query refuses evaluate in memory`(_ format: String, _ expected: Bool) {
        #expect(holds(format) == expected, "\(format)")
    }

    @Test(
        arguments: [
            ("name == 'Bob'", true), ("name == 'bob'", false), ("name ==[c] 'bob'", true),
            ("address.city == 'Köln'", true),
            ("address.city ==[cd] 'koln'", true),
            ("tags CONTAINS 'x'", true),
            ("ANY tags == 'y'", true),
            ("age > 30", true),
            ("other == nil", true), ("name IN {'Al', 'Bob'}", true),
        ] as [(String, Bool)])
    func `on dictionaries and values equality is exact, unless [c] says otherwise`(_ format: String, _ expected: Bool) {
        let person: [String: Any] = ["name": "Bob", "age": 31, "tags": ["x", "y"], "address": ["city": "Köln"]]
        #expect(NSPredicate(format: format).evaluate(with: person) == expected, "\(format)")
        #expect(NSPredicate(format: format).evaluate(with: person as NSDictionary) == expected, "\(format)")
    }

    @Test func `predicates evaluate on values and with variables`() {
        #expect(NSPredicate(format: "SELF BEGINSWITH 'a'").evaluate(with: "abc"))
        #expect(["abc", "xbc"].filter { NSPredicate(format: "SELF CONTAINS 'x'").evaluate(with: $0) } == ["xbc"])
        #expect(NSPredicate(format: "a == $x").evaluate(with: ["a": 5], substitutionVariables: ["x": 5]))
    }

    @Test func `compound predicates of Foundation's contain the library's`() {
        let year = NSPredicate(format: "year == %d", 1931)
        let title = NSPredicate(format: "title BEGINSWITH %@", "Dawn")
        #expect(!NSCompoundPredicate(andPredicateWithSubpredicates: [year, title]).evaluate(with: record))
        #expect(NSCompoundPredicate(orPredicateWithSubpredicates: [year, title]).evaluate(with: record))
        #expect(
            NSCompoundPredicate(type: .and, subpredicates: [year, NSPredicate(value: true)]).evaluate(with: record))
        #expect(NSCompoundPredicate(notPredicateWithSubpredicate: title).evaluate(with: record))
    }

    @Test func `a predicate and its converted condition agree on random records`() throws {
        let seed: UInt64 = 5_081
        var random = SeededGenerator(seed: seed)
        let values: [any CKRecordValue] = [
            "a", "A", "ab", "é", 0, 1, 2, 1.5, -1.0, true, Date(timeIntervalSince1970: 1),
            Date(timeIntervalSince1970: 2),
            ["a", "b"] as NSArray, ["A"] as NSArray, [1, 2] as NSArray, NSArray(),
            CKRecord.Reference(recordID: CKRecord.ID(recordName: "r"), action: .none),
            CKRecord.Reference(
                recordID: CKRecord.ID(recordName: "r", zoneID: CKRecordZone.ID(zoneName: "Z")), action: .none),
        ]
        let scalars = values.filter { !($0 is NSArray) }
        let keys = ["f", "g"]
        func operand() -> PredicateValue {
            Int.random(in: 0...3, using: &random) == 0
                ? .list((0..<2).map { _ in PredicateValue(scalars.randomElement(using: &random)) })
                : PredicateValue(scalars.randomElement(using: &random))
        }
        func expression(_ depth: Int) -> PredicateTree {
            switch depth == 0 ? 9 : Int.random(in: 0...9, using: &random) {
            case 0: return .not(expression(depth - 1))
            case 1, 2: return .and([expression(depth - 1), expression(depth - 1)])
            case 3: return .or([expression(depth - 1), expression(depth - 1)])
            default:
                let operators: [PredicateComparison.Operator] = [
                    .equals, .notEquals, .lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals, .in,
                    .beginsWith, .between,
                ]
                let key = PredicateOperand.key(keys.randomElement(using: &random) ?? "f")
                let modifiers: [PredicateComparison.Modifier] = [.direct, .direct, .any]
                return .comparison(
                    PredicateComparison(
                        modifier: modifiers.randomElement(using: &random) ?? .direct, left: key,
                        operator: operators.randomElement(using: &random) ?? .equals, right: .constant(operand())))
            }
        }
        var compared = 0
        for _ in 0..<20_000 {
            let expression = expression(2)
            guard (try? PredicateConversion.condition(of: expression, .extended)) != nil else { continue }
            let record = CKRecord(recordType: "T")
            for key in keys where Bool.random(using: &random) { record[key] = values.randomElement(using: &random) }
            let here = PredicateEvaluation(expression, asksQueries: false).evaluate(with: record, variables: [:])
            let sent = PredicateEvaluation(expression).evaluate(with: record, variables: [:])
            #expect(here == sent, "seed \(seed): \(PredicatePrinter.describe(expression)) on \(record)")
            compared += 1
        }
        #expect(compared > 3000)
    }
}
