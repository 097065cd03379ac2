import Foundation
import NephosService
import NephosWire
import Testing

@testable import NephosServer

/// What a session, a token or a key of one container reaches of another account, database or container.
@Suite struct ContainerBoundaryTests {
    private static let other = "iCloud.other"
    private static let root = AuditActor(name: "user 0")

    private func post(
        _ server: ProductionServer, in path: String, _ session: Session, _ body: String,
        container: String = ProductionServer.container
    ) async -> HTTPResponse {
        await post(server, "/database/1/\(container)/development/\(path)", session, body)
    }

    /// Sends a request with an API token of the session's container, and a program token without one.
    private func post(
        _ server: ProductionServer, _ path: String, _ session: Session, _ body: String
    ) async -> HTTPResponse {
        let query = session.apiToken.map { "?ckAPIToken=\($0)" } ?? ""
        var request = HTTPRequest(
            method: .post, target: path + query, host: "cloud.example.org", body: Array(body.utf8))
        request.authorization = "Bearer \(session.token)"
        return await server.responder.respond(to: request)
    }

    private struct Session {
        var token: String
        var apiToken: String?
    }

    /// Begins a session of an account, which may extend the schema of its container.
    private func session(
        _ server: ProductionServer, _ account: String, _ container: String = ProductionServer.container
    ) async throws -> Session {
        let apiToken = try await server.installation.createAPIToken(
            container: container, environment: .development, name: "", origins: [], allowsSignIn: true, lifetime: nil,
            by: Self.root
        ).token
        try await server.installation.grant(.developer, toAccountNamed: account, container: container, by: Self.root)
        let token = try await server.installation.createSession(
            ofAccountNamed: account, container: container, environment: .development, label: "", by: Self.root
        ).token
        return Session(token: token, apiToken: apiToken)
    }

