import NephosService
import NephosTesting
import NephosWire
import Testing

@testable import NephosServer

/// What an account sees, downloads and deletes of its data on its page.
@Suite struct AccountDataTests {
    private static let list = """
        {"zoneID":{"zoneName":"z"},"operations":[
        {"operationType":"create","record":{"recordName":"root","recordType":"Note",
        "fields":{"text":{"value":"Ada's"}}}},
        {"operationType":"create","record":{"recordName":"share","recordType":"cloudkit.share",
        "forRecord":{"recordName":"root"},"publicPermission":"READ_WRITE",
        "fields":{"cloudkit.title":{"value":"<i>Trip</i>"}}}}]}
        """

    /// A server on which lovelace shares a list, and sessions of lovelace and bob.
    private struct Sharing {
        let server: ProductionServer
        let apiToken: String
        let guid: String
        let owner: String
        let guest: String

        init() async throws {
            server = try await ProductionServer()
            apiToken = try await server.makeAPIToken()
            try await server.installation.grant(
                .developer, toAccountNamed: "lovelace", container: ProductionServer.container,
                by: AuditActor(name: "user 0"))
            (owner, guest) = (
                try await server.session(of: "lovelace", apiToken), try await server.session(of: "bob", apiToken)
            )
            _ = await server.call(
                "private/zones/modify", apiToken, owner,
                #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"z"}}}]}"#)
            let saved = await server.call("private/records/modify", apiToken, owner, AccountDataTests.list)
            guid = String(try #require(saved.text.firstMatch(of: /"shortGUID":"([^"]+)"/), "\(saved.text)").1)
        }

        func zones(_ session: String) async -> String {
            await server.call("shared/zones/list", apiToken, session, "{}").text
        }
    }

    /// The fields of the form of an action on a page, for another request.
    private func fields(of action: String, _ page: HTTPResponse) throws -> String {
        let form = try #require(
            page.text.split(separator: "<form").first { $0.contains("value=\"\(action)\"") }, "\(page.text)")
        return form.matches(of: /name="(\w+)" value="([^"]*)"/).filter { $0.1 != "form" }
            .map { "\($0.1)=\($0.2)" }.joined(separator: "&")
    }

    @Test func `an account sees its own and its accepted shares, and leaves one`() async throws {
        let sharing = try await Sharing()
        let server = sharing.server
        let (ada, bob) = (await server.browser(of: "lovelace"), await server.browser(of: "bob"))
        let page = "/share/\(sharing.guid)"
        #expect(await bob.post(page, from: await bob.get(page), "").text.contains("Accepted"))
        let own = await ada.get("/account")
        #expect(own.text.contains("<bdi>&lt;i&gt;Trip&lt;/i&gt;</bdi>, yours, 1 participant "), "\(own.text)")
        let joined = await bob.get("/account")
        #expect(joined.text.contains("Trip&lt;/i&gt;</bdi>, shared with you") && !joined.text.contains("yours"))
        #expect(await !server.browser(of: "viewer").get("/account").text.contains("Trip"))
        // Who takes part does not end the share, with whatever form.
        let leave = try fields(of: "leave-share", joined)
        let stop = leave.replacing("leave-share", with: "stop-sharing")
        #expect(await bob.post("/account", from: joined, stop).status == 400)
        #expect(await sharing.zones(sharing.guest).contains("\"zoneName\":\"z\""))
        #expect(await bob.post("/account", from: joined, leave).status == 303)
        #expect(await !sharing.zones(sharing.guest).contains("\"zoneName\":\"z\""))
        #expect(await bob.post("/account", from: joined, leave).status == 400)
        #expect(await ada.get("/account").text.contains("yours, 0 participants"))
        await server.close()
    }

