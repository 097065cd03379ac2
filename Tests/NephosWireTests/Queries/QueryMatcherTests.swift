import Foundation
import NephosTesting
import Testing

@testable import NephosWire

@Suite("What a condition matches")
struct QueryMatcherTests {
    private let record = RecordValues(
        recordName: "A-17", zoneID: ZoneIDDictionary(zoneName: "Gallery", ownerRecordName: "_me"),
        fields: RecordFields([
            .init(name: "title", field: Field(.string("Dusk over Málaga"))),
            .init(name: "year", field: Field(.int64(1931))),
            .init(name: "price", field: Field(.double(12.5))),
            .init(name: "sold", field: Field(.timestamp(1_700_000_000_123))),
            .init(name: "bytes", field: Field(.bytes([1, 2]))),
            .init(name: "place", field: Field(.location(LocationValue(latitude: 36.7213, longitude: -4.4214)))),
            .init(name: "artist", field: Field(.reference(ReferenceValue(recordName: "P-1", action: .deleteSelf)))),
            .init(name: "tags", field: Field(.list(of: .string, [.string("Red"), .string("blue")]))),
            .init(name: "none", field: Field(.list(of: .string, []))),
            .init(name: "marks", field: Field(.list(of: .int64, [.int64(1), .int64(2)]))),
        ]),
        system: [
            .createdTimestamp: .timestamp(1000),
            .createdUserRecordName: .reference(ReferenceValue(recordName: "_anna")),
            .parent: .reference(ReferenceValue(recordName: "Hall")),
        ])

    private func matches(
        _ name: String, _ comparator: FilterComparator, _ value: FieldValue, distance: Double? = nil
    ) -> Bool {
        QueryMatcher([Filter(QueryKey(name: name), comparator, value, distance: distance)]).matches(record)
    }

    private func strings(_ values: String...) -> FieldValue { .list(of: .string, values.map(FieldValue.string)) }

    @Test func `string equality ignores case, as CKQuery documents it`() {
        #expect(matches("title", .equals, .string("dusk over MÁLAGA")))
        #expect(!matches("title", .equals, .string("Dusk over Malaga")))
        #expect(!matches("title", .notEquals, .string("dusk over málaga")))
        #expect(matches("title", .in, strings("dawn", "DUSK OVER MÁLAGA")))
        #expect(matches("tags", .listContains, .string("RED")))
    }

    @Test func `composed and decomposed characters are equal`() {
        #expect(matches("title", .equals, .string("Dusk over Ma\u{301}laga")))
        #expect(QuerySemantics.equalityForm("\u{C5}") == QuerySemantics.equalityForm("a\u{30A}"))
        #expect(QuerySemantics.equalityForm("Straße") == QuerySemantics.equalityForm("STRASSE"))
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `a form that ends early is the beginning of the whole form`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let scalars: [Unicode.Scalar] = [
            "a", "B", " ", "ß", "\u{C5}", "\u{301}", "\u{323}", "\u{AC01}", "é",
        ]
        let text = String(
            String.UnicodeScalarView((0..<300).map { _ in scalars[Int.random(in: scalars.indices, using: &random)] }))
        let whole = QuerySemantics.equalityForm(text)
        for limit in [0, 1, 7, 100, whole.count - 1, whole.count] {
            let form = QuerySemantics.equalityForm(text, limit: limit)
            #expect(whole.starts(with: form) && (form.count > limit || form == whole), "seed \(seed), limit \(limit)")
        }
        #expect(whole == QuerySemantics.equalityForm(text.precomposedStringWithCanonicalMapping), "seed \(seed)")
    }

    @Test func `a long run of combining marks is compared in time that grows with its length`() {
        let marks = String(repeating: "\u{301}\u{323}", count: 100_000)
        #expect(QuerySemantics.equalityForm("E" + marks) == QuerySemantics.equalityForm("e" + marks))
        #expect(Tokenizer.tokens(of: "Caf" + "e" + marks) == ["cafe"])
    }

