import Foundation
import Glibc
import Testing

/// Deliveries of `nephos` to a configured push service and web hook.
@Suite struct DeliveryTests {
    private static let container = "iCloud.org.example.App"

    /// The stand-ins, and the options that name them.
    private struct Outside {
        let push: StandIn
        let hook: StandIn

        init(push: String = "[]", hook: String = "[]") async throws {
            self.push = try await StandIn.start("apns", answers: push)
            self.hook = try await StandIn.start("web_hook", answers: hook)
        }

        func options(data: URL) throws -> [String] {
            [
                "dev", "--port=0", "--data", data.path, "--apns-url", try push.value("url"), "--apns-key",
                try push.value("key"), "--apns-key-id", try push.value("keyID"), "--apns-team",
                try push.value("teamID"), "--apns-topic", try push.value("topic"), "--outgoing-ca",
                try push.value("certificates"), "--web-hook", try hook.value("url"), "--web-hook-secret",
                try hook.value("secretFile"),
            ]
        }
    }

    private func start(_ outside: Outside, in directory: URL) async throws -> (StartedNephos, TestConnection) {
        let server = try StartedNephos(try outside.options(data: directory))
        return (server, try TestConnection(port: try readyPort(try await server.readyLine())))
    }

    private func post(
        _ path: String, as user: String, _ body: String, _ connection: TestConnection
    ) async throws -> String {
        let response = try await connection.request(
            "POST", "\(path)?ckAPIToken=any&ckWebAuthToken=dev:\(user)", body: body)
        try #require(response.status == 200 && !response.text.contains("serverErrorCode"), "\(response.text)")
        return response.text
    }

    /// Registers a device of Alice's, and subscribes her to everybody's new notes. One is there before.
    private func subscribeAlice(_ connection: TestConnection) async throws {
        try await save("before", connection)
        _ = try await post(
            "/device/1/\(Self.container)/development/tokens/register", as: "alice",
            #"{"apnsEnvironment":"development","apnsToken":"AKv/EAcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc="}"#, connection
        )
        _ = try await post(
            "/database/1/\(Self.container)/development/public/subscriptions/modify", as: "alice",
            """
            {"operations":[{"operationType":"create","subscription":{"subscriptionID":"notes",
            "subscriptionType":"query","query":{"recordType":"Note"},"firesOn":["create"],
            "notificationInfo":{"alertBody":"A new note","soundName":"default"}}}]}
            """, connection)
    }

    private func save(_ name: String, type: String = "Note", _ connection: TestConnection) async throws {
        let answer = try await post(
            "/database/1/\(Self.container)/development/public/records/modify", as: "bob",
            """
            {"operations":[{"operationType":"create","record":{"recordName":"\(name)","recordType":"\(type)",
            "fields":{"text":{"value":"Noon"}}}}]}
            """, connection)
        try #require(answer.contains("recordChangeTag"), "\(answer)")
    }

    private struct Payload: Decodable {
        struct Alert: Decodable { var body: String }
        struct Aps: Decodable {
            var alert: Alert
            var sound: String?
        }
        struct Query: Decodable {
            var sid: String
            var rid: String
            var fo: Int
        }
        struct CK: Decodable {
            var cid: String
            var nid: String
            var qry: Query
        }
        var aps: Aps
        var ck: CK
    }

    private struct Hooked: Decodable {
        struct Content: Decodable {
            var container: String
            var environment: String
            var subscriptionID: String
            var notification: Payload
        }
        var type: String
        var data: Content
    }

    private func pushed(_ standIn: StandIn) async throws -> (StandIn.Request, Payload) {
        let request = try await standIn.request()
        #expect(request.problem == nil)
        return (request, try JSONDecoder().decode(Payload.self, from: Data(request.body.utf8)))
    }

    private func hooked(_ standIn: StandIn) async throws -> (StandIn.Request, Hooked) {
        let request = try await standIn.request()
        #expect(request.problem == nil)
        return (request, try JSONDecoder().decode(Hooked.self, from: Data(request.body.utf8)))
    }

    @Test func `a save by another account reaches the device and the web hook`() async throws {
        try await withTemporaryDirectory { directory in
            let outside = try await Outside()
            let (server, connection) = try await start(outside, in: directory)
            try await subscribeAlice(connection)
            try await save("first", connection)
            let (push, payload) = try await pushed(outside.push)
            #expect(push.path == "/3/device/00abff10" + String(repeating: "07", count: 28))
            #expect(push.headers["apns-push-type"] == "alert")
            #expect(payload.aps.alert.body == "A new note")
            #expect(payload.aps.sound == "default")
            #expect(payload.ck.cid == Self.container)
            #expect(payload.ck.qry.sid == "notes" && payload.ck.qry.rid == "first" && payload.ck.qry.fo == 1)
            #expect(push.headers["apns-id"] == payload.ck.nid.lowercased())

            let (hook, content) = try await hooked(outside.hook)
            #expect(hook.headers["webhook-id"]?.lowercased() == content.data.notification.ck.nid.lowercased())
            #expect(content.type == "cloudkit.notification")
            #expect(content.data.container == Self.container && content.data.environment == "development")
            #expect(content.data.subscriptionID == "notes")
            #expect(content.data.notification.ck.qry.rid == "first")

            // A change without a subscription is not notified: the next notification is of the record after it.
            try await save("other", type: "Photo", connection)
            try await save("second", connection)
            #expect(try await pushed(outside.push).1.ck.qry.rid == "second")
            #expect(try await hooked(outside.hook).1.data.notification.ck.qry.rid == "second")
            let finished = try await server.stop()
            #expect(finished.status == 0)
            let lines = finished.errors.split(separator: "\n").filter {
                !$0.contains("was made by its first write") && !$0.contains("preflight: ")
            }
            #expect(lines.isEmpty, "\(lines)")
        }
    }

