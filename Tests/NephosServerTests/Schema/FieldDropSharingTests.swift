import Testing

@testable import NephosServer

@Suite struct FieldDropSharingTests {
    @Test func `participants of a share are notified of values removed with a dropped field`() async throws {
        let cloud = JSONCloud()
        let (_, tag) = try await cloud.makeList()
        let guid = try #require(try await cloud.share(tag).text("shortGUID"))
        let accepted = try await cloud.post("bob", "public", "records/accept", #"{"shortGUIDs":["\#(guid)"]}"#)
        let owner = try #require(accepted.objects("results")[0].object("zoneID")?.text("ownerRecordName"))
        func changes(_ token: String = "") async throws -> [String: Any] {
            let since = token.isEmpty ? "" : #","syncToken":"\#(token)""#
            return try await cloud.post(
                "bob", "shared", "changes/zone",
                #"{"zones":[{"zoneID":{"zoneName":"Z","ownerRecordName":"\#(owner)"}\#(since)}]}"#
            ).objects("zones")[0]
        }
        let token = try #require(try await changes().text("syncToken"))
        let dropped = await cloud.page(
            .post, "/nephos/\(JSONCloud.container)/schema/drop", body: #"{"recordType":"List","field":"title"}"#)
        #expect(dropped.status == 200, "\(String(decoding: dropped.body, as: UTF8.self))")
        let records = try await changes(token).objects("records")
        #expect(records.map { $0.text("recordName") } == ["root"])
        #expect(records.first?.object("fields")?.isEmpty == true)
    }
}
