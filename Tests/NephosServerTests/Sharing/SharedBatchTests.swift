import Testing

/// Batches that share, move and delete at once.
@Suite struct SharedBatchTests {
    private let cloud = JSONCloud()

    private func save(
        _ name: String, parent: String? = nil, type: String = "Item", _ operation: String = "forceUpdate",
        _ more: String = ""
    ) -> String {
        let parent = parent.map { #","parent":{"recordName":"\#($0)"}"# } ?? ""
        return
            #"{"operationType":"\#(operation)","record":{"recordName":"\#(name)","recordType":"\#(type)"\#(parent)\#(more)}}"#
    }

    private func share(_ name: String, of root: String, tag: String) -> String {
        #"""
        {"operationType":"create","record":{"recordName":"\#(name)","recordType":"cloudkit.share",
         "forRecord":{"recordName":"\#(root)","recordChangeTag":"\#(tag)"}}}
        """#
    }

    private func tag(_ name: String) async throws -> String {
        let answer = try await cloud.post(
            "alice", "private", "records/lookup",
            #"{"zoneID":{"zoneName":"Z"},"records":[{"recordName":"\#(name)"}]}"#)
        return try #require(answer.objects("records").first?.text("recordChangeTag"))
    }

    @Test func `sharing a root above a shared one is refused, whatever else the batch saves`() async throws {
        _ = try await cloud.makeList()
        _ = try await cloud.modify("alice", save("mid", parent: "root"), save("kid", parent: "mid"))
        _ = try await cloud.modify("alice", share("s0", of: "mid", tag: try await tag("mid")))
        for operations in [[save("mid")], [save("mid"), save("kid", parent: "mid")]] {
            let tag = try await tag("root")
            let answer = try await cloud.post(
                "alice", "private", "records/modify",
                #"{"zoneID":{"zoneName":"Z"},"operations":[\#((operations + [share("s1", of: "root", tag: tag)]).joined(separator: ","))]}"#
            )
            #expect(answer.objects("records").last?["nephosErrorCode"] as? Int == 30)
        }
    }

    @Test func `a batch that deletes a root by cascade does not share it`() async throws {
        _ = try await cloud.makeList()
        let owner = #","fields":{"of":{"value":{"recordName":"o","action":"DELETE_SELF"}}}"#
        _ = try await cloud.modify("alice", save("o"), save("r", "create", owner))
        let records = try await cloud.modify(
            "alice", #"{"operationType":"forceDelete","record":{"recordName":"o"}}"#,
            share("s", of: "r", tag: try await tag("r")))
        #expect(records.allSatisfy { $0.text("serverErrorCode") != nil })
        let found = try await cloud.post(
            "alice", "private", "records/lookup",
            #"{"zoneID":{"zoneName":"Z"},"records":[{"recordName":"s"},{"recordName":"r"}]}"#
        ).objects("records")
        #expect(found[0].text("serverErrorCode") == "NOT_FOUND" && found[1].object("share") == nil)
    }

    @Test func `a record leaves a share under its own type`() async throws {
        let (_, tag) = try await cloud.makeList()
        let owner = try await cloud.join(cloud.share(tag))
        _ = try await cloud.modify("alice", save("item", parent: "root", type: "Note", "forceReplace"))
        let zone = #""zoneID":{"zoneName":"Z","ownerRecordName":"\#(owner)"}"#
        let first = try await cloud.post(
            "bob", "shared", "changes/zone", #"{"zones":[{\#(zone),"desiredRecordTypes":["Note"]}]}"#)
        let token = try #require(first.objects("zones").first?.text("syncToken"))
        #expect(first.objects("zones")[0].objects("records").map { $0.text("recordName") } == ["item"])
        _ = try await cloud.modify(
            "alice",
            #"{"operationType":"forceUpdate","record":{"recordName":"item","recordType":"Note","parent":null}}"#)
        let next = try await cloud.post(
            "bob", "shared", "changes/zone",
            #"{"zones":[{\#(zone),"desiredRecordTypes":["Note"],"syncToken":"\#(token)"}]}"#
        )
        let gone = next.objects("zones")[0].objects("records")
        #expect(gone.map { $0.text("recordName") } == ["item"] && gone.first?.text("recordType") == "Note")
    }
}
