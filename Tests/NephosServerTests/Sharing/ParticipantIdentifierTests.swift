import Foundation
import Testing

/// The identifiers that clients choose for participants: the service keeps them, as far as they take nothing from others.
@Suite struct ParticipantIdentifierTests {
    private let cloud = JSONCloud()
    private static let id = "7D0B2C7E-3B1D-4F0A-9B53-2F2E3F0D9A11"

    private func participant(_ name: String, _ id: String?) -> String {
        let chosen = id.map { #""participantId":"\#($0)","# } ?? ""
        return
            #"{\#(chosen)"userIdentity":{"lookupInfo":{"emailAddress":"\#(name)@localhost"}},"permission":"READ_ONLY"}"#
    }

    private func share(_ tag: String, _ participants: String...) async throws -> [String: Any] {
        try await cloud.share(
            tag, #""publicPermission":"NONE","participants":[\#(participants.joined(separator: ","))]"#)
    }

    private func update(_ share: [String: Any], _ participants: String...) async throws -> [String: Any] {
        let tag = try #require(share.text("recordChangeTag"))
        return try await cloud.modify(
            "alice",
            #"{"operationType":"update","record":{"recordName":"share","recordType":"cloudkit.share","recordChangeTag":"\#(tag)","fields":{},"participants":[\#(participants.joined(separator: ","))]}}"#
        )[0]
    }

    /// The invited participants, as an identifier each, by the name in their address.
    private func invited(_ share: [String: Any]) -> [String: String] {
        var ids: [String: String] = [:]
        for participant in share.objects("participants") where participant.text("type") != "OWNER" {
            let address = participant.object("userIdentity")?.object("lookupInfo")?.text("emailAddress") ?? ""
            ids[String(address.prefix { $0 != "@" })] = participant.text("participantId")
        }
        return ids
    }

    @Test func `a new participant keeps an identifier that is free`() async throws {
        let made = try await share(try await cloud.makeList().tag, participant("bob", Self.id))
        #expect(invited(made) == ["bob": Self.id])
        let other = "00000000-0000-0000-0000-00000000000a"
        let changed = try await update(made, participant("bob", Self.id), participant("carol", other))
        #expect(invited(changed) == ["bob": Self.id, "carol": other])
    }

    @Test(arguments: [
        "owner-1", "", "bob", id + "0", String(repeating: "x", count: 36), String(repeating: "7", count: 300),
        "7D0B2C7E-3B1D-4F0A-9B53-2F2E3F0D9A1\u{e9}", "7D0B2C7E 3B1D-4F0A-9B53-2F2E3F0D9A11",
    ])
    func `an identifier that is no UUID is replaced`(_ id: String) async throws {
        let made = try await share(try await cloud.makeList().tag, participant("bob", id))
        let given = try #require(invited(made)["bob"])
        #expect(given != id && UUID(uuidString: given) != nil)
    }

    @Test func `an identifier that a save repeats goes to the first who is added`() async throws {
        let made = try await share(
            try await cloud.makeList().tag, participant("bob", Self.id), participant("carol", Self.id))
        let ids = invited(made)
        #expect(ids.count == 2 && ids["bob"] == Self.id && ids["carol"] != Self.id)
    }

    @Test func `the identifier of a participant does not pass to another`() async throws {
        let made = try await share(try await cloud.makeList().tag, participant("bob", Self.id))
        // Beside and in place of its participant.
        let beside = try await update(made, participant("bob", nil), participant("carol", Self.id))
        #expect(invited(beside) == ["bob": Self.id])
        let instead = try await update(beside, participant("carol", Self.id))
        #expect(invited(instead) == ["bob": Self.id])
    }

    @Test(arguments: ["removed", "left", "share deleted"])
    func `the identifier of a former participant is not given again`(way: String) async throws {
        let tag = try await cloud.makeList().tag
        var made = try await share(tag, participant("bob", Self.id))
        var answer: [String: Any]
        switch way {
        case "removed":
            made = try await update(made)
            #expect(invited(made).isEmpty)
            answer = try await update(made, participant("carol", Self.id))
        case "left":
            let guid = try #require(made.text("shortGUID"))
            let accepted = try await cloud.post("bob", "public", "records/accept", #"{"shortGUIDs":["\#(guid)"]}"#)
            let zoneID = try #require(accepted.objects("results")[0].object("zoneID"))
            let zone = #"{"zoneName":"Z","ownerRecordName":"\#(try #require(zoneID.text("ownerRecordName")))"}"#
            let left = try await cloud.modify(
                "bob", in: "shared", zone: zone, #"{"operationType":"forceDelete","record":{"recordName":"share"}}"#)
            #expect(left[0]["deleted"] as? Bool == true)
            made = try await cloud.post(
                "alice", "private", "records/lookup",
                #"{"zoneID":{"zoneName":"Z"},"records":[{"recordName":"share"}]}"#
            ).objects("records")[0]
            #expect(invited(made).isEmpty)
            answer = try await update(made, participant("carol", Self.id))
        default:
            let deleted = try await cloud.modify(
                "alice", #"{"operationType":"forceDelete","record":{"recordName":"share"}}"#)
            #expect(deleted[0]["deleted"] as? Bool == true)
            let root = try await cloud.post(
                "alice", "private", "records/lookup",
                #"{"zoneID":{"zoneName":"Z"},"records":[{"recordName":"root"}]}"#
            ).objects("records")[0]
            answer = try await share(
                try #require(root.text("recordChangeTag")), participant("carol", Self.id.lowercased()))
        }
        let given = try #require(invited(answer)["carol"])
        #expect(given.uppercased() != Self.id)
        // Its former owner gets another one, too.
        let again = try await update(answer, participant("carol", given), participant("bob", Self.id))
        #expect(invited(again).count == 2 && invited(again)["bob"] != Self.id)
    }

    @Test func `a share whose participants left too often gives identifiers itself`() async throws {
        var made = try await share(try await cloud.makeList().tag)
        for round in 0..<6 {
            // Participants with one-time URLs, as look-ups of addresses are limited.
            let list = (0..<100).map {
                #"{"participantId":"00000000-0000-0000-\#(1000 + round)-00000000\#(1000 + $0)","nephosOneTimeGUID":"","userIdentity":{}}"#
            }
            made = try await update(made, list.joined(separator: ","))
            let ids = made.objects("participants").compactMap { $0.text("participantId") }
            #expect(ids.count == 101 && ids.count { $0.hasPrefix("00000000-") } == (round < 5 ? 100 : 0))
            made = try await update(made)
        }
    }
}
