import Foundation
import Testing

@testable import NephosServer

/// Participants, former participants and strangers learn nothing of a share beyond its shared records.
@Suite struct HiddenNamesTests {
    private let cloud = JSONCloud()

    private func invitation(_ account: String, _ more: String) -> String {
        #"{"userIdentity":{"lookupInfo":{"emailAddress":"\#(account)@localhost"}},\#(more)}"#
    }

    /// - Returns: the zone as participants name it, and the share's short GUID.
    private func share(_ participants: String, _ more: String = "") async throws -> (zone: String, guid: String) {
        let (_, tag) = try await cloud.makeList()
        let share = try await cloud.share(tag, #""participants":[\#(participants)]\#(more)"#)
        let owner = try #require(share.object("owner")?.object("userIdentity")?.text("userRecordName"))
        return (#"{"zoneName":"Z","ownerRecordName":"\#(owner)"}"#, try #require(share.text("shortGUID")))
    }

    private func accept(_ guid: String, _ account: String) async throws {
        let joined = try await cloud.post(account, "public", "records/accept", #"{"shortGUIDs":["\#(guid)"]}"#)
        #expect(joined.objects("results")[0].text("participantStatus") == "ACCEPTED")
    }

    @Test(arguments: [
        ("READ_ONLY", #""operationType":"create""#, #","parent":{"recordName":"root"}"#),
        ("READ_ONLY", #""operationType":"forceUpdate""#, #","parent":{"recordName":"root"}"#),
        ("READ_WRITE", #""operationType":"create""#, ""),
        ("READ_WRITE", #""operationType":"forceReplace""#, ""),
        ("READ_WRITE", #""operationType":"forceUpdate""#, #","parent":{"recordName":"elsewhere"}"#),
    ])
    func `a refused save does not reveal that its name is taken`(
        permission: String, operation: String, parent: String
    ) async throws {
        let (zone, guid) = try await share(invitation("bob", #""permission":"\#(permission)""#))
        try await accept(guid, "bob")
        var answers: [String] = []
        for name in ["other", "nothing"] {
            let answer = try await cloud.modify(
                "bob", in: "shared", zone: zone,
                #"{\#(operation),"record":{"recordName":"\#(name)","recordType":"Item"\#(parent),"fields":{}}}"#)[0]
            answers.append(
                "\(answer.text("serverErrorCode") ?? "saved") \(answer.text("reason") ?? "")"
                    .replacing("'\(name)'", with: "-"))
        }
        #expect(answers[0] == answers[1] && !answers[0].hasPrefix("saved"))
    }

    @Test(arguments: ["EQUALS", "IN", "NOT_EQUALS"])
    func `a condition on parents finds no root`(comparator: String) async throws {
        let (zone, guid) = try await share(invitation("bob", #""permission":"READ_ONLY""#))
        try await accept(guid, "bob")
        let moved = try await cloud.modify(
            "alice",
            #"{"operationType":"forceUpdate","record":{"recordName":"root","recordType":"List","parent":{"recordName":"other"}}}"#
        )[0]
        #expect(moved.text("serverErrorCode") == nil)
        var found: [[String?]] = []
        for parent in ["other", "nothing"] {
            let reference = #"{"recordName":"\#(parent)"}"#
            let value = comparator == "IN" ? "[\(reference)]" : reference
            let filter =
                #"{"systemFieldName":"___parent","comparator":"\#(comparator)","fieldValue":{"value":\#(value)}}"#
            let answer = try await cloud.post(
                "bob", "shared", "records/query",
                #"{"zoneID":\#(zone),"query":{"recordType":"List","filterBy":[\#(filter)]}}"#)
            found.append(answer.objects("records").map { $0.text("recordName") })
        }
        #expect(found[0] == found[1])
        let own = try await cloud.post(
            "alice", "private", "records/query",
            #"{"zoneID":{"zoneName":"Z"},"query":{"recordType":"List","filterBy":[{"systemFieldName":"___parent","comparator":"EQUALS","fieldValue":{"value":{"recordName":"other"}}}]}}"#
        )
        #expect(own.objects("records").map { $0.text("recordName") } == ["root"])
    }

    @Test func `an administrator without permission sees no addresses`() async throws {
        let (_, guid) = try await share(
            [
                invitation("admin", #""permission":"READ_ONLY","type":"ADMINISTRATOR""#),
                invitation("later", #""permission":"READ_ONLY""#),
            ].joined(separator: ","))
        try await accept(guid, "admin")
        func seen() async throws -> String {
            let answer = try await cloud.post("admin", "public", "records/resolve", #"{"shortGUIDs":["\#(guid)"]}"#)
            return String(decoding: try JSONSerialization.data(withJSONObject: answer), as: UTF8.self)
        }
        #expect(try await seen().contains("later@localhost"))
        let current = try await cloud.post(
            "alice", "private", "records/lookup", #"{"zoneID":{"zoneName":"Z"},"records":[{"recordName":"share"}]}"#
        ).objects("records")[0]
        let participants = [
            invitation("admin", #""permission":"NONE","type":"ADMINISTRATOR""#),
            invitation("later", #""permission":"READ_ONLY""#),
        ]
        let saved = try await cloud.modify(
            "alice",
            #"{"operationType":"update","record":{"recordName":"share","recordChangeTag":"\#(try #require(current.text("recordChangeTag")))","participants":[\#(participants.joined(separator: ","))]}}"#
        )[0]
        #expect(saved.text("serverErrorCode") == nil)
        #expect(try await !seen().contains("later@localhost"))
    }

    @Test func `a NUL in a short GUID is an unknown share, and the other items succeed`() async throws {
        let (_, guid) = try await share("", #","publicPermission":"READ_ONLY""#)
        for broken in [guid.prefix(3) + #"\u0000"#, #"\u0000"#] as [Substring] {
            for action in ["resolve", "accept", "requestAccess"] {
                let answer = try await cloud.post(
                    "bob", "public", "records/\(action)", #"{"shortGUIDs":["\#(broken)","\#(guid)"]}"#)
                if action != "requestAccess" { #expect(answer.objects("results").count == 2, "\(action)") }
            }
        }
        #expect(await cloud.page(.get, "/share/\(guid.prefix(3))%00?account=bob").status == 404)
    }

    @Test func `the page does not show the owner's address`() async throws {
        let owner = "al@example.org"
        let (_, tag) = try await cloud.makeList(owner)
        let share = try await cloud.modify(
            owner,
            #"{"operationType":"create","record":{"recordName":"share","recordType":"cloudkit.share","forRecord":{"recordName":"root","recordChangeTag":"\#(tag)"},"publicPermission":"READ_ONLY"}}"#
        )[0]
        let page = await cloud.page(.get, "/share/\(try #require(share.text("shortGUID")))?account=carol")
        #expect(page.status == 200 && !String(decoding: page.body, as: UTF8.self).contains(owner))
    }

    @Test func `a participant's reference does not prevent the owner from ending the share`() async throws {
        let (zone, guid) = try await share(invitation("bob", #""permission":"READ_WRITE""#))
        try await accept(guid, "bob")
        let holder = try await cloud.modify(
            "bob", in: "shared", zone: zone,
            #"{"operationType":"create","record":{"recordName":"holder","recordType":"Item","parent":{"recordName":"root"},"fields":{"r":{"value":{"recordName":"share","action":"VALIDATE"}}}}}"#
        )[0]
        #expect(holder.text("serverErrorCode") == nil)
        let ended = try await cloud.modify(
            "alice", #"{"operationType":"forceDelete","record":{"recordName":"share"}}"#)[0]
        #expect(ended["deleted"] as? Bool == true)
        #expect(try await cloud.post("bob", "shared", "zones/list", "{}").objects("zones").isEmpty)
    }

    @Test func `messages between devices are bounded, including answered ones`() async throws {
        let half = String(repeating: "r", count: 512)
        let text = Data(half.utf8).base64EncodedString()
        for number in 0..<(2 * 100 + 5) as Range<UInt8> {
            let id = Data([UInt8](repeating: number, count: 16)).base64EncodedString()
            try await cloud.post(
                "eve", "private", "keys/enroll",
                #"{"position":0,"entry":"","message":{"id":"\#(id)","request":"\#(text)","reply":"\#(text)"}}"#)
        }
        let kept = try await cloud.post("eve", "private", "keys/account", "{}").objects("messages")
        #expect((1...100).contains(kept.count))
    }
}
