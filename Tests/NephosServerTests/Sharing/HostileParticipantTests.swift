import Foundation
import Testing

@testable import NephosServer

/// A malicious participant: an unshared record answers as a missing one, word for word, and fields that only the service
/// sets are never accepted from a client.
@Suite struct HostileParticipantTests {
    private let cloud = JSONCloud()

    private struct Joined {
        var zone: String
        var owner: String
        var guid: String
        var shareTag: String
        var rootTag: String
    }

    /// Bob takes part in the share of `root`, and may write; `other` and the zone `Secret` are not shared.
    private func join(permission: String = "READ_WRITE") async throws -> Joined {
        let (_, tag) = try await cloud.makeList()
        try await cloud.post(
            "alice", "private", "zones/modify",
            #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Secret"}}}]}"#)
        _ = try await cloud.modify(
            "alice", zone: #"{"zoneName":"Secret"}"#,
            #"{"operationType":"create","record":{"recordName":"other","recordType":"Item","fields":{}}}"#)
        let share = try await cloud.share(
            tag,
            #""participants":[{"userIdentity":{"lookupInfo":{"emailAddress":"bob@localhost"}},"permission":"\#(permission)"}]"#
        )
        let guid = try #require(share.text("shortGUID"))
        let accepted = try await cloud.post("bob", "public", "records/accept", #"{"shortGUIDs":["\#(guid)"]}"#)
            .objects("results")[0]
        let owner = try #require(accepted.object("zoneID")?.text("ownerRecordName"))
        let root = try await cloud.post(
            "alice", "private", "records/lookup", #"{"zoneID":{"zoneName":"Z"},"records":[{"recordName":"root"}]}"#
        ).objects("records")[0]
        return Joined(
            zone: #"{"zoneName":"Z","ownerRecordName":"\#(owner)"}"#, owner: owner, guid: guid,
            shareTag: try #require(accepted.object("share")?.text("recordChangeTag")),
            rootTag: try #require(root.text("recordChangeTag")))
    }

    /// The answer without what differs in any two, and with one name for what was asked about.
    private func ask(_ action: String, _ body: String, named name: String) async throws -> String {
        let response = await cloud.page(
            .post, "/database/\(JSONCloud.container)/shared/\(action)?ckAPIToken=any&ckWebAuthToken=dev:bob",
            body: body.replacingOccurrences(of: "<name>", with: name))
        return "\(response.status) "
            + String(decoding: response.body, as: UTF8.self)
            .replacing(/"uuid":"[^"]*"/, with: "").replacing(/"syncToken":"[^"]*"/, with: "")
            .replacingOccurrences(of: name, with: "<name>")
    }

    @Test(arguments: [
        #"{"operationType":"update","record":{"recordName":"<name>","recordType":"Item","recordChangeTag":"1","fields":{}}}"#,
        #"{"operationType":"replace","record":{"recordName":"<name>","recordType":"Item","recordChangeTag":"1","fields":{}}}"#,
        #"{"operationType":"delete","record":{"recordName":"<name>","recordChangeTag":"1"}}"#,
        #"{"operationType":"forceDelete","record":{"recordName":"<name>"}}"#,
        #"{"operationType":"create","record":{"recordName":"new","recordType":"Item","parent":{"recordName":"<name>"},"fields":{}}}"#,
        #"{"operationType":"forceUpdate","record":{"recordName":"item","recordType":"Item","parent":{"recordName":"<name>"}}}"#,
        #"{"operationType":"forceUpdate","record":{"recordName":"root","recordType":"List","parent":{"recordName":"<name>"}}}"#,
        #"{"operationType":"forceUpdate","record":{"recordName":"item","recordType":"Item","fields":{"r":{"value":{"recordName":"<name>","action":"DELETE_SELF"}}}}}"#,
        #"{"operationType":"forceUpdate","record":{"recordName":"item","recordType":"Item","fields":{"r":{"value":{"recordName":"<name>","action":"VALIDATE"}}}}}"#,
        #"{"operationType":"create","record":{"recordName":"mine","recordType":"cloudkit.share","forRecord":{"recordName":"<name>","recordChangeTag":"1"}}}"#,
    ])
    func `an operation on an unshared record answers as one on a missing record`(_ operation: String) async throws {
        let joined = try await join()
        let body = #"{"zoneID":\#(joined.zone),"operations":[\#(operation)]}"#
        let before = try await ownersState()
        let other = try await ask("records/modify", body, named: "other")
        let middle = try await ownersState()
        #expect(before == middle || operation.contains(#""NONE""#))
        let nothing = try await ask("records/modify", body, named: "nothing")
        #expect(other == nothing)
    }

    /// Everything that the owner has, with tags.
    private func ownersState() async throws -> [String] {
        var state: [String] = []
        for zone in ["Z", "Secret"] {
            let records = try await cloud.post(
                "alice", "private", "changes/zone", #"{"zones":[{"zoneID":{"zoneName":"\#(zone)"}}]}"#
            ).objects("zones")[0].objects("records")
            state += records.map {
                "\($0.text("recordName") ?? "") \($0.text("recordChangeTag") ?? "") \($0["deleted"] ?? "")"
            }
        }
        return state
    }

    @Test(arguments: ["create", "forceUpdate", "forceReplace"])
    func `a taken name is refused without the record`(_ operationType: String) async throws {
        let joined = try await join()
        let before = try await ownersState()
        let answer = try await ask(
            "records/modify",
            #"{"zoneID":\#(joined.zone),"nephosServerRecord":true,"operations":[{"operationType":"\#(operationType)","record":{"recordName":"other","recordType":"Item","parent":{"recordName":"root"},"fields":{}}}]}"#,
            named: "-")
        #expect(answer.contains("serverErrorCode"))
        #expect(!answer.contains("recordChangeTag") && !answer.contains("\"created\""))
        #expect(try await ownersState() == before)
    }

    @Test func `reads of unshared records answer as reads of missing records`() async throws {
        let joined = try await join()
        for (action, body, names) in [
            (
                "records/lookup", #"{"zoneID":\#(joined.zone),"records":[{"recordName":"<name>"}]}"#,
                ("other", "nothing")
            ),
            (
                "records/query",
                #"{"zoneID":\#(joined.zone),"query":{"recordType":"Item","filterBy":[{"systemFieldName":"recordName","comparator":"EQUALS","fieldValue":{"value":{"recordName":"<name>"}}}]}}"#,
                ("other", "nothing")
            ),
            (
                "zones/lookup", #"{"zones":[{"zoneName":"<name>","ownerRecordName":"\#(joined.owner)"}]}"#,
                ("Secret", "Nothing")
            ),
            (
                "records/lookup",
                #"{"zoneID":{"zoneName":"<name>","ownerRecordName":"\#(joined.owner)"},"records":[{"recordName":"other"}]}"#,
                ("Secret", "Nothing")
            ),
            (
                "records/modify",
                #"{"zoneID":{"zoneName":"<name>","ownerRecordName":"\#(joined.owner)"},"operations":[{"operationType":"forceDelete","record":{"recordName":"other"}}]}"#,
                ("Secret", "Nothing")
            ),
            (
                "changes/zone",
                #"{"zones":[{"zoneID":{"zoneName":"<name>","ownerRecordName":"\#(joined.owner)"}}]}"#,
                ("Secret", "Nothing")
            ),
            (
                "records/query",
                #"{"zoneID":{"zoneName":"<name>","ownerRecordName":"\#(joined.owner)"},"query":{"recordType":"Item"}}"#,
                ("Secret", "Nothing")
            ),
            (
                "zones/modify",
                #"{"operations":[{"operationType":"delete","zone":{"zoneID":{"zoneName":"<name>","ownerRecordName":"\#(joined.owner)"}}}]}"#,
                ("Secret", "Nothing")
            ),
        ] {
            let (hidden, nothing) = (
                try await ask(action, body, named: names.0), try await ask(action, body, named: names.1)
            )
            #expect(hidden == nothing, "\(action)")
        }
        // The zone itself in the private database of another account does not exist.
        let own = try await cloud.post(
            "bob", "private", "records/lookup", #"{"zoneID":\#(joined.zone),"records":[{"recordName":"root"}]}"#,
            status: 404)
        #expect(own.text("serverErrorCode") == "ZONE_NOT_FOUND")
    }

    @Test func `a permission of none and a removal invalidate tokens and cursors`() async throws {
        let joined = try await join()
        let feed = try await cloud.post("bob", "shared", "changes/zone", #"{"zones":[{"zoneID":\#(joined.zone)}]}"#)
        let token = try #require(feed.objects("zones")[0].text("syncToken"))
        let query = #"{"zoneID":\#(joined.zone),"query":{"recordType":"Item"},"resultsLimit":1"#
        _ = try await cloud.modify(
            "alice",
            #"{"operationType":"create","record":{"recordName":"item2","recordType":"Item","parent":{"recordName":"root"},"fields":{}}}"#
        )
        let first = try await cloud.post("bob", "shared", "records/query", query + "}")
        let cursor = try #require(first.text("continuationMarker"))
        for permission in ["NONE", nil] {
            let lookup = try await cloud.post(
                "alice", "private", "records/lookup",
                #"{"zoneID":{"zoneName":"Z"},"records":[{"recordName":"share"}]}"#
            ).objects("records")[0]
            let tag = try #require(lookup.text("recordChangeTag"))
            let participants =
                permission.map {
                    #"[{"userIdentity":{"lookupInfo":{"emailAddress":"bob@localhost"}},"permission":"\#($0)"}]"#
                } ?? "[]"
            let saved = try await cloud.modify(
                "alice",
                #"{"operationType":"update","record":{"recordName":"share","recordChangeTag":"\#(tag)","participants":\#(participants)}}"#
            )[0]
            #expect(saved.text("serverErrorCode") == nil)
            let after = try await cloud.post(
                "bob", "shared", "changes/zone", #"{"zones":[{"zoneID":\#(joined.zone),"syncToken":"\#(token)"}]}"#)
            #expect(after.objects("zones")[0].text("serverErrorCode") == "ZONE_NOT_FOUND")
            let page = await cloud.page(
                .post, "/database/\(JSONCloud.container)/shared/records/query?ckAPIToken=any&ckWebAuthToken=dev:bob",
                body: query + #","continuationMarker":"\#(cursor)"}"#)
            #expect(String(decoding: page.body, as: UTF8.self).contains("ZONE_NOT_FOUND"))
            #expect(try await cloud.post("bob", "shared", "zones/list", "{}").objects("zones").isEmpty)
        }
        // Another account's token and cursor are refused.
        _ = try await cloud.post("carol", "private", "zones/list", "{}")
    }

    @Test func `access requests have one answer, and a blocked account gets no further`() async throws {
        let joined = try await join()
        func request(_ guid: String, _ account: String = "eve") async throws -> String {
            let response = await cloud.page(
                .post,
                "/database/\(JSONCloud.container)/public/records/requestAccess?ckAPIToken=any&ckWebAuthToken=dev:\(account)",
                body: #"{"shortGUIDs":["\#(guid)"]}"#)
            return "\(response.status) "
                + String(decoding: response.body, as: UTF8.self).replacing(/"uuid":"[^"]*"/, with: "")
                .replacingOccurrences(of: guid, with: "<guid>")
        }
        let unknown = String(joined.guid.reversed())
        // Not allowed by the owner, allowed, asked twice: the same as nothing.
        let nothing = try await request(unknown)
        #expect(try await request(joined.guid) == nothing)
        func owners() async throws -> [String: Any] {
            try await cloud.post(
                "alice", "private", "records/lookup",
                #"{"zoneID":{"zoneName":"Z"},"records":[{"recordName":"share"}]}"#
            ).objects("records")[0]
        }
        #expect(try await owners().objects("requesters").isEmpty)
        func update(_ members: String) async throws {
            let tag = try #require(try await owners().text("recordChangeTag"))
            let saved = try await cloud.modify(
                "alice",
                #"{"operationType":"update","record":{"recordName":"share","recordChangeTag":"\#(tag)",\#(members)}}"#)[
                    0]
            #expect(saved.text("serverErrorCode") == nil)
        }
        try await update(#""denyAccessRequests":false"#)
        #expect(try await request(joined.guid) == nothing)
        #expect(try await request(joined.guid) == nothing)
        let requesters = try await owners().objects("requesters")
        #expect(requesters.count == 1)
        let eve = try #require(requesters[0].text("userRecordName"))
        try await update(#""requesters":[],"blocked":[{"userRecordName":"\#(eve)"}]"#)
        #expect(try await request(joined.guid) == nothing)
        #expect(try await owners().objects("requesters").isEmpty)
        #expect(try await owners().objects("blocked").count == 1)
        // A public share is not for the blocked either.
        try await update(#""publicPermission":"READ_ONLY""#)
        let resolved = try await cloud.post(
            "eve", "public", "records/resolve", #"{"shortGUIDs":["\#(joined.guid)"]}"#
        ).objects("results")[0]
        #expect(resolved.text("serverErrorCode") == "NOT_FOUND")
        let accepted = try await cloud.post(
            "eve", "public", "records/accept", #"{"shortGUIDs":["\#(joined.guid)"]}"#
        ).objects("results")[0]
        #expect(accepted.text("serverErrorCode") == "NOT_FOUND")
        #expect(try await cloud.post("eve", "shared", "zones/list", "{}").objects("zones").isEmpty)
    }
}