    private func text(_ member: String, _ answer: HTTPResponse) throws -> String {
        let pattern = try Regex(#""\#(member)":"([^"]+)""#, as: (Substring, Substring).self)
        return String(try #require(answer.text.firstMatch(of: pattern), "\(answer.text)").output.1)
    }

    /// Makes a share of a record in a zone.
    /// - Returns: its short GUID.
    private func share(
        _ server: ProductionServer, _ session: Session, container: String, publicPermission: String = "NONE"
    ) async throws -> String {
        let zone = #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Z"}}}]}"#
        #expect(await post(server, in: "private/zones/modify", session, zone, container: container).status == 200)
        let record = #"{"recordName":"r","recordType":"Diary","fields":{"t":{"value":"secret"}}}"#
        let create = #"{"zoneID":{"zoneName":"Z"},"operations":[{"operationType":"create","record":\#(record)}]}"#
        let saved = await post(server, in: "private/records/modify", session, create, container: container)
        let tag = try text("recordChangeTag", saved)
        let share = """
            {"recordType":"cloudkit.share","forRecord":{"recordName":"r","recordChangeTag":"\(tag)"},\
            "publicPermission":"\(publicPermission)"}
            """
        let body = #"{"zoneID":{"zoneName":"Z"},"operations":[{"operationType":"create","record":\#(share)}]}"#
        return try text(
            "shortGUID", await post(server, in: "private/records/modify", session, body, container: container))
    }

    // MARK: Push tokens

    private static let register = #"{"apnsEnvironment":"development","apnsToken":"AAAABBBBCCCCDDDD"}"#

    private func register(_ server: ProductionServer, _ session: Session) async throws -> String {
        let path = "/device/1/\(ProductionServer.container)/development/tokens/register"
        let url = try text("webcourierURL", await post(server, path, session, Self.register))
        return url.replacing(#"\/"#, with: "/").replacing(ProductionServer.url, with: "")
    }

    private func poll(_ server: ProductionServer, _ address: String) async -> HTTPResponse {
        let target = "\(address)?nephosWait=0"
        return await server.responder.respond(to: HTTPRequest(method: .get, target: target, host: "cloud.example.org"))
    }

    @Test func `an address of a device's token polls for the account that made it alone, in either order`()
        async throws
    {
        let server = try await ProductionServer()
        let (bob, mei) = (try await session(server, "bob"), try await session(server, "participant"))
        let former = try await register(server, bob)
        #expect(await poll(server, former).status == 200)
        let own = try await register(server, mei)
        let subscription = #"{"subscriptionType":"database","subscriptionID":"all"}"#
        let subscribe = #"{"operations":[{"operationType":"create","subscription":\#(subscription)}]}"#
        #expect(await post(server, in: "private/subscriptions/modify", mei, subscribe).status == 200)
        #expect(await poll(server, own).text.hasPrefix("{}"))
        let zone = #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Z"}}}]}"#
        #expect(await post(server, in: "private/zones/modify", mei, zone).status == 200)
        await server.service.settle()
        let refused = await poll(server, former)
        #expect(refused.status == 404 && !refused.text.contains("\"Z\""))
        #expect(await poll(server, own).text.contains("\"Z\""))
        // Back on the first account the second one's address ends.
        let again = try await register(server, bob)
        #expect(await poll(server, own).status == 404)
        #expect(await poll(server, again).text.hasPrefix("{}"))
        await server.close()
    }

    // MARK: Shares

    @Test func `a session finds no share of another container, and makes no account there`() async throws {
        let server = try await ProductionServer()
        let owner = try await session(server, "lovelace", Self.other)
        let guid = try await share(server, owner, container: Self.other, publicPermission: "READ_ONLY")
        let body = #"{"shortGUIDs":[{"value":"\#(guid)","shouldFetchRootRecord":true}]}"#
        for account in ["lovelace", "bob"] {
            let found = await post(server, in: "public/records/resolve", try await session(server, account), body)
            #expect(found.status == 200 && found.text.contains("NOT_FOUND"), "\(found.text)")
            #expect(!found.text.contains("secret") && !found.text.contains(Self.other))
        }
        let own = await post(server, in: "public/records/resolve", owner, body, container: Self.other)
        #expect(own.text.contains("secret"))
        let accounts = try await server.service.places(of: server.installation.accountID(named: "bob"))
        #expect(accounts.places.map(\.container) == [ProductionServer.container])
        await server.close()
    }

    @Test func `a program token and a server key reach no record of a database that is not theirs by accepting`()
        async throws
    {
        let server = try await ProductionServer()
        let owner = try await session(server, "lovelace")
        let guid = try await share(server, owner, container: ProductionServer.container, publicPermission: "READ_ONLY")
        let body = #"{"shortGUIDs":[{"value":"\#(guid)","shouldFetchRootRecord":true}]}"#
        let token = try await server.installation.createProgramToken(
            NewProgramToken(
                name: "program",
                places: [ProgramPlace(container: ProductionServer.container, environment: "development")],
                databases: ["shared", "public"], isReadOnly: false, lifetime: nil),
            ofAccountNamed: "lovelace", by: Self.root
        ).token
        try await server.addKeys()
        for action in ["records/accept", "records/resolve"] {
            let byToken = await post(server, in: "public/\(action)", Session(token: token), body)
            #expect(byToken.status == 403 && !byToken.text.contains("secret"), "\(byToken.text)")
            let route = try #require(Routes.table.first { $0.path == action })
            let byKey = await server.send(route, as: .serverKey, body: body)
            #expect(byKey.status == 403 && !byKey.text.contains("secret"), "\(byKey.text)")
        }
        await server.close()
    }

    // MARK: Signed requests

    @Test func `a signed request that writes is carried out once, whichever its endpoint`() async throws {
        let server = try await ProductionServer()
        try await server.addKeys()
        let route = try #require(Routes.table.first { $0.path == "subscriptions/modify" })
        let list = try #require(Routes.table.first { $0.path == "subscriptions/list" })
        let save = try #require(Routes.table.first { $0.path == "records/modify" })
        let record = #"{"recordName":"a","recordType":"Note"}"#
        let saved = await server.send(
            save, as: .serverKey, body: #"{"operations":[{"operationType":"create","record":\#(record)}]}"#)
        #expect(saved.status == 200)
        let subscription = """
            {"subscriptionType":"query","subscriptionID":"s","query":{"recordType":"Note"},"firesOn":["create"]}
            """
        let create = await server.request(
            to: route, as: .serverKey,
            body: #"{"operations":[{"operationType":"create","subscription":\#(subscription)}]}"#)
        let created = await server.responder.respond(to: create)
        #expect(created.status == 200 && !created.text.contains("serverErrorCode"), "\(created.text)")
        let deleted = await server.send(
            route, as: .serverKey,
            body: #"{"operations":[{"operationType":"delete","subscription":{"subscriptionID":"s"}}]}"#)
        #expect(deleted.status == 200)
        let again = await server.responder.respond(to: create)
        #expect(again.status == 409, "\(again.text)")
        let listed = await server.request(to: list, as: .serverKey)
        for _ in 0..<2 {
            let found = await server.responder.respond(to: listed)
            #expect(found.status == 200 && !found.text.contains("\"s\""), "\(found.text)")
        }
        await server.close()
    }

    @Test func `an encoded slash leads to no route`() async throws {
        let server = try await ProductionServer()
        var request = HTTPRequest(
            method: .post, target: "/nephos%2Faccounts%2Flist", host: "localhost", body: Array("{}".utf8))
        request.localUser = 0
        #expect(await server.responder.respond(to: request).status == 404)
        request.target = "/installation%2Fsessions%2Flist"
        #expect(await server.responder.respond(to: request).status == 404)
        await server.close()
    }
}
