import Testing

@testable import NephosServer

/// The system fields of shares (CloudKit Web Services, Record Dictionary).
@Suite struct ShareFieldTests {
    private let cloud = JSONCloud()

    private func share(_ account: String, _ fields: String) async throws -> [String: Any] {
        let (_, tag) = try await cloud.makeList(account)
        return try await cloud.modify(
            account,
            #"{"operationType":"create","record":{"recordName":"share","recordType":"cloudkit.share","forRecord":{"recordName":"root","recordChangeTag":"\#(tag)"},"fields":{\#(fields)}}}"#
        )[0]
    }

    @Test(arguments: [
        #""cloudkit.title":{"value":5}"#, #""cloudkit.type":{"value":["public.list"]}"#,
        #""cloudkit.thumbnailImageData":{"value":"not base64","type":"STRING"}"#,
    ])
    func `the types of share fields are fixed, whichever account saves first`(wrong: String) async throws {
        let refused = try await share("mallory", wrong)
        #expect(refused.text("serverErrorCode") == "BAD_REQUEST")
        let saved = try await share(
            "alice",
            #""cloudkit.title":{"value":"Groceries"},"cloudkit.type":{"value":"public.list"},"cloudkit.thumbnailImageData":{"value":"AAAA"}"#
        )
        #expect(saved.object("fields")?.object("cloudkit.title")?.text("value") == "Groceries")
        #expect(saved.object("fields")?.object("cloudkit.thumbnailImageData")?.text("type") == "BYTES")
    }

    @Test func `share fields fit beside the maximum number of added fields`() async throws {
        let many = (0..<500).map { #""f\#($0)":{"value":1}"# }.joined(separator: ",")
        #expect(try await share("mallory", many).text("serverErrorCode") == nil)
        let saved = try await share("alice", #""cloudkit.title":{"value":"Groceries"}"#)
        #expect(saved.object("fields")?.object("cloudkit.title")?.text("value") == "Groceries")
    }

    @Test(arguments: [false, true])
    func `a share with a root cannot use the name of a zone's share`(rootIsSaved: Bool) async throws {
        let (_, tag) = try await cloud.makeList("alice")
        let share =
            #"{"operationType":"create","record":{"recordName":"cloudkit.zoneshare","recordType":"cloudkit.share","publicPermission":"READ_WRITE","forRecord":{"recordName":"root","recordChangeTag":"\#(tag)"}}}"#
        let root =
            #"{"operationType":"forceUpdate","record":{"recordName":"root","recordType":"List","fields":{"title":{"value":"M"}}}}"#
        let answers =
            try await rootIsSaved
            ? [cloud.modify("alice", root, share), cloud.modify("alice", share, root)] : [cloud.modify("alice", share)]
        for records in answers {
            let refused = try #require(records.first { $0.text("recordName") == "cloudkit.zoneshare" })
            #expect(refused.text("serverErrorCode") == "BAD_REQUEST")
            #expect(refused.text("reason")?.contains("share of a whole zone") == true)
            // Both are saved or neither.
            for record in records { #expect(record.text("serverErrorCode") != nil) }
        }
        let found = try await cloud.post(
            "alice", "private", "records/lookup",
            #"{"zoneID":{"zoneName":"Z"},"records":[{"recordName":"cloudkit.zoneshare"},{"recordName":"root"}]}"#
        ).objects("records")
        #expect(found[0].text("serverErrorCode") == "NOT_FOUND")
        #expect(found[1].object("share") == nil && found[1].text("recordChangeTag") == tag)
        // Without a root it shares the zone.
        let whole = try await cloud.modify(
            "alice",
            #"{"operationType":"create","record":{"recordName":"cloudkit.zoneshare","recordType":"cloudkit.share"}}"#)
        #expect(whole[0].text("serverErrorCode") == nil)
    }
}
