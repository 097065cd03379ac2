import Testing

/// Counts and explanations of queries in a shared zone.
@Suite struct SharedQueryTests {
    @Test(arguments: [
        #""query":{"recordType":"Item"}"#,
        #""query":{"recordType":"Item","filterBy":[{"fieldName":"pin","comparator":"EQUALS","fieldValue":{"value":7391}}]}"#,
    ])
    func `a count and an explanation cover shared records only`(query: String) async throws {
        let cloud = JSONCloud()
        let (_, tag) = try await cloud.makeList()
        let pins = (0..<20).map {
            #"{"operationType":"create","record":{"recordName":"pin\#($0)","recordType":"Item","fields":{"pin":{"value":7391}}}}"#
        }
        for pin in pins { _ = try await cloud.modify("alice", pin) }
        let owner = try await cloud.join(cloud.share(tag))
        let shared = query.contains("filterBy") ? 0 : 1
        for ask in [#""nephosCount":true"#, #""nephosCount":true,"nephosExplain":true"#, #""nephosExplain":true"#] {
            let answer = try await cloud.post(
                "bob", "shared", "records/query",
                #"{"zoneID":{"zoneName":"Z","ownerRecordName":"\#(owner)"},\#(ask),\#(query)}"#)
            if ask.contains("Count") { #expect(answer["count"] as? Int == shared) }
            if let explanation = answer.object("explain") {
                #expect(explanation["entriesRead"] as? Int ?? 0 <= 1 && explanation["recordsRead"] as? Int ?? 0 <= 1)
            } else {
                #expect(!ask.contains("Explain"), "\(answer.keys)")
            }
        }
    }
}
