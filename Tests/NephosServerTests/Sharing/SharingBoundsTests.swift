import Foundation
import NephosSQLite
import NephosService
import Synchronization
import Testing

@testable import NephosServer

/// The limits of a share, and secrets that no answer and no log contains.
@Suite struct SharingBoundsTests {
    /// All in one minute.
    private static var environment: ServiceEnvironment {
        var environment = ServiceEnvironment.system
        environment.now = { 1_700_000_040_000 }
        return environment
    }

    private func owners(_ cloud: JSONCloud) async throws -> [String: Any] {
        try await cloud.post(
            "alice", "private", "records/lookup", #"{"zoneID":{"zoneName":"Z"},"records":[{"recordName":"share"}]}"#
        ).objects("records")[0]
    }

    private func update(_ cloud: JSONCloud, _ members: String) async throws -> [String: Any] {
        let tag = try #require(try await owners(cloud).text("recordChangeTag"))
        return try await cloud.modify(
            "alice",
            #"{"operationType":"update","record":{"recordName":"share","recordChangeTag":"\#(tag)",\#(members)}}"#)[0]
    }

    private func invitations(_ addresses: [String]) -> String {
        let participants = addresses.map { #"{"userIdentity":{"lookupInfo":{"emailAddress":"\#($0)"}}}"# }
        return #""participants":[\#(participants.joined(separator: ","))]"#
    }

    @Test func `a share holds 100 access requests and 100 blocked accounts, and answers the same beyond`() async throws
    {
        let cloud = JSONCloud()
        let guid = try #require(try await cloud.share(try await cloud.makeList().tag).text("shortGUID"))
        #expect(try await update(cloud, #""denyAccessRequests":false"#).text("serverErrorCode") == nil)
        func request(_ account: String) async throws -> String {
            let body = #"{"shortGUIDs":["\#(guid)"]}"#
            let answer = try await cloud.post(account, "public", "records/requestAccess", body)
            return String(decoding: try JSONSerialization.data(withJSONObject: answer), as: UTF8.self)
        }
        for block in [[], (0..<100).map { "r\($0)" }] as [[String]] {
            // Who is blocked is known by its name from the request that it made.
            if !block.isEmpty {
                let names = try await owners(cloud).objects("requesters").compactMap { $0.text("userRecordName") }
                let blocked = names.map { #"{"userRecordName":"\#($0)"}"# }.joined(separator: ",")
                let saved = try await update(cloud, #""requesters":[],"blocked":[\#(blocked)]"#)
                #expect(saved.objects("blocked").count == 100 && saved.objects("requesters").isEmpty)
            }
            let start = block.count
            var answers: Set<String> = []
            for number in start..<start + 103 { answers.insert(try await request("r\(number)")) }
            #expect(answers.count == 1)
            #expect(try await owners(cloud).objects("requesters").count == 100)
        }
        // A block that would have no effect is refused.
        let one = try #require(try await owners(cloud).objects("requesters").first?.text("userRecordName"))
        let all = try await owners(cloud).objects("blocked").compactMap { $0.text("userRecordName") } + [one]
        let list = all.map { #"{"userRecordName":"\#($0)"}"# }.joined(separator: ",")
        let refused = try await update(cloud, #""blocked":[\#(list)]"#)
        #expect(refused["nephosErrorCode"] as? Int == 27 && refused.text("reason")?.contains("unblock") == true)
        #expect(try await owners(cloud).objects("requesters").count == 100)
    }

    @Test func `a blocked account that is invited later learns nothing by asking`() async throws {
        let cloud = JSONCloud()
        let guid = try #require(try await cloud.share(try await cloud.makeList().tag).text("shortGUID"))
        _ = try await update(cloud, #""denyAccessRequests":false"#)
        func ask() async throws -> [String: Any] {
            try await cloud.post("eve", "public", "records/requestAccess", #"{"shortGUIDs":["\#(guid)"]}"#)
        }
        let first = try await ask()
        let eve = try #require(try await owners(cloud).objects("requesters").first?.text("userRecordName"))
        _ = try await update(cloud, #""blocked":[{"userRecordName":"\#(eve)"}]"#)
        _ = try await update(cloud, invitations(["eve@localhost"]))
        #expect(NSDictionary(dictionary: first) == NSDictionary(dictionary: try await ask()))
    }

    @Test func `address lookups and invitations are rate-limited, and reveal only whether an account exists`()
        async throws
    {
        let cloud = JSONCloud(Self.environment)
        _ = try await cloud.share(try await cloud.makeList().tag)
        _ = try await cloud.post("bob", "private", "zones/list", "{}")
        func look(_ count: Int, status: Int = 200) async throws -> [String: Any] {
            let infos = (0..<count).map { #"{"emailAddress":"\#($0 == 0 ? "bob@localhost" : "x\($0)@example.org")"}"# }
            return try await cloud.post(
                "alice", "public", "users/participants", #"{"lookupInfos":[\#(infos.joined(separator: ","))]}"#,
                status: status)
        }
        let users = try await look(200).objects("users")
        #expect(users[0]["nephosHasAccount"] as? Bool == true && users[1]["nephosHasAccount"] as? Bool == false)
        #expect(users.allSatisfy { Set($0.keys) == ["lookupInfo", "nephosHasAccount"] })
        _ = try await look(200)
        // An invitation counts; one that is kept does not count again.
        let some = (0..<90).map { "y\($0)@example.org" }
        for _ in 0..<3 { #expect(try await update(cloud, invitations(some)).text("serverErrorCode") == nil) }
        _ = try await look(109)
        let more = try await update(cloud, invitations(some + ["z1@example.org", "z2@example.org"]))
        #expect(more.text("serverErrorCode") == "THROTTLED" && more["retryAfter"] != nil)
        #expect(try await owners(cloud).objects("participants").count == 91)
        #expect(try await look(2, status: 429).text("serverErrorCode") == "THROTTLED")
        // Nobody pays for another.
        let others = try await cloud.post(
            "bob", "public", "users/participants", #"{"lookupInfos":[{"emailAddress":"alice@localhost"}]}"#)
        #expect(others.objects("users").count == 1)
    }

    @Test func `a share with too many participants, or an address that is too long, is refused`() async throws {
        let cloud = JSONCloud()
        _ = try await cloud.share(try await cloud.makeList().tag)
        let tag = try await owners(cloud).text("recordChangeTag")
        func refusal(_ members: String) async throws -> String {
            let body =
                #"{"zoneID":{"zoneName":"Z"},"operations":[{"operationType":"update","record":{"recordName":"share","recordChangeTag":"\#(tag ?? "")",\#(members)}}]}"#
            let target =
                "/database/\(JSONCloud.container)/private/records/modify?ckAPIToken=any&ckWebAuthToken=dev:alice"
            return String(decoding: await cloud.page(.post, target, body: body).body, as: UTF8.self)
        }
        let many = try await refusal(invitations((0..<401).map { "p\($0)@example.org" }))
        #expect(many.contains("at most 100 participants") && many.contains(#""nephosErrorCode":29"#))
        let long = String(repeating: "a", count: 400) + "@example.org"
        let refused = try await refusal(invitations([long]))
        #expect(refused.contains("longer than 320") && refused.contains(#""nephosErrorCode":12"#))
        for list in ["requesters", "blocked"] {
            let names = (0..<401).map { #"{"userRecordName":"_\#($0)"}"# }.joined(separator: ",")
            let refused = try await refusal(#""\#(list)":[\#(names)]"#)
            #expect(refused.contains("number of \(list)") && refused.contains(#""nephosErrorCode":27"#))
        }
        #expect(try await owners(cloud).text("recordChangeTag") == tag)
    }

    private final class Log: Sendable {
        let lines = Mutex<[String]>([])
    }

    @Test func `no log contains the last component of a share's URL`() async throws {
        let log = Log()
        let cloud = JSONCloud(log: { request in log.lines.withLock { $0.append("\(request)") } })
        let guid = try #require(try await cloud.share(try await cloud.makeList().tag).text("shortGUID"))
        let paths = [
            "/share/\(guid)", "/share/\(guid)/", "/share/\(guid)/x", "/Share/\(guid)", "//share/\(guid)",
            "/share/%\(guid)", "/share/\(guid)%zz", "/share/\(guid)?account=bob", "/x/\(guid)", "/\(guid)",
            "/share/\(guid)#title",
        ]
        for path in paths {
            for method in [HTTPMethod.get, .head, .post, .options] {
                let body = method == .post ? "account=bob&token=x" : ""
                let answer = await cloud.page(method, path, body: body)
                #expect(!String(decoding: answer.body, as: UTF8.self).contains(guid), "\(method) \(path)")
            }
        }
        for action in ["records/resolve", "records/accept", "records/requestAccess"] {
            for account in ["bob", "mallory"] {
                try await cloud.post(account, "public", action, #"{"shortGUIDs":["\#(guid)"]}"#)
            }
        }
        let lines = log.lines.withLock { $0 }
        #expect(lines.count >= paths.count * 4 && !lines.contains { $0.contains(guid) })
        #expect(lines.contains { $0.contains("/share") })
    }

    @Test func `a participant with permission none, or a removed one, gets no root`() async throws {
        let cloud = JSONCloud()
        let guid = try #require(try await cloud.share(try await cloud.makeList().tag).text("shortGUID"))
        func resolve() async throws -> [String: Any] {
            let request = #"{"shortGUIDs":[{"value":"\#(guid)","shouldFetchRootRecord":true}]}"#
            return try await cloud.post("bob", "public", "records/resolve", request).objects("results")[0]
        }
        #expect(try await resolve().object("rootRecord") != nil)
        let none = #"{"userIdentity":{"lookupInfo":{"emailAddress":"bob@localhost"}},"permission":"NONE"}"#
        _ = try await update(cloud, #""participants":[\#(none)]"#)
        let found = try await resolve()
        #expect(found.text("participantPermission") == "NONE" && found.object("rootRecord") == nil)
        _ = try await update(cloud, #""participants":[]"#)
        #expect(try await resolve().text("serverErrorCode") == "NOT_FOUND")
    }

    @Test func `of concurrent acceptances of a one-time URL one succeeds`() async throws {
        let cloud = JSONCloud()
        let share = try await cloud.share(
            try await cloud.makeList().tag, #""participants":[{"nephosOneTimeGUID":"","permission":"READ_WRITE"}]"#)
        let guid = try #require(share.objects("participants").last?.text("nephosOneTimeGUID"))
        let joined = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<12 {
                group.addTask {
                    try await cloud.post(
                        "guest\(number)", "public", "records/accept", #"{"shortGUIDs":["\#(guid)"]}"#
                    ).objects("results")[0].text("participantStatus") == "ACCEPTED"
                }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(joined == 1)
        #expect(try await owners(cloud).objects("participants").count == 2)
    }

    @Test(arguments: ["PURGED", "ENCRYPTED_DATA_RESET", "DELETED"])
    func `participants get the reason for a deleted zone`(_ reason: String) async throws {
        let cloud = JSONCloud()
        let guid = try #require(try await cloud.share(try await cloud.makeList().tag).text("shortGUID"))
        try await cloud.post("bob", "public", "records/accept", #"{"shortGUIDs":["\#(guid)"]}"#)
        let before = try await cloud.post("bob", "shared", "changes/database", "{}")
        let zoneID = try #require(before.objects("zones").first?.object("zoneID"))
        let removed = await cloud.page(
            .post, "/nephos/\(JSONCloud.container)/zones/remove",
            body: #"{"account":"alice","zones":["Z"],"reason":"\#(reason)"}"#)
        #expect(removed.status == 200)
        let after = try await cloud.post(
            "bob", "shared", "changes/database", #"{"syncToken":"\#(before.text("syncToken") ?? "")"}"#
        ).objects("zones")
        #expect(after.count == 1 && after[0]["deleted"] as? Bool == true)
        #expect(after[0].object("zoneID")?.text("ownerRecordName") == zoneID.text("ownerRecordName"))
        #expect((after[0].text("nephosDeletionReason") ?? "DELETED") == reason)
    }

    @Test func `a share cannot be the root of a share`() async throws {
        let cloud = JSONCloud()
        _ = try await cloud.share(try await cloud.makeList().tag)
        func share(_ name: String, of root: String) -> String {
            #"{"operationType":"create","record":{"recordName":"\#(name)","recordType":"cloudkit.share","forRecord":{"recordName":"\#(root)"}}}"#
        }
        for operations in [
            [share("s", of: "s")], [share("s", of: "t"), share("t", of: "s")], [share("s", of: "share")],
        ] {
            let body = #"{"zoneID":{"zoneName":"Z"},"operations":[\#(operations.joined(separator: ","))]}"#
            let records = try await cloud.post("alice", "private", "records/modify", body).objects("records")
            #expect(records.allSatisfy { $0.text("serverErrorCode") != nil }, "\(operations)")
        }
        // Neither is what the same batch deletes.
        let tag = try #require(
            try await cloud.modify(
                "alice", #"{"operationType":"forceUpdate","record":{"recordName":"other","recordType":"Item"}}"#)[
                    0
                ].text("recordChangeTag"))
        let deleted = try await cloud.modify(
            "alice", #"{"operationType":"delete","record":{"recordName":"other","recordChangeTag":"\#(tag)"}}"#,
            share("u", of: "other"))
        #expect(deleted.allSatisfy { $0.text("serverErrorCode") != nil })
    }

    @Test(arguments: [
        #""publicPermission":"READWRITE""#, #""publicPermission":1"#, #""participants":{}"#,
        #""participants":[{"userIdentity":{"lookupInfo":{"emailAddress":"bob@localhost"}},"permission":"WRITE"}]"#,
        #""participants":[{"userIdentity":{"lookupInfo":{"emailAddress":"bob@localhost"}},"type":"BOSS"}]"#,
    ])
    func `a misspelt key of a share is refused`(_ members: String) async throws {
        let cloud = JSONCloud()
        _ = try await cloud.share(try await cloud.makeList().tag)
        let tag = try #require(try await owners(cloud).text("recordChangeTag"))
        let body =
            #"{"zoneID":{"zoneName":"Z"},"operations":[{"operationType":"update","record":{"recordName":"share","recordChangeTag":"\#(tag)",\#(members)}}]}"#
        let refused = try await cloud.post("alice", "private", "records/modify", body, status: 400)
        #expect(refused.text("reason")?.contains("expected") == true)
        #expect(try await owners(cloud).text("recordChangeTag") == tag)
    }
}
