import CloudKit
import Foundation
import Testing

@testable import NephosServer

/// The log of `nephos serve` has request identifiers and account identifiers, but no addresses of people and no secrets.
@Suite struct ProductionLogTests {
    private static let address = "ada@example.org"
    private static let other = "Grace.Hopper@Navy.example"
    private static let container = "iCloud.org.example.Log"

    /// Requests with an address, a password and tokens where clients may write something.
    private func sendOddRequests(
        _ send: (String, String, [String: String], String) async throws -> Void, _ secret: String
    )
        async throws
    {
        let escaped = secret.replacing("@", with: "%40").replacing(" ", with: "%20")
        let database = "/database/1/\(Self.container)/development"
        for target in [
            "/\(escaped)", "/share/\(escaped)", "/database/1/\(escaped)/development/private/records/query",
            "\(database)/\(escaped)/records/query", "\(database)/private/\(escaped)/query",
            "\(database)/private/records/query?ckAPIToken=\(escaped)&ckWebAuthToken=\(escaped)",
            "/nephos/1/installation/\(escaped)/create", "/nephos/1/\(escaped)/development/zones/list",
            "/assets/download/1/\(escaped)/development/\(escaped)/\(escaped)",
            "/courier/1/\(escaped)/\(escaped)/\(escaped)",
            "/sign-in?ckAPIToken=\(escaped)&origin=\(escaped)", "/link?token=\(escaped)",
            "/recover?return=\(escaped)", "/sign-up?return=\(escaped)", "/%FF\(escaped)",
        ] { try await send("GET", target, [:], "") }
        let bodies = [
            secret, #"{"\#(secret)": "\#(secret)"}"#, #"{"account": "\#(secret)", "password": "\#(secret)"}"#,
            #"{"operations": [{"operationType": "\#(secret)"}]}"#,
            #"{"query": {"recordType": "\#(secret)"}, "zoneID": {"zoneName": "\#(secret)"}}"#,
            #"{"records": [{"recordName": "\#(secret)"}], "emails": ["\#(secret)"]}"#,
        ]
        for action in [
            "\(database)/private/records/modify", "\(database)/public/records/lookup",
            "\(database)/public/records/query",
            "/nephos/1/installation/sessions/sign-in", "/nephos/1/installation/accounts/create",
            "/nephos/1/installation/accounts/invite", "/sign-in",
            "/sign-up", "/recover", "/link",
        ] {
            for body in bodies { try await send("POST", action, [:], body) }
        }
        for header in ["Authorization", "Origin", "Cookie", "Content-Encoding", "X-Forwarded-For", "Host", "Range"] {
            try await send("POST", "\(database)/private/records/query", [header: secret], "{}")
            try await send("POST", "\(database)/private/records/query", [header: "Bearer \(secret)"], "{}")
        }
    }

    /// Serves with a log, and returns the log.
    private func log(
        _ options: [String], _ body: (UInt16, String) async throws -> Void
    ) async throws -> String {
        var log = ""
        try await withTemporaryDirectory { directory in
            let data = directory.appendingPathComponent("data").path
            let mails = directory.appendingPathComponent("mails").path
            for path in [data, mails] {
                try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            }
            let sockets = try ListeningSocket.loopback(port: 0)
            let port = sockets[0].port
            for socket in sockets { socket.close() }
            let server = try StartedNephos(
                [
                    "serve", "--data", data, "--url", "http://127.0.0.1:\(port)", "--listen", "127.0.0.1:\(port)",
                    "--mail-directory", mails, "--mail-from", "no-reply@example.org", "--sign-up", "open",
                ] + options)
            _ = try await server.readyLine()
            // The log is read while the server writes, because a pipe that is full would block the writer.
            async let text = offThePool { [errors = server.errors] in
                String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            }
            try await body(port, data)
            let finished = try await server.stop()
            #expect(finished.status == 0)
            log = try await text
        }
        return log
    }

    private func run(_ data: String, _ arguments: String..., input: String? = nil) async throws -> String {
        let finished = try await StartedNephos(arguments + ["--data", data], input: input.map(typed)).finish()
        return finished.output.trimmingCharacters(in: .newlines)
    }

