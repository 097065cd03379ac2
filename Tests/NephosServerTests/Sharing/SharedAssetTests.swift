import Foundation
import NephosSQLite
import NephosService
import Testing

@testable import NephosServer

/// Files of shared records: they are readable by those accounts that may read the record, and as long as they may.
@Suite struct SharedAssetTests {
    private struct Cloud {
        var client: AssetClient
        var zone = #"{"zoneName":"Z"}"#

        @discardableResult
        func post(_ account: String, _ action: String, _ body: String) async throws -> [String: Any] {
            let answer = try await client.request(
                "POST", "/database/1/iCloud.test/development/\(action)?ckWebAuthToken=dev:\(account)", body: body)
            return try #require(try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any])
        }

        func modify(
            _ account: String, _ database: String, in zone: String, _ operation: String
        ) async throws -> [String: Any] {
            try await post(
                account, "\(database)/records/modify", #"{"zoneID":\#(zone),"operations":[\#(operation)]}"#
            ).objects("records").last ?? [:]
        }

        func uploadURL(
            _ account: String, _ database: String, in zone: String, _ record: String
        ) async throws -> String? {
            try await post(
                account, "\(database)/assets/upload",
                #"{"zoneID":\#(zone),"tokens":[{"recordName":"\#(record)","recordType":"Item","fieldName":"file"}]}"#
            ).objects("tokens").first?.text("url")
        }

        func saveFile(
            _ content: String, _ account: String, _ database: String, in zone: String, _ record: String
        ) async throws -> [String: Any] {
            let url = try #require(try await uploadURL(account, database, in: zone, record))
            let value = try JSONSerialization.data(withJSONObject: try await client.upload(content, to: url))
            let file = String(decoding: value, as: UTF8.self)
            return try await modify(
                account, database, in: zone,
                #"{"operationType":"forceUpdate","record":{"recordName":"\#(record)","recordType":"Item","fields":{"file":{"value":\#(file)}}}}"#
            )
        }

        static func address(_ record: [String: Any]) throws -> String {
            try #require(
                record.object("fields")?.object("file")?.object("value")?.text("downloadURL"), "\(record)")
        }

        func address(_ account: String, _ database: String, in zone: String, _ record: String) async throws -> String {
            try Self.address(
                try await post(
                    account, "\(database)/records/lookup",
                    #"{"zoneID":\#(zone),"records":[{"recordName":"\#(record)"}]}"#
                ).objects("records")[0])
        }

        func status(_ address: String) async throws -> Int { try await client.get(address).status }

