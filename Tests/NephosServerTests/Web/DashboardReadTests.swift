import NephosSQLite
import NephosStorage
import Testing

@testable import NephosServer
@testable import NephosService

/// The requests of the dashboard's views, which read and make nothing.
@Suite struct DashboardReadTests {
    private static let zone = #""database":"private","account":"mei","zoneName":"Lists""#

    /// The requests of all views, to a place.
    private static func requests(_ place: String) -> [(HTTPMethod, String, String)] {
        let gets = ["schema/export", "schema/indexes", "schema/deployment"].map { "/nephos/1/\(place)/\($0)" }
        let own = ["/status", "/status/requests", "/status/requests/show?id=x", "/status/requests/stream"]
        let posts = [
            ("accounts/list", "{}"), ("zones/list", "{}"), ("zones/list", #"{"account":"mei"}"#), ("shares/list", "{}"),
            ("records/list", "{\(zone)}"), ("records/list", #"{"database":"public"}"#),
            (
                "records/list",
                #"{\#(zone),"recordType":"Item","filterBy":[{"fieldName":"other","comparator":"EQUALS","#
                    + #""fieldValue":{"value":"x"}}]}"#
            ),
            ("records/show", #"{\#(zone),"recordName":"a"}"#), ("records/show", #"{\#(zone),"recordName":"none"}"#),
            ("records/find", #"{"recordName":"a"}"#), ("records/find", #"{"recordName":"none","database":"public"}"#),
            ("access/explain", #"{"account":"tom","owner":"mei","zoneName":"Lists","recordName":"a"}"#),
            ("access/explain", #"{"account":"new","owner":"mei","zoneName":"None","recordName":"a"}"#),
            ("devices/list", "{}"),
            ("queries/explain", explanation("private", "mei", "title")),
            ("queries/explain", explanation("private", "mei", "other")),
            ("queries/explain", explanation("private", "new", "title")),
            ("queries/explain", explanation("shared", "new", "title")),
        ]
        return (own + gets).map { (.get, $0, "") } + posts.map { (.post, "/nephos/1/\(place)/\($0)", $1) }
    }

    /// The question how a query by a field is answered.
    private static func explanation(_ database: String, _ account: String?, _ field: String) -> String {
        let account = account.map { #","account":"\#($0)""# } ?? ""
        return
            #"{"database":"\#(database)"\#(account),"request":\#(query(field, database == "private" ? "Lists" : nil))}"#
    }

    private static func query(_ field: String, _ zone: String?) -> String {
        let zone = zone.map { #""zoneID":{"zoneName":"\#($0)"},"# } ?? ""
        return #"{\#(zone)"query":{"recordType":"Item","filterBy":[{"fieldName":"\#(field)","comparator":"EQUALS","#
            + #""fieldValue":{"value":"x"}}]}}"#
    }

    private func send(_ responder: Responder, _ method: HTTPMethod, _ target: String, _ body: String) async -> Int {
        await responder.respond(
            to: HTTPRequest(method: method, target: target, host: "localhost", body: Array(body.utf8))
        ).status
    }

    /// All stores, and all of their rows that requests write.
    private func content(_ service: NephosService) async throws -> [String] {
        var lines = try await service.stores.known().map { "\($0)" }.sorted()
        for id in try await service.stores.known() {
            lines += try await service.stores.usingExisting(id) { store in
                guard let store else { return [] }
                return try await store.engine.read { try Self.rows($0) }
            }
        }
        return lines
    }

    private static func rows(_ reader: StorageReader) throws -> [String] {
        let accounts = try reader.accounts(after: 0, limit: 100)
        let zones = try reader.zones(after: 0, limit: 100)
        var rows = accounts.map { "\($0)" } + zones.map { "\($0)" }
        rows += try reader.schemaFields().map { "\($0)" } + reader.recordTypes()
        rows += try reader.indexDefinitions().map { "\($0)" } + reader.jobs(limit: 100).map { "\($0)" }
        for zone in zones { rows += try reader.records(zone: zone.key, after: 0, limit: 100).map { "\($0)" } }
        for account in accounts {
            rows += try reader.pushTokens(account: account.id).map { "\($0)" }
            for owner in account.subscriptionOwners {
                rows += try reader.subscriptions(owner: owner, account: account.id).map { "\($0)" }
            }
        }
        return rows
    }

    @Test func `every view leaves the stores as they were, also views of containers that do not exist`() async throws {
        let service = NephosService(stores: MemoryStores())
        let responder = Responder(service)
        func database(_ action: String, _ account: String, _ body: String) async -> Int {
            let target = "/database/1/iCloud.a/development/private/\(action)?ckWebAuthToken=dev:\(account)"
            return await send(responder, .post, target, body)
        }
        let create = #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Lists"}}}]}"#
        #expect(await database("zones/modify", "mei", create) == 200)
        let record = #"{"recordName":"a","recordType":"Item","fields":{"title":{"value":"x"},"other":{"value":"y"}}}"#
        let save =
            #"{"zoneID":{"zoneName":"Lists"},"operations":[{"operationType":"create","record":\#(record)}]}"#
        #expect(await database("records/modify", "mei", save) == 200)
        #expect(await database("zones/list", "tom", "{}") == 200)
        #expect(await database("records/query", "mei", Self.query("title", "Lists")) == 200)
        await service.settle()
        let before = try await content(service)
        #expect(before.contains { $0.contains("Item") })
        for place in ["iCloud.a/development", "iCloud.a/production", "iCloud.none/development"] {
            for (method, target, body) in Self.requests(place) {
                let status = await send(responder, method, target, body)
                let isKnown = place == "iCloud.a/development"
                let mayFail =
                    !isKnown || target.contains("show") || body.contains("new")
                    || (target.contains("queries") && body.contains("other"))
                #expect(mayFail ? status < 500 : status == 200, "\(target) \(body)")
            }
        }
        await service.settle()
        #expect(try await content(service) == before)
        await service.close()
    }

    @Test func `a query is explained to whom it concerns, and a deleted account stays deleted`() async throws {
        let service = NephosService(stores: MemoryStores())
        let responder = Responder(service)
        func post(_ target: String, _ body: String) async -> (status: Int, text: String) {
            let response = await responder.respond(
                to: HTTPRequest(method: .post, target: target, host: "localhost", body: Array(body.utf8)))
            return (response.status, String(decoding: response.body, as: UTF8.self))
        }
        let database = "/database/1/iCloud.a/development/private"
        let place = "/nephos/1/iCloud.a/development"
        let record = #"{"recordType":"Item","fields":{"title":{"value":"x"},"other":{"value":"y"}}}"#
        let save = #"{"operations":[{"operationType":"create","record":\#(record)}]}"#
        #expect(await post("\(database)/records/modify?ckWebAuthToken=dev:mei", save).status == 200)
        #expect(await post("\(database)/records/query?ckWebAuthToken=dev:mei", Self.query("title", nil)).status == 200)
        func explained(_ database: String, _ account: String?, _ field: String = "title") async -> (Int, String) {
            let body = Self.explanation(database, account, field).replacing(
                #""zoneID":{"zoneName":"Lists"},"#, with: "")
            return await post("\(place)/queries/explain", body)
        }
        let own = await explained("private", "mei")
        #expect(own.0 == 200 && own.1.contains(#""recordsReturned":1"#), "\(own)")
        let everyones = await explained("public", nil)
        #expect(everyones.0 == 200 && everyones.1.contains(#""recordsReturned":0"#), "\(everyones)")
        let unindexed = await explained("private", "mei", "other")
        #expect(unindexed.0 == 400 && unindexed.1.contains("does not exist yet"), "\(unindexed)")
        for database in ["private", "secret"] { #expect(await explained(database, nil).0 >= 400) }
        #expect(await post("\(place)/accounts/delete", #"{"account":"mei"}"#).status == 200)
        #expect(await explained("private", "mei").0 == 404)
        #expect(await !post("\(place)/accounts/list", "{}").text.contains("mei"))
        await service.close()
    }

    @Test func `a client is as many changes behind as it has not got`() async throws {
        let service = NephosService(stores: MemoryStores())
        let responder = Responder(service)
        func database(_ action: String, _ client: String, _ body: String) async -> Int {
            let target =
                "/database/1/iCloud.a/development/private/\(action)?ckWebAuthToken=dev:mei&clientId=\(client)"
            return await send(responder, .post, target, body)
        }
        func save(_ names: [String]) async {
            let operations = names.map {
                #"{"operationType":"forceUpdate","record":{"recordName":"\#($0)","recordType":"Item","fields":{}}}"#
            }
            let body = #"{"zoneID":{"zoneName":"Lists"},"operations":[\#(operations.joined(separator: ","))]}"#
            #expect(await database("records/modify", "phone", body) == 200)
        }
        let create = #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Lists"}}}]}"#
        // Clients are noted once somebody has looked.
        #expect(await database("zones/modify", "early", create) == 200)
        #expect(await send(responder, .post, "/nephos/1/iCloud.a/development/devices/list", "{}") == 200)
        await save(["a"])
        let fetch = #"{"zones":[{"zoneID":{"zoneName":"Lists"}}]}"#
        for client in ["pad", "phone"] { #expect(await database("changes/zone", client, fetch) == 200) }
        await save(["b", "c"])
        #expect(await database("changes/zone", "phone", fetch) == 200)
        let response = await responder.respond(
            to: HTTPRequest(
                method: .post, target: "/nephos/1/iCloud.a/development/devices/list", host: "localhost",
                body: Array("{}".utf8)))
        let text = String(decoding: response.body, as: UTF8.self)
        #expect(text.contains(#""client":"pad","endpoint":"changes\/zone""#), "\(text)")
        #expect(text.contains(#""zones":[{"behind":2,"zoneName":"Lists"}]"#))
        #expect(text.contains(#""zones":[{"behind":0,"zoneName":"Lists"}]"#))
        #expect(text.contains(#""clientCount":2"#))
        await service.close()
    }

    @Test func `the log of clients is bounded, and forgets those that were heard least recently`() {
        let log = ClientLog()
        func context(_ client: Int) -> RequestContext {
            RequestContext(
                container: "iCloud.a", environment: .development, scope: .private, account: "mei",
                clientID: "\(client)", requestID: "")
        }
        for client in 0..<ClientLog.limit { log.note(context(client), "records/modify", at: Int64(client)) }
        log.note(context(0), "records/query", at: 1_000_000)
        log.note(context(-1), "records/query", at: 1_000_001)
        #expect(log.count <= ClientLog.limit)
        let (clients, _) = log.clients(of: "iCloud.a", .development, limit: .max)
        #expect(clients.first?.key.client == "-1" && clients[1].key.client == "0")
        #expect(!clients.contains { $0.key.client == "1" })
        #expect(log.clients(of: "iCloud.a", .production, limit: 1).count == 0)
    }
}