    @Test(arguments: [[], ["--log", "json"]])
    func `no address, password or token is in the log`(_ options: [String]) async throws {
        let password = StartedProduction.password
        var secrets = [Self.address, "ADA@example.org", Self.other, password, "wrong horse of a staple"]
        var account = ""
        let log = try await log(options) { port, data in
            _ = try await run(data, "containers", "create", Self.container)
            _ = try await run(data, "accounts", "create", Self.address, input: password)
            _ = try await run(data, "accounts", "create", Self.other, input: password)
            // Refused: it exists.
            _ = try await run(data, "accounts", "create", Self.address, input: password)
            for action in ["verify", "invite"] { _ = try await run(data, "accounts", action, Self.address) }
            _ = try await run(data, "accounts", "invite", "guest@example.org")
            secrets += ["guest@", try await run(data, "accounts", "recovery-link", Self.address)]
            _ = try await run(data, "admins", "grant", Self.address)
            _ = try await run(data, "admins", "grant", "nobody@example.org")
            let apiToken = try await run(data, "api-tokens", "create", "--container", Self.container)
            let session = try await run(data, "sessions", "create", Self.address, "--container", Self.container)
            _ = try await run(data, "sessions", "list", Self.address)
            let accounts = try await run(data, "accounts", "list")
            account = try #require(accounts.firstMatch(of: /ada@example.org  (\S+)/)).1.description
            secrets += [apiToken, session, "nobody@example.org"]
            func send(_ method: String, _ target: String, _ headers: [String: String], _ body: String) async throws {
                for path in [nil, "\(data)/nephos.sock"] {
                    let connection = try path.map { try TestConnection(path: $0) } ?? TestConnection(port: port)
                    let host = ["Host": path == nil ? "127.0.0.1:\(port)" : "localhost"]
                    _ = try? await connection.request(
                        method, target, headers: host.merging(headers) { $1 }, body: body.isEmpty ? nil : body)
                }
            }
            let signIn = "/nephos/1/installation/sessions/sign-in?ckAPIToken=\(apiToken)"
            for word in [password, "wrong horse of a staple"] {
                try await send("POST", signIn, [:], #"{"account": "\#(Self.address)", "password": "\#(word)"}"#)
            }
            let sign = "?ckAPIToken=\(apiToken)&ckWebAuthToken=\(session)"
            let database = "/database/1/\(Self.container)/development"
            try await send(
                "POST", "\(database)/private/records/lookup\(sign)", [:],
                #"{"records": [{"recordName": "\#(Self.address)"}, {"recordName": "\#(session)"}]}"#)
            try await send(
                "POST", "\(database)/private/zones/modify\(sign)", [:],
                #"{"operations": [{"operationType": "create", "zone": {"zoneID": {"zoneName": "\#(Self.other)"}}}]}"#)
            try await send(
                "POST", "\(database)/public/users/lookup/email\(sign)", [:],
                #"{"users": [{"emailAddress": "\#(Self.other)"}]}"#)
            for secret in [Self.address, password, session] { try await sendOddRequests(send, secret) }
        }
        let found = log.lowercased()
        for secret in secrets {
            let forms = [secret, secret.replacing("@", with: "%40"), secret.replacing(" ", with: "%20")]
            for form in forms where found.contains(form.lowercased()) {
                let line = log.split(separator: "\n").first { $0.lowercased().contains(form.lowercased()) } ?? ""
                Issue.record("the log has \(form): \(line)")
            }
        }
        let lines = log.split(separator: "\n")
        #expect(lines.count > 150, "\(log)")
        let uuid = /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/
        let requests = lines.filter { $0.contains(" ms ") || $0.contains(#""endpoint""#) }
        #expect(requests.count > 150 && requests.allSatisfy { $0.contains(uuid) })
        // The line of a request that was answered names its account by identifier.
        let lookup = try #require(requests.first { $0.contains("records/lookup") && $0.contains("200") })
        #expect(lookup.contains(account) && lookup.contains(Self.container), "\(lookup)")
    }
}