    @Test func `an owner stops sharing for everybody, and keeps the records`() async throws {
        let sharing = try await Sharing()
        let server = sharing.server
        let (ada, bob) = (await server.browser(of: "lovelace"), await server.browser(of: "bob"))
        let page = "/share/\(sharing.guid)"
        _ = await bob.post(page, from: await bob.get(page), "")
        let own = await ada.get("/account")
        let stop = try fields(of: "stop-sharing", own)
        #expect(await ada.post("/account", from: own, stop, origin: "https://evil.example.org").status == 403)
        for other in ["zone=y", "container=iCloud.other", "environment=none", "share=root"] {
            let name = other.prefix { $0 != "=" }
            let forged = stop.split(separator: "&").map { $0.hasPrefix(name + "=") ? other[...] : $0 }
            #expect(await ada.post("/account", from: own, forged.joined(separator: "&")).status == 400, "\(other)")
        }
        #expect(await ada.post("/account", from: own, stop).status == 303)
        #expect(await !ada.get("/account").text.contains("Trip"))
        #expect(await !bob.get("/account").text.contains("Trip"))
        #expect(await bob.get(page).status == 404)
        let root = await server.call(
            "private/records/lookup", sharing.apiToken, sharing.owner,
            #"{"zoneID":{"zoneName":"z"},"records":[{"recordName":"root"}]}"#)
        #expect(root.text.contains("Ada's"))
        await server.close()
    }

    // MARK: Export

    /// Reads a body to its end; nil if it is cut off.
    private func read(_ stream: ResponseStream) async -> String? {
        var bytes: [UInt8] = []
        while true {
            let piece = await withCheckedContinuation { continuation in
                stream.body.read(1 << 20, at: Int64(bytes.count)) { continuation.resume(returning: $0) }
            }
            guard let piece = try? piece.get() else { return nil }
            if piece.isEmpty { return String(decoding: bytes, as: UTF8.self) }
            bytes += piece
        }
    }

    @Test func `an account downloads its own records of all containers, one export at a time`() async throws {
        let sharing = try await Sharing()
        let server = sharing.server
        for (session, text) in [(sharing.owner, "in the default zone"), (sharing.guest, "Bob's")] {
            let saved = await server.call(
                "private/records/modify", sharing.apiToken, session,
                """
                {"operations":[{"operationType":"create","record":{"recordName":"note","recordType":"Note",
                "fields":{"text":{"value":"\(text)"}}}}]}
                """)
            #expect(!saved.text.contains("serverErrorCode"), "\(saved.text)")
        }
        let (ada, bob) = (await server.browser(of: "lovelace"), await server.browser(of: "bob"))
        let (page, other) = (await ada.get("/account"), await bob.get("/account"))
        var first = await ada.post("/account", from: page, "action=export").stream
        #expect(await ada.post("/account", from: page, "action=export").status == 429)
        let bobs = try #require(await bob.post("/account", from: other, "action=export").stream)
        let text = if let first { await read(first) } else { String?.none }
        let lines = try #require(text).split(separator: "\n")
        #expect(lines[0].contains("\"nephosExport\":1") && lines[0].contains(ProductionServer.container))
        #expect(lines[0].hasPrefix("\(ProductionServer.container)/development/records-000000.jsonl\0"))
        #expect(text?.hasSuffix(String(repeating: "\0", count: 1024)) == true)
        #expect(lines.contains { $0.contains("\"zoneName\":\"z\"") && $0.contains("\"create\"") })
        #expect(lines.count { $0.contains("Ada's") } == 1 && lines.count { $0.contains("in the default zone") } == 1)
        #expect(!lines.contains { $0.contains("Bob's") || $0.contains("cloudkit.share") })
        let bobsLines = try #require(await read(bobs))
        #expect(bobsLines.contains("Bob's") && !bobsLines.contains("Ada's"))
        // The next one begins once the first is over.
        first = nil
        await eventually { await ada.post("/account", from: page, "action=export").status == 200 }
        await server.close()
    }

    @Test func `an export is cut off once its session is over`() async throws {
        let sharing = try await Sharing()
        let server = sharing.server
        let ada = await server.browser(of: "lovelace")
        let stream = try #require(await ada.post("/account", from: await ada.get("/account"), "action=export").stream)
        _ = try await server.installation.endSessions(
            ofAccountNamed: "lovelace", id: nil, by: AuditActor(name: "user 0"))
        #expect(await read(stream) == nil)
        await server.close()
    }

    // MARK: Deletion

    @Test func `an account is deleted by its name and a recent sign-in, and others stay`() async throws {
        let sharing = try await Sharing()
        let server = sharing.server
        let ada = await server.browser(of: "lovelace")
        let page = await ada.get("/account")
        for name in ["", "bob", "lovelac"] {
            #expect(await ada.post("/account", from: page, "action=delete&name=\(name)").status == 400, "\(name)")
        }
        server.advance(milliseconds: 16 * 60_000)
        let late = await ada.post("/account", from: page, "action=delete&name=lovelace")
        #expect(late.status == 400 && late.text.contains("last 15 minutes"))
        let again = await server.browser(of: "lovelace")
        let deleted = await again.post("/account", from: await again.get("/account"), "action=delete&name=Lovelace")
        #expect(deleted.status == 200 && deleted.text.contains("are deleted"), "\(deleted.text)")
        #expect(again.cookie("session") == nil)
        #expect(await ada.get("/account").status == 303)
        let names = try await server.installation.accounts(after: "").accounts.map(\.name)
        #expect(!names.contains("lovelace") && names.contains("bob"))
        #expect(await server.call("private/zones/list", sharing.apiToken, sharing.owner, "{}").status == 421)
        #expect(await server.call("private/zones/list", sharing.apiToken, sharing.guest, "{}").status == 200)
        await server.close()
    }

    @Test(arguments: [false, true])
    func `public records go with the account where that is asked for`(_ isAskedFor: Bool) async throws {
        let sharing = try await Sharing()
        let server = sharing.server
        func save(_ session: String, _ name: String) async {
            let saved = await server.call(
                "public/records/modify", sharing.apiToken, session,
                """
                {"operations":[{"operationType":"create","record":{"recordName":"\(name)","recordType":"Note",
                "fields":{"text":{"value":"\(name)"}}}}]}
                """)
            #expect(!saved.text.contains("serverErrorCode"), "\(saved.text)")
        }
        await save(sharing.owner, "ours")
        await save(sharing.guest, "theirs")
        let ada = await server.browser(of: "lovelace")
        let fields = "action=delete&name=lovelace\(isAskedFor ? "&public=on" : "")"
        #expect(await ada.post("/account", from: await ada.get("/account"), fields).status == 200)
        await server.service.settle()
        let left = await server.call(
            "public/records/lookup", sharing.apiToken, sharing.guest,
            #"{"records":[{"recordName":"ours"},{"recordName":"theirs"}]}"#
        ).text
        #expect(left.contains("\"value\":\"theirs\"") && left.contains("\"value\":\"ours\"") == !isAskedFor, "\(left)")
        await server.close()
    }
}
