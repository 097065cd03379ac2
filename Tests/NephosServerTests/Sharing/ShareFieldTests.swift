import Testing

@testable import NephosServer

/// The fields of shares that are the system's (CloudKit Web Services, Record Dictionary).
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
    func `Their types are fixed, whoever saves them first`(wrong: String) async throws {
        let refused = try await share("mallory", wrong)
        #expect(refused.text("serverErrorCode") == "BAD_REQUEST")
        let saved = try await share(
            "alice",
            #""cloudkit.title":{"value":"Groceries"},"cloudkit.type":{"value":"public.list"},"cloudkit.thumbnailImageData":{"value":"AAAA"}"#
        )
        #expect(saved.object("fields")?.object("cloudkit.title")?.text("value") == "Groceries")
        #expect(saved.object("fields")?.object("cloudkit.thumbnailImageData")?.text("type") == "BYTES")
    }

    @Test func `They find room beside as many fields as saves may add`() async throws {
        let many = (0..<500).map { #""f\#($0)":{"value":1}"# }.joined(separator: ",")
        #expect(try await share("mallory", many).text("serverErrorCode") == nil)
        let saved = try await share("alice", #""cloudkit.title":{"value":"Groceries"}"#)
        #expect(saved.object("fields")?.object("cloudkit.title")?.text("value") == "Groceries")
    }
}