    @Test func `a list is read once for each of its filter's values, another field once`() {
        func comparisons(_ comparator: FilterComparator, _ value: FieldValue) -> Int {
            QueryMatcher([Filter(QueryKey(name: "f"), comparator, value)]).comparisons
        }
        #expect(comparisons(.in, strings("a", "b", "c")) == 1)
        #expect(comparisons(.listContainsAny, strings("a", "b", "c")) == 3)
        #expect(comparisons(.notListContainsAny, strings("a", "b", "c")) == 3)
    }

    @Test func `BEGINSWITH is case-sensitive, and an empty prefix matches every string`() {
        #expect(matches("title", .beginsWith, .string("Dusk")))
        #expect(!matches("title", .beginsWith, .string("dusk")))
        #expect(matches("title", .beginsWith, .string("")))
        #expect(!matches("year", .beginsWith, .string("")))
        #expect(!matches("missing", .beginsWith, .string("")))
        #expect(matches("title", .notBeginsWith, .string("dusk")))
        #expect(matches("tags", .listMemberBeginsWith, .string("bl")))
        #expect(!matches("tags", .listMemberBeginsWith, .string("r")))
        #expect(!matches("none", .listMemberBeginsWith, .string("")))
    }

    @Test func `INT64 and DOUBLE compare as numbers, exactly`() {
        #expect(matches("year", .equals, .double(1931)))
        #expect(matches("year", .lessThan, .double(1931.5)))
        #expect(matches("price", .greaterThan, .int64(12)))
        #expect(!matches("price", .equals, .int64(12)))
        let large = RecordValues(
            recordName: "x", fields: RecordFields([.init(name: "n", field: Field(.int64((1 << 53) + 1)))]))
        #expect(!QueryMatcher([Filter(.field("n"), .equals, .double(0x1p53))]).matches(large))
        #expect(QueryMatcher([Filter(.field("n"), .greaterThan, .double(0x1p53))]).matches(large))
        #expect(QueryMatcher([Filter(.field("n"), .lessThan, .double(1e300))]).matches(large))
        #expect(QueryMatcher([Filter(.field("n"), .greaterThan, .double(-1e300))]).matches(large))
    }

    @Test func `a value of another type never matches, and matches every NOT_ comparator`() {
        for comparator in FilterComparator.allCases {
            let value: FieldValue = comparator.takesList ? .list(of: .bytes, [.bytes([9])]) : .bytes([9])
            #expect(matches("year", comparator, value, distance: 1) == comparator.isNegative, "\(comparator)")
        }
    }

    @Test func `a record without the field matches only the comparators that begin with NOT_`() {
        for comparator in FilterComparator.allCases {
            let value: FieldValue = comparator.takesList ? strings("x") : .string("x")
            #expect(matches("missing", comparator, value, distance: 1) == comparator.isNegative, "\(comparator)")
        }
    }

    @Test func `every comparator's complement matches exactly the other records`() {
        let values: [FieldValue] = [
            .string("Red"), .int64(1), strings("Red", "green"), .list(of: .int64, []), .bytes([1]),
        ]
        for comparator in FilterComparator.allCases {
            guard let complement = comparator.complement else { continue }
            #expect(complement.complement == comparator)
            #expect(complement.isNegative != comparator.isNegative)
            for name in ["title", "year", "tags", "none", "marks", "missing"] {
                for value in values {
                    #expect(matches(name, comparator, value) != matches(name, complement, value))
                }
            }
        }
    }

    @Test func `references compare by name and zone, and the action does not count`() {
        let gallery = ZoneIDDictionary(zoneName: "Gallery")
        #expect(matches("artist", .equals, .reference(ReferenceValue(recordName: "P-1"))))
        #expect(matches("artist", .equals, .reference(ReferenceValue(recordName: "P-1", zoneID: gallery))))
        #expect(!matches("artist", .equals, .reference(ReferenceValue(recordName: "P-1", zoneID: .defaultZone))))
        #expect(!matches("artist", .equals, .reference(ReferenceValue(recordName: "P-2"))))
        #expect(!matches("artist", .equals, .string("P-1")))
        #expect(matches("artist", .in, .list(of: .reference, [.reference(ReferenceValue(recordName: "P-1"))])))
        #expect(matches("___parent", .equals, .reference(ReferenceValue(recordName: "Hall", zoneID: gallery))))
    }

