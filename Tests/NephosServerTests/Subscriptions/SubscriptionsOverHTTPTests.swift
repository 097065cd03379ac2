import Foundation
import NephosSQLite
import NephosService
import NephosTesting
import Testing

@testable import NephosServer

/// Subscriptions and notifications in raw HTTP and JSON, as any client of CloudKit Web Services sees them.
@Suite struct SubscriptionsOverHTTPTests {
    private static let container = "1/iCloud.org.example.App/development"
    private static let me = "?ckAPIToken=any&ckWebAuthToken=dev:me"

    private func withService(
        pollDuration: Duration = .seconds(45), _ body: (UInt16, NephosService) async throws -> Void
    ) async throws {
        var configuration = ServiceConfiguration()
        configuration.pollDuration = pollDuration
        let service = NephosService(stores: MemoryStores(), configuration: configuration)
        let responder = Responder(service)
        let server = try HTTPServer(ListeningSocket.loopback(port: 0)) { await responder.respond(to: $0) }
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(server.port, service))
        } catch {
            result = .failure(error)
        }
        service.endPolls()
        await server.stop()
        await service.close()
        try result.get()
    }

    private func json(_ response: TestResponse) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any])
    }

    private func post(
        _ connection: TestConnection, _ action: String, _ body: String, sign: String = me
    ) async throws -> TestResponse {
        try await connection.request("POST", "/database/\(Self.container)/private/\(action)\(sign)", body: body)
    }

    private func save(_ name: String, _ connection: TestConnection, sign: String = me) async throws {
        let response = try await post(
            connection, "records/modify",
            """
            {"operations":[{"operationType":"create","record":{"recordName":"\(name)","recordType":"Artwork",
             "fields":{"title":{"value":"Noon"}}}}]}
            """, sign: sign)
        #expect(response.status == 200)
    }

    private func subscribe(_ connection: TestConnection) async throws {
        try await save("first", connection)
        let response = try await post(
            connection, "subscriptions/modify",
            """
            {"operations":[{"operationType":"create","subscription":{"subscriptionID":"S","subscriptionType":"query",
             "query":{"recordType":"Artwork"},"firesOn":["create"],
             "notificationInfo":{"alertBody":"New artwork","additionalFields":["title"]}}}]}
            """)
        #expect(response.status == 200 && response.text.contains("\"subscriptionType\":\"query\""))
    }

    /// The target of the long poll of a new token.
    private func courier(_ connection: TestConnection, sign: String = me) async throws -> String {
        let response = try await connection.request(
            "POST", "/device/\(Self.container)/tokens/create\(sign)", body: #"{"apnsEnvironment":"development"}"#)
        #expect(response.status == 200)
        let token = try json(response)
        #expect(token["apnsEnvironment"] as? String == "development")
        let text = try #require(token["apnsToken"] as? String)
        #expect(Data(base64Encoded: text) != nil)
        let address = try #require(token["webcourierURL"] as? String)
        let url = try #require(URL(string: address))
        #expect(url.scheme == "http" && url.host == "127.0.0.1")
        return url.path
    }

    @Test func `a HEAD of a long poll consumes no notification`() async throws {
        try await withService { port, service in
            let connection = try TestConnection(port: port)
            try await subscribe(connection)
            let courier = try await courier(connection)
            try await save("A-18", connection, sign: Self.me + "&clientId=another")
            let waits = try await connection.request("GET", courier)
            #expect(try json(waits)["ck"] != nil)
            // It comes again where its answer was lost.
            #expect(try await connection.request("HEAD", "\(courier)?nephosReceived=none").status == 200)
            #expect(try json(await connection.request("GET", "\(courier)?nephosReceived=none"))["ck"] != nil)
            try await save("A-19", connection, sign: Self.me + "&clientId=another")
            #expect(try await connection.request("HEAD", courier).status == 200)
            let next = try await connection.request("GET", courier)
            #expect(next.text.contains("A-19"))
        }
    }

    @Test func `a long poll gets the notification of another session's save`() async throws {
        try await withService { port, service in
            let connection = try TestConnection(port: port)
            try await subscribe(connection)
            let courier = try await courier(connection)
            let poll = try TestConnection(port: port)
            try await poll.send("GET \(courier) HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://localhost:3000\r\n\r\n")
            await eventually { service.waitingPolls != 0 }
            try await save("A-18", connection, sign: Self.me + "&clientId=another")
            let response = try await poll.response()
            #expect(response.status == 200)
            #expect(response.headers["access-control-allow-origin"] == "http://localhost:3000")
            let payload = try json(response)
            let alert = (payload["aps"] as? [String: Any])?["alert"] as? [String: Any]
            #expect(alert?["body"] as? String == "New artwork")
            let details = try #require(payload["ck"] as? [String: Any])
            #expect(details["cid"] as? String == "iCloud.org.example.App")
            #expect(details["nid"] is String)
            let query = try #require(details["qry"] as? [String: Any])
            #expect(query["sid"] as? String == "S" && query["rid"] as? String == "A-18" && query["fo"] as? Int == 1)
            #expect(query["zid"] as? String == "_defaultZone")
            #expect((query["af"] as? [String: String]) == ["title": "Noon"])
        }
    }

    @Test func `a poll that times out is answered with {}`() async throws {
        try await withService(pollDuration: .zero) { port, _ in
            let connection = try TestConnection(port: port)
            let response = try await connection.request("GET", try await courier(connection))
            #expect(response.status == 200 && response.text == "{}\n")
        }
    }

    @Test func `a notification whose answer was lost comes with the next poll`() async throws {
        try await withService { port, service in
            let connection = try TestConnection(port: port)
            try await subscribe(connection)
            let courier = try await courier(connection)
            let lost = try TestConnection(port: port)
            try await lost.send("GET \(courier) HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            await eventually { service.waitingPolls != 0 }
            lost.abandon()
            try await save("A-18", connection)
            // By what it says it received, the server knows, however the answer went.
            let first = try await connection.request("GET", courier + "?nephosReceived=none")
            #expect(first.text.contains("\"rid\":\"A-18\""))
            let again = try await connection.request("GET", courier + "?nephosReceived=none")
            #expect(again.text == first.text)
            let details = try #require(try json(first)["ck"] as? [String: Any])
            let received = try #require(details["nid"] as? String)
            try await save("A-19", connection)
            let next = try await connection.request("GET", courier + "?nephosReceived=\(received)")
            #expect(next.text.contains("\"rid\":\"A-19\""))
        }
    }

    @Test func `a poll that does not wait answers what there is, or nothing`() async throws {
        try await withService { port, _ in
            let connection = try TestConnection(port: port)
            try await subscribe(connection)
            let courier = try await courier(connection)
            #expect(try await connection.request("GET", courier + "?nephosReceived=none&nephosWait=0").text == "{}\n")
            try await save("A-18", connection)
            let held = try await connection.request("GET", courier + "?nephosReceived=none")
            #expect(held.text.contains("\"rid\":\"A-18\""))
            let first = try await connection.request("GET", courier + "?nephosReceived=none&nephosWait=0")
            #expect(first.text == held.text)
            let details = try #require(try json(first)["ck"] as? [String: Any])
            let received = try #require(details["nid"] as? String)
            let last = try await connection.request("GET", courier + "?nephosReceived=\(received)&nephosWait=0")
            #expect(last.text == "{}\n")
        }
    }

    @Test func `the older path of tokens/create does the same, and register answers like create`() async throws {
        try await withService { port, _ in
            let connection = try TestConnection(port: port)
            let created = try await post(
                connection, "tokens/create", #"{"apnsEnvironment":"production","clientId":"c"}"#)
            #expect(created.status == 200)
            let token = try #require(try json(created)["apnsToken"] as? String)
            let registered = try await connection.request(
                "POST", "/device/\(Self.container)/tokens/register\(Self.me)",
                body: #"{"apnsEnvironment":"production","apnsToken":"\#(token)"}"#)
            #expect(registered.status == 200 && registered.text == created.text)
        }
    }

    @Test func `a deletion is answered with its ID alone, list and lookup with dictionaries`() async throws {
        try await withService { port, _ in
            let connection = try TestConnection(port: port)
            try await subscribe(connection)
            for method in ["GET", "POST"] {
                let list = try await connection.request(
                    method, "/database/\(Self.container)/private/subscriptions/list\(Self.me)",
                    body: method == "GET" ? nil : "{}")
                #expect(list.status == 200 && list.text.contains("\"subscriptionID\":\"S\""))
            }
            let lookup = try await post(
                connection, "subscriptions/lookup",
                #"{"subscriptions":[{"subscriptionID":"S"},{"subscriptionID":"X"}]}"#)
            #expect(lookup.text.contains("\"serverErrorCode\":\"NOT_FOUND\""))
            let deleted = try await post(
                connection, "subscriptions/modify",
                #"{"operations":[{"operationType":"delete","subscription":{"subscriptionID":"S"}}]}"#)
            #expect(deleted.text == #"{"subscriptions":[{"subscriptionID":"S"}]}"# + "\n")
        }
    }

    @Test(
        arguments: [
            ("subscriptions/modify", "{}", "operations"),
            ("subscriptions/modify", #"{"operations":[{"operationType":"create"}]}"#, "operations[0].subscription"),
            (
                "subscriptions/modify",
                #"{"operations":[{"operationType":"create","subscription":{"subscriptionType":"record"}}]}"#,
                "operations[0].subscription.subscriptionType"
            ),
            ("subscriptions/lookup", #"{"subscriptions":[{}]}"#, "subscriptions[0].subscriptionID"),
            ("tokens/create", "{}", "apnsEnvironment"),
            ("tokens/create", #"{"apnsEnvironment":"sandbox"}"#, "apnsEnvironment"),
            ("tokens/register", #"{"apnsEnvironment":"production"}"#, "apnsToken"),
            ("tokens/register", #"{"apnsEnvironment":"production","apnsToken":"%"}"#, "apnsToken"),
        ])
    func `a malformed request is refused with what is wrong and where`(action: String, body: String, mention: String)
        async throws
    {
        try await withService { port, _ in
            let response = try await post(try TestConnection(port: port), action, body)
            #expect(response.status == 400)
            let error = try json(response)
            #expect(error["serverErrorCode"] as? String == "BAD_REQUEST")
            #expect((error["reason"] as? String)?.contains(mention) == true, "\(response.text)")
        }
    }

    @Test func `a poll without an account, or by an unknown token, gets nothing`() async throws {
        try await withService { port, _ in
            let connection = try TestConnection(port: port)
            for action in ["subscriptions/modify", "tokens/create"] {
                let body = #"{"operations":[],"apnsEnvironment":"development"}"#
                let response = try await post(connection, action, body, sign: "?ckAPIToken=any")
                #expect(response.status == 421)
            }
            let target = "/courier/\(Self.container)/neph"
            let unknown = try await connection.request("GET", target, takesAdditions: false)
            #expect(unknown.status == 404 && !unknown.text.contains("nephosErrorCode"))
            #expect(try await connection.request("POST", target, body: "{}").status == 404)
            #expect(try await connection.request("PUT", target, body: "{}").status == 405)
            #expect(try await connection.request("GET", "/courier/1/x/staging/t").status == 400)
            #expect(try await connection.request("GET", "/courier/\(Self.container)").status == 404)
            let device = "/device/\(Self.container)/records/modify\(Self.me)"
            #expect(try await connection.request("POST", device, body: "{}").status == 404)
        }
    }

    @Test func `every waiting poll is answered when the server stops`() async throws {
        try await withService { port, service in
            let connection = try TestConnection(port: port)
            var polls: [TestConnection] = []
            for name in ["a", "b", "c"] {
                let courier = try await courier(connection, sign: "?ckWebAuthToken=dev:\(name)")
                let poll = try TestConnection(port: port)
                try await poll.send("GET \(courier) HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                polls.append(poll)
            }
            await eventually { service.waitingPolls >= 3 }
            service.endPolls()
            for poll in polls { #expect(try await poll.response().text == "{}\n") }
        }
    }
}