    @Test func `a notification survives a kill between its commit and its delivery`() async throws {
        try await withTemporaryDirectory { directory in
            // The first request of each is never answered.
            let outside = try await Outside(push: #"[{"gather": 2}]"#, hook: #"[{"silent": true}]"#)
            let (server, connection) = try await start(outside, in: directory)
            try await subscribeAlice(connection)
            try await save("first", connection)
            let (firstPush, _) = try await pushed(outside.push)
            let (firstHook, _) = try await hooked(outside.hook)
            let killed = try await server.stop(SIGKILL)
            #expect(!killed.exited && killed.status == SIGKILL)

            let (again, connectionAgain) = try await start(outside, in: directory)
            let (secondPush, payload) = try await pushed(outside.push)
            #expect(payload.ck.qry.rid == "first")
            #expect(secondPush.headers["apns-id"] == firstPush.headers["apns-id"])
            #expect(secondPush.body == firstPush.body)
            let (secondHook, _) = try await hooked(outside.hook)
            #expect(secondHook.headers["webhook-id"] == firstHook.headers["webhook-id"])
            #expect(secondHook.body == firstHook.body)

            // Once delivered, it is not sent again.
            try await save("second", connectionAgain)
            #expect(try await pushed(outside.push).1.ck.qry.rid == "second")
            #expect(try await hooked(outside.hook).1.data.notification.ck.qry.rid == "second")
            #expect(try await again.stop().status == 0)
        }
    }

    @Test func `a stop does not wait for an unresponsive server`() async throws {
        try await withTemporaryDirectory { directory in
            let outside = try await Outside(push: #"[{"gather": 2}]"#, hook: #"[{"silent": true}]"#)
            let (server, connection) = try await start(outside, in: directory)
            try await subscribeAlice(connection)
            try await save("first", connection)
            _ = try await pushed(outside.push)
            _ = try await hooked(outside.hook)
            #expect(try await server.stop().status == 0)
            // What was under way is sent after the next start.
            let (again, _) = try await start(outside, in: directory)
            #expect(try await pushed(outside.push).1.ck.qry.rid == "first")
            #expect(try await hooked(outside.hook).1.data.notification.ck.qry.rid == "first")
            #expect(try await again.stop().status == 0)
        }
    }
}

/// Invalid options for notifications.
@Suite struct NotificationOptionsTests {
    @Test(arguments: [
        (["--web-hook", "https://example.org/"], "'--web-hook' needs '--web-hook-secret FILE'"),
        (["--web-hook-secret", "/dev/null"], "'--web-hook-secret' needs '--web-hook URL'"),
        (["--apns-key", "key.p8", "--apns-team", "DEF123GHIJ"], "'--apns-key' needs '--apns-key-id' too"),
        (["--apns-url", "https://127.0.0.1:1"], "'--apns-url' needs '--apns-key' too"),
        (["--outgoing-ca", "ca.pem"], "'--outgoing-ca' needs '--apns-key' or '--web-hook'"),
        (
            [
                "--apns-key=none.p8", "--apns-key-id=ABC123DEFG", "--apns-team=DEF123GHIJ",
                "--apns-topic=org.example.App",
            ],
            "the key 'none.p8' cannot be read"
        ),
        (["--web-hook=ftp://example.org/", "--web-hook-secret=SECRET"], "must begin with https:// or http://"),
        (["--web-hook=http://me:pass@example.org/", "--web-hook-secret=SECRET"], "must not hold a user name"),
        (["--web-hook=http://example.org/", "--web-hook-secret=WRONG"], "holds no secret for web hooks"),
        (
            ["--web-hook=http://example.org/", "--web-hook-secret=SECRET", "--outgoing-ca=SECRET"],
            "holds no certificates in PEM"
        ),
    ])
    func `a wrong configuration is refused at the start`(_ arguments: [String], _ message: String) async throws {
        try await withTemporaryDirectory { directory in
            let secret = directory.appendingPathComponent("SECRET")
            try Data("whsec_\(Data(repeating: 7, count: 32).base64EncodedString())\n".utf8).write(to: secret)
            try Data("hunter2".utf8).write(to: directory.appendingPathComponent("WRONG"))
            let finished = try await StartedNephos(["dev", "--port=0", "--in-memory"] + arguments, in: directory)
                .finish()
            #expect(finished.status == 2)
            #expect(finished.output.isEmpty)
            #expect(finished.errors.contains(message), "\(finished.errors)")
            for hidden in ["hunter2", "pass@", "BwcH"] { #expect(!finished.errors.contains(hidden)) }
        }
    }
}