    @Test func `system fields compare, and users by name alone`() {
        #expect(matches("___recordID", .equals, .reference(ReferenceValue(recordName: "A-17"))))
        #expect(matches("___recordID", .equals, .string("A-17")))
        #expect(!matches("___recordID", .equals, .reference(ReferenceValue(recordName: "A-17", zoneID: .defaultZone))))
        #expect(matches("___createTime", .lessThanOrEquals, .timestamp(1000)))
        #expect(!matches("___modTime", .lessThanOrEquals, .timestamp(1000)))
        let anna = ReferenceValue(recordName: "_anna", zoneID: .defaultZone)
        #expect(matches("___createdBy", .equals, .reference(anna)))
        #expect(matches("___modifiedBy", .notEquals, .reference(anna)))
    }

    @Test func `NEAR takes metres, on the great circle`() {
        let granada = FieldValue.location(LocationValue(latitude: 37.1773, longitude: -3.5986))
        #expect(!matches("place", .near, granada, distance: 88_000))
        #expect(matches("place", .near, granada, distance: 90_000))
        let poles = LocationValue(latitude: 90, longitude: 0).distance(to: LocationValue(latitude: -90, longitude: 0))
        #expect((poles - .pi * LocationValue.meanEarthRadius).magnitude < 1)
        let dateLine = LocationValue(latitude: 0, longitude: 179.5).distance(
            to: LocationValue(latitude: 0, longitude: -179.5))
        #expect((dateLine - 111_195).magnitude < 10)
    }

    @Test func `full text ignores case, diacritics and stop words`() {
        #expect(matches("title", .containsAllTokens, .string("MALAGA, dusk")))
        #expect(!matches("title", .containsAllTokens, .string("malaga dawn")))
        #expect(matches("title", .containsAnyTokens, .string("malaga dawn")))
        #expect(!matches("title", .containsAnyTokens, .string("mala")))
        #expect(!matches("title", .containsAnyTokens, .string("the and of")))
        #expect(!matches("title", .containsAllTokens, .string("")))
        let everywhere = Filter(.allSearchableFields, .containsAllTokens, .string("dusk malaga"))
        #expect(QueryMatcher([everywhere]).matches(record))
        // Strings are searched, lists of them are not.
        let inList = Filter(.allSearchableFields, .containsAllTokens, .string("dusk blue"))
        #expect(!QueryMatcher([inList]).matches(record))
    }

    @Test func `list comparators match any or all members, also of an empty list`() {
        #expect(matches("tags", .listContainsAny, strings("green", "BLUE")))
        #expect(!matches("tags", .listContainsAll, strings("green", "blue")))
        #expect(matches("tags", .listContainsAll, strings("red", "blue")))
        #expect(!matches("tags", .listContainsAny, strings()))
        #expect(matches("tags", .listContainsAll, strings()))
        #expect(!matches("missing", .listContainsAll, strings()))
        #expect(!matches("title", .listContains, .string("Dusk over Málaga")))
        #expect(!matches("year", .in, .list(of: .unknown, [])))
        #expect(matches("year", .notIn, .list(of: .unknown, [])))
        #expect(matches("marks", .listContains, .double(2)))
    }
}

@Suite("Tokens")
struct TokenizerTests {
    @Test(arguments: [
        ("", []), ("   ", []), ("Bob Smith", ["bob", "smith"]), ("bob-smith's", ["bob", "smith", "s"]),
        ("the THE The", []), ("x2 2x", ["x2", "2x"]), ("Ünïcode ÇA", ["unicode", "ca"]),
        ("u\u{308}ber", ["uber"]), ("Straße STRASSE", ["strasse"]), ("日本 東京", ["日本", "東京"]),
        ("a b\u{0}c", ["b", "c"]), ("Ελλάς ΕΛΛΑΣ", ["ελλασ"]), ("red,red;RED", ["red"]),
    ])
    func `a text is split into folded tokens without stop words`(_ text: String, _ expected: [String]) {
        #expect(Tokenizer.tokens(of: text) == expected)
    }

