import NephosWire
import Testing

@testable import NephosService

/// The decoded-request cache of `records/query`.
@Suite struct DecodedQueriesTests {
    private func body(_ name: String, marker: String? = nil) -> [UInt8] {
        QueryRecordsRequest(
            query: Query(recordType: "Note", filterBy: [Filter(.field("name"), .equals, .string(name))]),
            continuationMarker: marker
        ).encoded()
    }

    @Test func `a repeated body is not decoded again`() throws {
        let queries = DecodedQueries()
        let decoded = try queries.query(decoding: body("a"))
        #expect(try queries.query(decoding: body("a")) === decoded)
        #expect(decoded.request == (try QueryRecordsRequest(decoding: body("a"))))
        #expect(decoded.text != (try queries.query(decoding: body("b")).text))
    }

    @Test func `later pages and long bodies are not cached, and mean the same query`() throws {
        let queries = DecodedQueries()
        let first = try queries.query(decoding: body("a"))
        let second = try queries.query(decoding: body("a", marker: "m"))
        #expect(second.request.continuationMarker == "m")
        #expect(try queries.query(decoding: body("a", marker: "m")) !== second)
        #expect(first.text == second.text)
        let long = body(String(repeating: "x", count: 30_000))
        let decoded = try queries.query(decoding: long)
        #expect(try queries.query(decoding: long) !== decoded)
    }

    @Test func `a query of the default zone is the same whether a page names the zone or none`() {
        let query = Query(recordType: "Note")
        let text = DecodedQuery(QueryRecordsRequest(query: query)).text
        #expect(DecodedQuery(QueryRecordsRequest(query: query, zoneID: .defaultZone)).text == text)
        #expect(DecodedQuery(QueryRecordsRequest(query: query, zoneID: ZoneIDDictionary(zoneName: "Z"))).text != text)
    }

    @Test func `a refused body is refused each time, and so is an empty one`() throws {
        let queries = DecodedQueries()
        for body in [[], Array("{}".utf8), Array("{".utf8), Array(#"{"query":7}"#.utf8)] {
            for _ in 0..<2 { #expect(throws: WireError.self) { try queries.query(decoding: body) } }
        }
    }

    @Test func `different bodies evict each other and are not mixed up`() throws {
        let queries = DecodedQueries()
        for round in 0..<2 {
            for index in 0..<10_000 {
                // Bodies of all lengths, alike up to their ends.
                let name = String(repeating: "n", count: index % 40) + "\(index)"
                let decoded = try queries.query(decoding: body(name))
                #expect(decoded.request == (try QueryRecordsRequest(decoding: body(name))), "\(round) \(index)")
            }
        }
    }
}