        func update(_ members: String) async throws {
            let share = try await post(
                "alice", "private/records/lookup", #"{"zoneID":\#(zone),"records":[{"recordName":"share"}]}"#
            ).objects("records")[0]
            let saved = try await modify(
                "alice", "private", in: zone,
                #"{"operationType":"update","record":{"recordName":"share","recordChangeTag":"\#(share.text("recordChangeTag") ?? "")",\#(members)}}"#
            )
            #expect(saved.text("serverErrorCode") == nil)
        }
    }

    /// A root and an item below it with a file each, shared with bob, who may write.
    private func withShare(_ body: (Cloud, _ guid: String) async throws -> Void) async throws {
        let service = NephosService(stores: MemoryStores())
        let responder = Responder(service)
        let server = try HTTPServer(ListeningSocket.loopback(port: 0)) { await responder.respond(to: $0) }
        let cloud = Cloud(client: AssetClient(port: server.port))
        do {
            try await cloud.post(
                "alice", "private/zones/modify",
                #"{"operations":[{"operationType":"create","zone":{"zoneID":\#(cloud.zone)}}]}"#)
            for (name, parent) in [("root", "null"), ("item", #"{"recordName":"root"}"#)] {
                _ = try await cloud.modify(
                    "alice", "private", in: cloud.zone,
                    #"{"operationType":"create","record":{"recordName":"\#(name)","recordType":"Item","parent":\#(parent)}}"#
                )
                _ = try await cloud.saveFile("file of \(name)", "alice", "private", in: cloud.zone, name)
            }
            let share = try await cloud.post(
                "alice", "private/records/modify",
                #"{"zoneID":\#(cloud.zone),"operations":[{"operationType":"forceUpdate","record":{"recordName":"root","recordType":"Item"}},{"operationType":"create","record":{"recordName":"share","recordType":"cloudkit.share","forRecord":{"recordName":"root"},"participants":[{"userIdentity":{"lookupInfo":{"emailAddress":"bob@localhost"}},"permission":"READ_WRITE"}]}}]}"#
            ).objects("records")[1]
            try await body(cloud, try #require(share.text("shortGUID"), "\(share)"))
        } catch {
            Issue.record(error)
        }
        await server.stop()
        await service.close()
    }

    private func accept(_ cloud: Cloud, _ guid: String, _ account: String = "bob") async throws -> String {
        let joined = try await cloud.post(account, "public/records/accept", #"{"shortGUIDs":["\#(guid)"]}"#)
        let owner = joined.objects("results")[0].object("zoneID")?.text("ownerRecordName")
        return #"{"zoneName":"Z","ownerRecordName":"\#(try #require(owner))"}"#
    }

    @Test func `participants read files of shared records while they are shared`() async throws {
        try await withShare { cloud, guid in
            let zone = try await accept(cloud, guid)
            let address = try await cloud.address("bob", "shared", in: zone, "item")
            let own = try await cloud.address("alice", "private", in: cloud.zone, "item")
            #expect(try await cloud.client.get(address).text == "file of item")
            // What leaves the share takes the addresses of its files along, and what comes back is read again.
            func move(to parent: String) async throws {
                let moved = try await cloud.modify(
                    "alice", "private", in: cloud.zone,
                    #"{"operationType":"forceUpdate","record":{"recordName":"item","recordType":"Item","parent":\#(parent)}}"#
                )
                #expect(moved.text("serverErrorCode") == nil)
            }
            try await move(to: "null")
            #expect(try await cloud.status(address) == 404)
            try await move(to: #"{"recordName":"root"}"#)
            #expect(try await cloud.status(address) == 200)
            try await cloud.update(
                #""participants":[{"userIdentity":{"lookupInfo":{"emailAddress":"bob@localhost"}},"permission":"NONE"}]"#
            )
            #expect(try await cloud.status(address) == 404)
            try await cloud.update(
                #""participants":[{"userIdentity":{"lookupInfo":{"emailAddress":"bob@localhost"}},"permission":"READ_WRITE"}]"#
            )
            #expect(try await cloud.status(address) == 200)
            let upload = try #require(try await cloud.uploadURL("bob", "shared", in: zone, "item"))
            try await cloud.update(#""participants":[]"#)
            #expect(try await cloud.status(address) == 404)
            #expect(try await cloud.client.request("POST", upload, body: "late").status == 400)
            #expect(try await cloud.status(own) == 200)
        }
    }

    @Test func `a participant's file belongs to the owner, and both read it`() async throws {
        try await withShare { cloud, guid in
            let zone = try await accept(cloud, guid)
            let saved = try await cloud.saveFile("of bob", "bob", "shared", in: zone, "item")
            #expect(try await cloud.client.get(try Cloud.address(saved)).text == "of bob")
            let own = try await cloud.address("alice", "private", in: cloud.zone, "item")
            #expect(try await cloud.client.get(own).text == "of bob")
        }
    }

    @Test func `a file's address expires when the record has another file, or none, but not for its owner`()
        async throws
    {
        try await withShare { cloud, guid in
            let zone = try await accept(cloud, guid)
            let former = try await cloud.address("bob", "shared", in: zone, "item")
            let own = try await cloud.address("alice", "private", in: cloud.zone, "item")
            let root = try await cloud.address("bob", "shared", in: zone, "root")
            _ = try await cloud.saveFile("another", "alice", "private", in: cloud.zone, "item")
            #expect(try await cloud.status(former) == 404)
            #expect(try await cloud.status(own) == 200)
            let now = try await cloud.address("bob", "shared", in: zone, "item")
            #expect(try await cloud.client.get(now).text == "another")
            _ = try await cloud.modify(
                "alice", "private", in: cloud.zone,
                #"{"operationType":"forceUpdate","record":{"recordName":"item","recordType":"Item","fields":{"file":{"value":null}}}}"#
            )
            #expect(try await cloud.status(now) == 404)
            // Another record has the same file.
            _ = try await cloud.saveFile("file of root", "alice", "private", in: cloud.zone, "item")
            let same = try await cloud.address("bob", "shared", in: zone, "item")
            _ = try await cloud.modify(
                "alice", "private", in: cloud.zone, #"{"operationType":"forceDelete","record":{"recordName":"item"}}"#)
            #expect(try await cloud.status(same) == 404)
            #expect(try await cloud.status(root) == 200)
        }
    }

    @Test func `an address of a public file expires with the record's file, and with read access`() async throws {
        try await withShare { cloud, _ in
            let zone = #"{"zoneName":"_defaultZone"}"#
            for account in ["alice", "bob"] {
                _ = try await cloud.saveFile("of \(account)", account, "public", in: zone, account)
            }
            func addresses(_ reader: String) async throws -> [String] {
                var all: [String] = []
                for record in ["alice", "bob"] {
                    all.append(try await cloud.address(reader, "public", in: zone, record))
                }
                return all
            }
            let (bobs, carols) = (try await addresses("bob"), try await addresses("carol"))
            for address in bobs + carols { #expect(try await cloud.status(address) == 200) }
            _ = try await cloud.saveFile("another", "alice", "public", in: zone, "alice")
            for address in [bobs[0], carols[0]] { #expect(try await cloud.status(address) == 404) }
            _ = try await cloud.client.request(
                "POST", "/nephos/1/iCloud.test/development/schema/import",
                body:
                    "DEFINE SCHEMA RECORD TYPE Item (file ASSET, GRANT READ, WRITE TO \"_creator\", GRANT CREATE TO \"_icloud\");"
            )
            #expect(try await cloud.status(carols[1]) == 404)
            #expect(try await cloud.status(bobs[1]) == 200)
        }
    }

    @Test func `the root's file comes with the metadata for an invited account`() async throws {
        try await withShare { cloud, guid in
            func metadata(_ account: String) async throws -> [String: Any]? {
                try await cloud.post(
                    account, "public/records/resolve",
                    #"{"shortGUIDs":[{"value":"\#(guid)","shouldFetchRootRecord":true}]}"#
                ).objects("results")[0].object("rootRecord")
            }
            let address = try Cloud.address(try #require(try await metadata("bob")))
            #expect(try await cloud.client.get(address).text == "file of root")
            try await cloud.update(#""participants":[]"#)
            #expect(try await cloud.status(address) == 404)
            try await cloud.update(#""publicPermission":"READ_ONLY""#)
            let carols = try Cloud.address(try #require(try await metadata("carol")))
            #expect(try await cloud.status(carols) == 200)
            try await cloud.update(#""publicPermission":"NONE""#)
            #expect(try await cloud.status(carols) == 404)
        }
    }

    @Test func `an open one-time URL does not give a removed participant the root's file`() async throws {
        try await withShare { cloud, guid in
            let zone = try await accept(cloud, guid)
            let address = try await cloud.address("bob", "shared", in: zone, "root")
            #expect(try await cloud.status(address) == 200)
            let open = #"{"nephosOneTimeGUID":"x","type":"USER","permission":"READ_ONLY","userIdentity":{}}"#
            try await cloud.update(#""participants":[\#(open)]"#)
            #expect(try await cloud.status(address) == 404)
        }
    }
}
