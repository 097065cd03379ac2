import NephosWire
import Testing

@testable import NephosService

/// A body of records/query that comes again is not decoded again, and means what it says.
@Suite struct AskedQueriesTests {
    private func body(_ name: String, marker: String? = nil) -> [UInt8] {
        QueryRecordsRequest(
            query: Query(recordType: "Note", filterBy: [Filter(.field("name"), .equals, .string(name))]),
            continuationMarker: marker
        ).encoded()
    }

    @Test("The same bytes are the same query")
    func kept() throws {
        let queries = AskedQueries()
        let asked = try queries.query(decoding: body("a"))
        #expect(try queries.query(decoding: body("a")) === asked)
        #expect(asked.request == (try QueryRecordsRequest(decoding: body("a"))))
        #expect(!asked.isSame(as: try queries.query(decoding: body("b"))))
    }

    @Test("Later pages and long bodies are not kept, and are the same query nevertheless")
    func notKept() throws {
        let queries = AskedQueries()
        let first = try queries.query(decoding: body("a"))
        let second = try queries.query(decoding: body("a", marker: "m"))
        #expect(second.request.continuationMarker == "m")
        #expect(try queries.query(decoding: body("a", marker: "m")) !== second)
        #expect(first.isSame(as: second))
        let long = body(String(repeating: "x", count: 3000))
        let asked = try queries.query(decoding: long)
        #expect(try queries.query(decoding: long) !== asked)
    }

    @Test("A body that is refused is refused each time, and an empty one too")
    func refused() throws {
        let queries = AskedQueries()
        for body in [[], Array("{}".utf8), Array("{".utf8), Array(#"{"query":7}"#.utf8)] {
            for _ in 0..<2 { #expect(throws: WireError.self) { try queries.query(decoding: body) } }
        }
    }

    @Test("Many different bodies displace each other and are not mixed up")
    func many() throws {
        let queries = AskedQueries()
        for round in 0..<2 {
            for index in 0..<10_000 {
                // Bodies of all lengths, alike up to their ends.
                let name = String(repeating: "n", count: index % 40) + "\(index)"
                let asked = try queries.query(decoding: body(name))
                #expect(asked.request == (try QueryRecordsRequest(decoding: body(name))), "\(round) \(index)")
            }
        }
    }
}
