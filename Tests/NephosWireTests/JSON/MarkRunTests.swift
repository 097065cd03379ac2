import NephosWire
import Testing

/// Runs of combining marks, whose normalisation by `String` takes the square of their length: hours for a request's body. What
/// compares or hashes them by their bytes ends at once.
@Suite(.timeLimit(.minutes(2))) struct MarkRunTests {
    /// Marks of two classes in turn, which normalisation has to sort.
    static func marks(_ count: Int) -> String { "a" + String(repeating: "\u{301}\u{316}", count: count / 2) }

    private let long = Self.marks(2_000_000)

    @Test func `a name has up to 64 marks in a row`() throws {
        func json(_ name: String) -> String { "{\"zones\":[{\"zoneName\":\"\(name)\"}]}" }
        let name = Self.marks(64)
        let request = try LookupZonesRequest(decoding: bytes(json(name)))
        #expect(request.zones[0].zoneName.hasSameBytes(as: name))
        #expect(error(LookupZonesRequest.self, json((0..<10).map { _ in Self.marks(60) }.joined())) == nil)
        let refusal = error(LookupZonesRequest.self, json(Self.marks(66)))
        #expect(refusal?.reason == "expected at most 64 combining marks in a row")
        #expect(refusal?.path.hasSuffix("zoneName") == true)
    }

    @Test func `a long run is refused wherever a name or a short text is`() {
        let operation = "{\"operationType\":\"create\",\"record\":{\"recordType\":\"T\",\"recordName\":\"n\""
        for json in [
            "{\"operations\":[{\"operationType\":\"MARKS\"}]}",
            "{\"operations\":[{\"operationType\":\"create\",\"record\":{\"recordType\":\"MARKS\"}}]}",
            "{\"operations\":[{\"operationType\":\"create\",\"record\":{\"recordName\":\"MARKS\"}}]}",
            "{\"operations\":[\(operation),\"recordChangeTag\":\"MARKS\"}}]}",
            "{\"operations\":[\(operation),\"parent\":{\"recordName\":\"MARKS\"}}}]}",
            "{\"operations\":[\(operation),\"fields\":{\"f\":{\"value\":{\"recordName\":\"MARKS\"}}}}}]}",
            "{\"operations\":[\(operation)}}],\"zoneID\":{\"zoneName\":\"MARKS\"}}",
            "{\"operations\":[\(operation)}}],\"desiredKeys\":[\"MARKS\"]}",
        ] {
            let found = error(ModifyRecordsRequest.self, json.replacing("MARKS", with: long))
            #expect(found?.description.utf8.count ?? .max < 1000, "\(json)")
        }
        for json in [
            "{\"query\":{\"recordType\":\"MARKS\"}}",
            "{\"query\":{\"recordType\":\"T\",\"filterBy\":[{\"fieldName\":\"MARKS\",\"comparator\":\"EQUALS\"}]}}",
            "{\"query\":{\"recordType\":\"T\",\"filterBy\":[{\"fieldName\":\"f\",\"comparator\":\"MARKS\"}]}}",
            "{\"query\":{\"recordType\":\"T\",\"sortBy\":[{\"systemFieldName\":\"MARKS\"}]}}",
        ] {
            #expect(error(QueryRecordsRequest.self, json.replacing("MARKS", with: long)) != nil, "\(json)")
        }
    }

    @Test func `a field's text has any number of marks, and is compared by its bytes`() throws {
        let json = "{\"value\":\"\(long)\",\"type\":\"STRING\"}"
        let (one, other) = (try field(json)?.value, try field(json)?.value)
        #expect(one == .string(long) && one == other && one != .string(long + "b"))
        #expect(Set([one, other]).count == 1)
        #expect(FieldValue.list(of: .string, [.string(long)]) == .list(of: .string, [.string(long)]))
        #expect(Set([ExactString(long), ExactString(long)]).count == 1)
        // Equal to String's ==, and not equal as bytes.
        #expect(FieldValue.string("\u{e9}") != .string("e\u{301}"))
    }

    @Test func `nothing is suggested for a letter with many marks`() {
        #expect(Suggestion.nearest(to: long, among: ["a", "b"]) == nil)
        #expect(Suggestion.nearest(to: "Nots", among: ["a", "Notes", long]) == "Notes")
    }
}
