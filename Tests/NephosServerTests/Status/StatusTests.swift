import Foundation
import NephosSQLite
import NephosService
import NephosWire
import Testing

@testable import NephosServer

/// `/status`, the operator's view of the server.
@Suite struct StatusTests {
    private func send(
        _ responder: Responder, _ method: HTTPMethod, _ target: String, _ body: String = "",
        origin: String? = nil, host: String = "localhost"
    ) async -> NephosServer.HTTPResponse {
        await responder.respond(
            to: HTTPRequest(method: method, target: target, host: host, origin: origin, body: Array(body.utf8)))
    }

    private static func save(_ type: String, _ count: Int) -> String {
        let operations = (0..<count).map {
            #"{"operationType": "create", "record": {"recordType": "\#(type)", "recordName": "\#(type)\#($0)", "fields": {}}}"#
        }
        return #"{"operations": [\#(operations.joined(separator: ","))]}"#
    }

    @Test func `the status counts records by type, names accounts, and creates nothing`() async throws {
        let service = NephosService(stores: MemoryStores())
        let responder = Responder(service)
        let empty = await send(responder, .get, "/status")
        #expect(try ServiceOverview(decoding: empty.body).containers.isEmpty)
        let database = "/database/1/iCloud.org.example.App/development"
        for (account, type, count) in [("mei", "Note", 3), ("ada", "Folder", 2)] {
            let target = "\(database)/private/records/modify?ckWebAuthToken=dev:\(account)"
            #expect(await send(responder, .post, target, Self.save(type, count)).status == 200)
        }
        let delete = #"{"operations": [{"operationType": "forceDelete", "record": {"recordName": "Note0"}}]}"#
        _ = await send(responder, .post, "\(database)/private/records/modify?ckWebAuthToken=dev:mei", delete)
        let answer = await send(responder, .get, "/status")
        let container = try #require(try ServiceOverview(decoding: answer.body).containers.first)
        #expect(container.container == "iCloud.org.example.App" && container.environment == "development")
        #expect(container.accounts == ["ada", "mei"])
        #expect(
            container.recordTypes.filter { $0.name != "Users" } == [
                .init(name: "Folder", records: 2, database: "private", account: "ada", zone: "_defaultZone"),
                .init(name: "Note", records: 2, database: "private", account: "mei", zone: "_defaultZone"),
            ])
        #expect(container.isComplete)
        let json = try #require(try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any])
        let requests = try #require(json["requests"] as? [[String: Any]])
        #expect(requests.compactMap { $0["summary"] as? String } == ["delete 1", "save 2 Folder", "save 3 Note"])
        #expect(json["answered"] as? Int == 3)
        await service.close()
    }

    @Test func `the status of a request has its time, container and number of failed items`() async throws {
        var environment = ServiceEnvironment.system
        environment.now = { 1_700_000_000_123 }
        let service = NephosService(stores: MemoryStores(), environment: environment)
        let responder = Responder(service)
        _ = await send(responder, .get, "/status")
        let target = "/database/1/iCloud.org.example.App/development/private/records/lookup?ckWebAuthToken=dev:mei"
        _ = await send(responder, .post, target, #"{"records": [{"recordName": "a"}, {"recordName": "b"}]}"#)
        let answer = await send(responder, .get, "/status")
        let json = try #require(try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any])
        let request = try #require((json["requests"] as? [[String: Any]])?.first)
        #expect(request["time"] as? String == "2023-11-14T22:13:20.123Z")
        #expect(request["container"] as? String == "iCloud.org.example.App")
        #expect(request["failedItems"] as? Int == 2)
        await service.close()
    }

    @Test func `the status has only the last requests`() async throws {
        let service = NephosService(stores: MemoryStores())
        let responder = Responder(service)
        _ = await send(responder, .get, "/status")
        for number in 0..<(RecentRequests.shown + 10) { _ = await send(responder, .get, "/x\(number)") }
        let answer = await send(responder, .get, "/status")
        let json = try #require(try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any])
        let requests = try #require(json["requests"] as? [[String: Any]])
        #expect(requests.count == RecentRequests.shown)
        #expect(requests.first?["endpoint"] as? String == "/x\(RecentRequests.shown + 9)")
        await service.close()
    }

    @Test func `a reader of the requests gets each once, and learns how many it missed`() async throws {
        let service = NephosService(stores: MemoryStores())
        let responder = Responder(service)
        func read(after position: Int) async throws -> (paths: [String], next: Int, missed: Int) {
            let answer = await send(responder, .get, "/status/requests?after=\(position)")
            let json = try #require(try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any])
            let requests = try #require(json["requests"] as? [[String: Any]])
            return (
                requests.compactMap { $0["endpoint"] as? String }, try #require(json["next"] as? Int),
                try #require(json["missed"] as? Int)
            )
        }
        _ = await send(responder, .get, "/before")
        #expect(try await read(after: 0) == ([], 0, 0), "nothing is recorded before a look")
        for number in 0..<3 { _ = await send(responder, .get, "/x\(number)") }
        #expect(try await read(after: 0) == (["/x0", "/x1", "/x2"], 3, 0))
        #expect(try await read(after: 2) == (["/x2"], 3, 0))
        #expect(try await read(after: 3) == ([], 3, 0))
        for number in 3..<(RecentRequests.limit + 5) { _ = await send(responder, .get, "/x\(number)") }
        let late = try await read(after: 3)
        #expect(late.paths.first == "/x5" && late.paths.count == RecentRequests.limit)
        #expect(late.next == RecentRequests.limit + 5 && late.missed == 2)
        #expect(try await read(after: late.next + 1).paths.count == RecentRequests.limit, "of a server before")
        #expect(await send(responder, .get, "/status/requests?after=x").status == 400)
        await service.close()
    }

    @Test func `the administration answers no page of another origin of this machine`() async throws {
        let service = NephosService(stores: MemoryStores())
        let responder = Responder(service)
        let target = "/nephos/1/iCloud.a/development/accounts/list"
        func status(_ origin: String?, _ site: String?, _ method: HTTPMethod, _ target: String) async -> Int {
            var request = HTTPRequest(
                method: method, target: target, host: "localhost:8484", origin: origin,
                body: Array("{}".utf8))
            request.fetchSite = site
            return await responder.respond(to: request).status
        }
        for (method, target) in [(HTTPMethod.post, target), (.get, "/status"), (.get, "/status/requests")] {
            let allowed = await status("http://localhost:8484", "same-origin", method, target)
            #expect(allowed != 403)
            for site in [nil, "none", "same-origin"] { #expect(await status(nil, site, method, target) == allowed) }
            for (origin, site) in [
                ("http://localhost:3000", "same-site"), ("http://127.0.0.1:8484", "cross-site"),
                ("https://localhost:8484", nil), (nil, "same-site"),
            ] as [(String?, String?)] { #expect(await status(origin, site, method, target) == 403) }
        }
        // An app of another port goes on using the service itself.
        let database = "/database/1/iCloud.a/development/private/zones/list?ckWebAuthToken=dev:mei"
        #expect(await status("http://localhost:3000", "same-site", .post, database) == 200)
        await service.close()
    }

    @Test func `the status is for this machine alone`() async {
        let service = NephosService(stores: MemoryStores())
        let responder = Responder(service)
        #expect(await send(responder, .get, "/status").status == 200)
        #expect(await send(responder, .get, "/status", host: "evil.example").status == 403)
        #expect(await send(responder, .get, "/status", origin: "http://evil.example").status == 403)
        await service.close()
    }

    @Test func `nephos status prints text and JSON`() async throws {
        let server = try StartedNephos(["dev", "--in-memory", "--port", "0"])
        let port = try readyPort(try await server.readyLine())
        let url = "http://127.0.0.1:\(port)"
        #expect(
            try await StartedNephos(["status", "--url", url]).finish().output == "\(url) answers\nno containers yet\n")
        let connection = try TestConnection(port: port)
        let target = "/database/1/iCloud.a/development/private/records/modify?ckWebAuthToken=dev:mei"
        #expect(try await connection.request("POST", target, body: Self.save("Note", 4)).status == 200)
        let text = try await StartedNephos(["status"], environment: ["NEPHOS_URL": url]).finish().output
        #expect(text.contains("\niCloud.a, development: "))
        #expect(text.contains("; mei\n"))
        #expect(text.contains("\n  Note   4\n") || text.contains("\n  Note  4\n"))
        let json = try await StartedNephos(["status", "--json", "--url", url]).finish()
        #expect(try JSONSerialization.jsonObject(with: Data(json.output.utf8)) is [String: Any])
        let nobody = try await StartedNephos(["status", "--url", "http://127.0.0.1:1"]).finish()
        #expect(nobody.status == 1 && nobody.errors.contains("no server answers at http://127.0.0.1:1"))
    }
}
