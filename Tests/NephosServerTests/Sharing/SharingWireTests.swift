import Foundation
import NephosSQLite
import NephosService
import Testing

@testable import NephosServer

/// A server without a socket, asked in JSON as several accounts.
struct JSONCloud {
    private let responder: Responder
    static let container = "1/iCloud.org.example.App/development"

    init(_ environment: ServiceEnvironment = .system, log: (@Sendable (AnsweredRequest) -> Void)? = nil) {
        responder = Responder(NephosService(stores: MemoryStores(), environment: environment), log: log)
    }

    @discardableResult
    func post(
        _ account: String, _ database: String, _ action: String, _ body: String, status: Int = 200,
        location: SourceLocation = #_sourceLocation
    ) async throws -> [String: Any] {
        let response = await responder.respond(
            to: HTTPRequest(
                method: .post,
                target:
                    "/database/\(Self.container)/\(database)/\(action)?ckAPIToken=any&ckWebAuthToken=dev:\(account)",
                host: "127.0.0.1:8484", body: Array(body.utf8), takesAdditions: true))
        #expect(
            response.status == status, "\(String(decoding: response.body, as: UTF8.self))", sourceLocation: location)
        return try #require(
            try JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any], sourceLocation: location)
    }

    func page(
        _ method: HTTPMethod, _ target: String, body: String = "", origin: String? = nil, authorization: String? = nil
    ) async -> HTTPResponse {
        var request = HTTPRequest(
            method: method, target: target, host: "127.0.0.1:8484", origin: origin, body: Array(body.utf8),
            takesAdditions: true)
        request.authorization = authorization
        return await responder.respond(to: request)
    }

    /// The records of an answer.
    func modify(
        _ account: String, in database: String = "private", zone: String = #"{"zoneName":"Z"}"#,
        _ operations: String...,
        location: SourceLocation = #_sourceLocation
    ) async throws -> [[String: Any]] {
        let body = #"{"zoneID":\#(zone),"operations":[\#(operations.joined(separator: ","))]}"#
        let answer = try await post(account, database, "records/modify", body, location: location)
        return try #require(answer["records"] as? [[String: Any]], sourceLocation: location)
    }

    /// A zone with a root and something below it.
    func makeList(_ account: String = "alice") async throws -> (name: String, tag: String) {
        try await post(
            account, "private", "zones/modify",
            #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Z"}}}]}"#)
        let records = try await modify(
            account,
            #"{"operationType":"create","record":{"recordName":"root","recordType":"List","fields":{"title":{"value":"L"}}}}"#,
            #"{"operationType":"create","record":{"recordName":"item","recordType":"Item","parent":{"recordName":"root"},"fields":{}}}"#,
            #"{"operationType":"create","record":{"recordName":"other","recordType":"Item","fields":{}}}"#)
        return ("root", try #require(records[0]["recordChangeTag"] as? String))
    }

    /// Shares the root with bob, who may write.
    func share(
        _ tag: String,
        _ more: String =
            #""publicPermission":"NONE","participants":[{"userIdentity":{"lookupInfo":{"emailAddress":"bob@localhost"}},"permission":"READ_WRITE"}]"#
    ) async throws -> [String: Any] {
        try await modify(
            "alice",
            #"{"operationType":"create","record":{"recordName":"share","recordType":"cloudkit.share","forRecord":{"recordName":"root","recordChangeTag":"\#(tag)"},"fields":{"cloudkit.title":{"value":"<b>Mine</b>"}},\#(more)}}"#
        )[0]
    }
}

extension [String: Any] {
    func text(_ key: String) -> String? { self[key] as? String }
    func object(_ key: String) -> [String: Any]? { self[key] as? [String: Any] }
    func objects(_ key: String) -> [[String: Any]] { self[key] as? [[String: Any]] ?? [] }
}

/// Sharing by clients of CloudKit Web Services.
@Suite struct SharingWireTests {
    private let cloud = JSONCloud()

    @Test func `forRecord with the root's change tag refers to the root`() async throws {
        let (_, tag) = try await cloud.makeList()
        let stale = try await cloud.share("stale")
        #expect(stale.text("serverErrorCode") == "CONFLICT")
        let share = try await cloud.share(tag)
        #expect(share.text("recordType") == "cloudkit.share")
        #expect(share.text("shortGUID")?.isEmpty == false)
        #expect(share.text("publicPermission") == "NONE")
        #expect(share.object("owner")?.text("type") == "OWNER")
        #expect(share.object("currentUserParticipant")?.text("acceptanceStatus") == "ACCEPTED")
        let participants = share.objects("participants")
        #expect(participants.map { $0.text("type") } == ["OWNER", "PRIVATE_USER"])
        #expect(participants[1].text("acceptanceStatus") == "PENDING")
        let root = try await cloud.post(
            "alice", "private", "records/lookup", #"{"zoneID":{"zoneName":"Z"},"records":[{"recordName":"root"}]}"#
        ).objects("records")[0]
        #expect(root.object("share")?.text("recordName") == "share" && root.text("recordChangeTag") != tag)
    }

    @Test func `resolve and accept take the short GUID`() async throws {
        let (_, tag) = try await cloud.makeList()
        let guid = try #require(try await cloud.share(tag).text("shortGUID"))
        let request = #"{"shortGUIDs":[{"value":"\#(guid)","shouldFetchRootRecord":true},"nothing"]}"#
        let found = try await cloud.post("bob", "public", "records/resolve", request).objects("results")
        #expect(found.count == 2)
        let info = found[0]
        #expect(info.text("rootRecordName") == "root" && info.text("databaseScope") == "SHARED")
        #expect(info.text("containerIdentifier") == "iCloud.org.example.App")
        #expect(info.text("environment") == "DEVELOPMENT")
        #expect(info.text("participantType") == "PRIVATE_USER" && info.text("participantStatus") == "PENDING")
        #expect(info.object("rootRecord")?.object("fields")?.object("title")?.text("value") == "L")
        #expect(found[1].text("serverErrorCode") == "NOT_FOUND")
        let owner = try #require(info.object("zoneID")?.text("ownerRecordName"))
        let accepted = try await cloud.post("bob", "public", "records/accept", #"{"shortGUIDs":["\#(guid)"]}"#)
        #expect(accepted.objects("results")[0].text("participantStatus") == "ACCEPTED")
        let zone = #"{"zoneName":"Z","ownerRecordName":"\#(owner)"}"#
        let records = try await cloud.post(
            "bob", "shared", "changes/zone", #"{"zones":[{"zoneID":\#(zone)}]}"#
        ).objects("zones")[0].objects("records")
        #expect(Set(records.map { $0.text("recordName") }) == ["root", "item", "share"])
        let zones = try await cloud.post("bob", "shared", "zones/list", "{}").objects("zones")
        #expect(zones.map { $0.object("zoneID")?.text("ownerRecordName") } == [owner])
        // Deleting the share leaves it.
        let left = try await cloud.modify(
            "bob", in: "shared", zone: zone, #"{"operationType":"forceDelete","record":{"recordName":"share"}}"#)
        #expect(left[0]["deleted"] as? Bool == true)
        #expect(try await cloud.post("bob", "shared", "zones/list", "{}").objects("zones").isEmpty)
    }

    @Test(arguments: [
        #""acceptanceStatus":"ACCEPTED""#, #""type":"OWNER""#, #""participantId":"owner-1""#,
        #""nephosDateAdded":1"#, #""isApprovedRequester":true"#,
    ])
    func `a client's data about a participant is only a request`(_ forged: String) async throws {
        let (_, tag) = try await cloud.makeList()
        let share = try await cloud.share(
            tag,
            #""participants":[{"userIdentity":{"lookupInfo":{"emailAddress":"bob@localhost"}},"permission":"READ_ONLY",\#(forged)}]"#
        )
        let participants = share.objects("participants")
        #expect(participants[0].text("type") == "OWNER")
        #expect(
            participants[0].object("userIdentity")?.text("userRecordName")
                == share.object("created")?.text("userRecordName"))
        for participant in participants.dropFirst() {
            #expect(participant.text("acceptanceStatus") == "PENDING" && participant.text("type") == "PRIVATE_USER")
            #expect(participant.text("participantId") != "owner-1")
            #expect(participant["isApprovedRequester"] == nil)
            #expect((participant["nephosDateAdded"] as? Int ?? 0) > 1_000_000)
        }
        #expect(try await cloud.post("bob", "shared", "zones/list", "{}").objects("zones").isEmpty)
    }

    @Test func `a participant cannot forge the fields that the service sets`() async throws {
        let (_, tag) = try await cloud.makeList()
        let share = try await cloud.share(tag)
        let guid = try #require(share.text("shortGUID"))
        let accepted = try await cloud.post("bob", "public", "records/accept", #"{"shortGUIDs":["\#(guid)"]}"#)
        let zoneID = try #require(accepted.objects("results")[0].object("zoneID"))
        let zone = #"{"zoneName":"Z","ownerRecordName":"\#(try #require(zoneID.text("ownerRecordName")))"}"#
        let current = try #require(accepted.objects("results")[0].object("share")?.text("recordChangeTag"))
        // Neither the share's permission nor its participants, nor another share, nor a root by hand.
        for operation in [
            #"{"operationType":"update","record":{"recordName":"share","recordType":"cloudkit.share","recordChangeTag":"\#(current)","publicPermission":"READ_WRITE"}}"#,
            #"{"operationType":"update","record":{"recordName":"share","recordChangeTag":"\#(current)","participants":[]}}"#,
            #"{"operationType":"forceReplace","record":{"recordName":"share","recordType":"cloudkit.share","fields":{}}}"#,
            #"{"operationType":"create","record":{"recordName":"mine","recordType":"cloudkit.share","forRecord":{"recordName":"item"}}}"#,
            #"{"operationType":"create","record":{"recordName":"cloudkit.zoneshare","recordType":"cloudkit.share"}}"#,
            #"{"operationType":"forceDelete","record":{"recordName":"root"}}"#,
            #"{"operationType":"forceUpdate","record":{"recordName":"item","recordType":"Item","parent":null}}"#,
            #"{"operationType":"forceUpdate","record":{"recordName":"item","recordType":"Item","parent":{"recordName":"other"}}}"#,
            #"{"operationType":"forceReplace","record":{"recordName":"item","recordType":"Item","fields":{}}}"#,
            #"{"operationType":"create","record":{"recordName":"new","recordType":"Item","fields":{}}}"#,
            #"{"operationType":"create","record":{"recordName":"new","recordType":"Item","share":{"recordName":"share"},"fields":{}}}"#,
        ] {
            let record = try await cloud.modify("bob", in: "shared", zone: zone, operation)[0]
            #expect(record.text("serverErrorCode") != nil, "\(operation) was not refused")
        }
        let after = try await cloud.post(
            "alice", "private", "records/lookup",
            #"{"zoneID":{"zoneName":"Z"},"records":[{"recordName":"share"},{"recordName":"item"}]}"#
        ).objects("records")
        #expect(after[0].text("recordChangeTag") == current && after[0].text("publicPermission") == "NONE")
        #expect(after[1].object("parent")?.text("recordName") == "root")
    }

    @Test func `a record has the short GUID of its share before it is shared`() async throws {
        _ = try await cloud.makeList()
        let asked =
            #"{"operationType":"create","record":{"recordName":"new","recordType":"List","createShortGUID":true}}"#
        let new = try await cloud.modify("alice", asked)[0]
        let guid = try #require(new.text("shortGUID"))
        #expect(guid.count == 25)
        let again = try await cloud.modify("alice", asked.replacing("\"create\"", with: "\"forceUpdate\""))[0]
        #expect(again.text("shortGUID") == guid)
        // It is no share yet.
        let request = #"{"shortGUIDs":["\#(guid)"]}"#
        for account in ["alice", "bob"] {
            let found = try await cloud.post(account, "public", "records/resolve", request).objects("results")[0]
            #expect(found.text("serverErrorCode") == "NOT_FOUND")
        }
        let tag = try #require(again.text("recordChangeTag"))
        let share = try await cloud.modify(
            "alice",
            #"{"operationType":"create","record":{"recordName":"s","recordType":"cloudkit.share","forRecord":{"recordName":"new","recordChangeTag":"\#(tag)"},"publicPermission":"READ_ONLY"}}"#
        )[0]
        #expect(share.text("shortGUID") == guid)
        let joined = try await cloud.post("bob", "public", "records/accept", request).objects("results")[0]
        #expect(joined.text("rootRecordName") == "new")
    }

    @Test func `participant names are those of accepted accounts, without addresses`() async throws {
        let (_, tag) = try await cloud.makeList()
        let share = try await cloud.share(
            tag,
            #""participants":[{"userIdentity":{"lookupInfo":{"emailAddress":"bob@localhost"}}},{"userIdentity":{"lookupInfo":{"emailAddress":"eve@example.org"}}}]"#
        )
        func given(_ participant: [String: Any]) -> String? {
            participant.object("userIdentity")?.object("nameComponents")?.text("givenName")
        }
        #expect(share.objects("participants").map(given) == ["alice", nil, nil])
        let guid = try #require(share.text("shortGUID"))
        for account in ["bob", "eve@example.org"] {
            let joined = try await cloud.post(account, "public", "records/accept", #"{"shortGUIDs":["\#(guid)"]}"#)
            #expect(joined.objects("results")[0].text("participantStatus") == "ACCEPTED")
        }
        let seen = try await cloud.post("bob", "public", "records/resolve", #"{"shortGUIDs":["\#(guid)"]}"#)
        let participants = try #require(seen.objects("results")[0].object("share")?.objects("participants"))
        #expect(participants.map(given) == ["alice", "bob", nil])
        #expect(participants.allSatisfy { $0.object("userIdentity")?.object("lookupInfo") == nil })
    }

    // MARK: The page

    @Test func `the page shows a share to an invited account, and accepts it with its token`() async throws {
        let (_, tag) = try await cloud.makeList()
        let guid = try #require(try await cloud.share(tag).text("shortGUID"))
        let path = "/share/\(guid)"
        let blank = await cloud.page(.get, path)
        #expect(blank.status == 200)
        let stranger = await cloud.page(.get, path + "?account=mallory")
        #expect(stranger.status == 404 && !String(decoding: stranger.body, as: UTF8.self).contains("Mine"))
        let page = await cloud.page(.get, path + "?account=bob")
        let html = String(decoding: page.body, as: UTF8.self)
        #expect(page.status == 200 && html.contains("&lt;b&gt;Mine&lt;/b&gt;") && !html.contains("<script"))
        let headers = Dictionary(page.headers.map { ($0.name, $0.value) }) { first, _ in first }
        #expect(headers["Referrer-Policy"] == "no-referrer" && headers["X-Frame-Options"] == "DENY")
        #expect(headers["Content-Security-Policy"]?.contains("frame-ancestors 'none'") == true)
        let token = try #require(html.firstMatch(of: /name="token" value="([^"]+)"/)?.1)
        // A GET accepts nothing, and neither does another page, nor another account's token.
        #expect(await cloud.page(.post, path, body: "account=bob").status == 403)
        #expect(await cloud.page(.post, path, body: "account=mallory&token=\(token)").status == 403)
        #expect(
            await cloud.page(.post, path, body: "account=bob&token=\(token)", origin: "https://evil.example").status
                == 403)
        #expect(try await cloud.post("bob", "shared", "zones/list", "{}").objects("zones").isEmpty)
        // Browsers send this origin for the form of a page without a referrer.
        #expect(await cloud.page(.post, path, body: "account=bob&token=\(token)", origin: "null").status == 200)
        #expect(try await cloud.post("bob", "shared", "zones/list", "{}").objects("zones").count == 1)
    }

    @Test func `the page takes the account of a header, which the query may not contradict`() async throws {
        let (_, tag) = try await cloud.makeList()
        let path = "/share/\(try #require(try await cloud.share(tag).text("shortGUID")))"
        let bob = "Bearer dev:bob"
        for target in [path, path + "?account=bob", path + "?ckWebAuthToken=dev:bob"] {
            let page = await cloud.page(.get, target, authorization: bob)
            #expect(page.status == 200 && String(decoding: page.body, as: UTF8.self).contains("name=\"token\""))
        }
        for target in [path + "?account=alice", path + "?ckWebAuthToken=dev:alice"] {
            #expect(await cloud.page(.get, target, authorization: bob).status == 401)
        }
        #expect(await cloud.page(.get, path, authorization: "Basic Ym9iOg==").status == 401)
        #expect(await cloud.page(.post, path, body: "account=alice&token=x", authorization: bob).status == 401)
    }

    @Test func `the page shows control characters as escapes, and joined emoji unchanged`() async throws {
        let owner = "ali\u{202E}ec"
        let encoded = try #require(owner.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
        let (_, tag) = try await cloud.makeList(encoded)
        let share = try await cloud.modify(
            encoded,
            #"{"operationType":"create","record":{"recordName":"share","recordType":"cloudkit.share","forRecord":{"recordName":"root","recordChangeTag":"\#(tag)"},"fields":{"cloudkit.title":{"value":"👩\u200d🚀 \u202egpj\u2066.\u001b[31m\u0085\u200f<i>"}},"publicPermission":"READ_ONLY"}}"#
        )[0]
        let page = await cloud.page(.get, "/share/\(try #require(share.text("shortGUID")))?account=bob")
        let html = String(decoding: page.body, as: UTF8.self)
        #expect(
            html.contains("<bdi>👩\u{200D}🚀 \\u{202e}gpj\\u{2066}.\\u{1b}[31m\\u{85}\\u{200f}&lt;i&gt;</bdi>"), "\(html)"
        )
        #expect(html.contains("by <bdi>ali\\u{202e}ec</bdi> in"), "\(html)")
    }

    // MARK: What the operator asks

    @Test func `the operator sees shares, and the reasons for an account's access`() async throws {
        let (_, tag) = try await cloud.makeList()
        _ = try await cloud.share(tag)
        func ask(_ action: String, _ body: String) async throws -> [String: Any] {
            let response = await cloud.page(
                .post, "/nephos/\(JSONCloud.container)/\(action)", body: body)
            #expect(response.status == 200, "\(String(decoding: response.body, as: UTF8.self))")
            return try #require(try JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any])
        }
        let shares = try await ask("shares/list", "{}").objects("shares")
        #expect(shares.count == 1 && shares[0].text("rootRecordName") == "root" && shares[0].text("account") == "alice")
        _ = try await cloud.post("bob", "private", "zones/list", "{}")
        let why = #"{"account":"bob","owner":"alice","zoneName":"Z","recordName":"item"}"#
        let lines = try #require(try await ask("access/explain", why)["lines"] as? [String])
        #expect(lines[0].contains("has not accepted"))
        #expect(lines[1] == "bob may not read it: it answers as if it did not exist.")
    }
}