    /// Looking through the words found so far for each word would take minutes.
    @Test func `a search through texts of many words counts each word once`() throws {
        let words = (0..<60_000).map { "w\($0)" }
        let texts: [FieldValue] = [
            .string(words.joined(separator: " ")), .string(words.reversed().joined(separator: ",")),
        ]
        #expect(Tokenizer.tokens(of: .list(of: .string, texts)) == words)
        var fields = RecordFields()
        fields["text"] = Field(texts[0])
        fields["other"] = Field(texts[1])
        let record = RecordValues(recordName: "r", fields: fields)
        for (text, all, any) in [("w5 w59999", true, true), ("w5 x", false, true), ("x y", false, false)] {
            let filters = [FilterComparator.containsAllTokens, .containsAnyTokens].map {
                QueryMatcher(.filter(Filter(.allSearchableFields, $0, .string(text))))
            }
            #expect(filters.map { $0.matches(record) } == [all, any])
        }
    }

    @Test func `a long token is truncated at a character boundary, in texts and in searches`() {
        let tokens = Tokenizer.tokens(
            of: String(repeating: "x", count: 1000) + " " + "y" + String(repeating: "я", count: 100))
        #expect(tokens.map(\.utf8.count) == [Tokenizer.longestToken, Tokenizer.longestToken - 1])
    }
}

@Suite("The order of results")
struct SortOrderTests {
    private func record(_ name: String, _ field: FieldValue?) -> RecordValues {
        var fields = RecordFields()
        if let field { fields["f"] = Field(field) }
        return RecordValues(recordName: name, fields: fields)
    }

    private func names(_ records: [RecordValues], _ descriptor: QuerySortDescriptor) -> [String] {
        let order = SortOrder([descriptor])
        return records.sorted { order.precedes($0, $1) }.map(\.recordName)
    }

    @Test func `missing values sort first in ascending order and last in descending order`() {
        let records = [
            record("c", .int64(2)), record("b", nil), record("d", .double(1.5)), record("a", .list(of: .int64, [])),
        ]
        #expect(names(records, QuerySortDescriptor(.field("f"))) == ["a", "b", "d", "c"])
        #expect(names(records, QuerySortDescriptor(.field("f"), ascending: false)) == ["c", "d", "a", "b"])
    }

    @Test func `ties are broken by record name, in UTF-8 order`() {
        let records = ["b", "a", "B", "é", "a2"].map { record($0, .string("same")) }
        #expect(names(records, QuerySortDescriptor(.field("f"), ascending: false)) == ["B", "a", "a2", "b", "é"])
    }

    @Test func `by distance the nearest comes first, and records without a location come last`() {
        let here = LocationValue(latitude: 0, longitude: 0)
        let records = [
            record("none", nil), record("far", .location(LocationValue(latitude: 10, longitude: 0))),
            record("near", .location(LocationValue(latitude: 0, longitude: 1))),
        ]
        #expect(names(records, QuerySortDescriptor(.field("f"), relativeLocation: here)) == ["near", "far", "none"])
    }

    @Test func `the sort order is a total order`() {
        let values: [FieldValue?] = [
            nil, .string("a"), .string("B"), .int64(1), .double(1), .double(-2.5), .timestamp(5), .bytes([1]),
            .reference(ReferenceValue(recordName: "a")), .list(of: .string, []),
            .location(LocationValue(latitude: 1, longitude: 1)),
        ]
        let records = values.enumerated().map { record("r\($0.offset)", $0.element) }
        for ascending in [true, false] {
            let order = SortOrder([QuerySortDescriptor(.field("f"), ascending: ascending)])
            for a in records {
                for b in records {
                    #expect(order.order(a, b).signum() == -order.order(b, a).signum())
                    #expect((order.order(a, b) == 0) == (a.recordName == b.recordName))
                    for c in records where order.precedes(a, b) && order.precedes(b, c) {
                        #expect(order.precedes(a, c))
                    }
                }
            }
        }
    }
}
