import Foundation
import NephosPostgresTesting
import Testing

@testable import CloudKit
@testable import NephosPostgres
@testable import NephosServer

/// A database of a fixture in the cluster of the tests.
struct FixtureDatabase {
    let name: String
    private let host: String

    static func make() throws -> FixtureDatabase {
        let text = try TestCluster.text.get()
        let database = FixtureDatabase(
            name: "fixture_\(UInt32.random(in: .min ... .max))",
            host: String(try #require(text.firstMatch(of: /host=(\S+)/)).1))
        let admin = try PostgresConnection(
            try PostgresAddress(text), PostgresOptions(acceptsUnsafeServer: true), damage: nil)
        defer { admin.close() }
        try admin.execute("CREATE DATABASE \(database.name) ENCODING 'UTF8' TEMPLATE template0")
        return database
    }

    var address: PostgresAddress {
        get throws { try PostgresAddress("host=\(host) user=nephos dbname=\(name)") }
    }

    /// The options of `nephos` that name the database.
    var options: [String] { ["--storage", "postgresql://nephos@/\(name)?host=\(host)", "--accept-unsafe-storage"] }

    /// Runs `pg_dump` or `psql` of the newest version that is installed.
    func run(_ program: String, _ arguments: String...) async throws {
        let parent = "/usr/lib/postgresql"
        let versions = try FileManager.default.contentsOfDirectory(atPath: parent).compactMap { Int($0) }
        let version = try #require(versions.max())
        let finished = try await StartedNephos(
            ["-h", host, "-U", "nephos", "-d", name] + arguments, product: "\(parent)/\(version)/bin/\(program)"
        ).finish()
        try #require(finished.status == 0, "\(program): \(finished.errors)")
    }
}

/// The program of this build, over the data of a fixture that is being made.
final class FixtureProgram {
    let kind: Fixture.Kind
    let data: URL
    let database: FixtureDatabase?
    private let keys: URL
    private var server: StartedNephos?
    private var port: UInt16 = 0
    private var apiTokens: [String: String] = [:]
    private var sessions: [String: String] = [:]
    private let password = "nine lives of a grey cat"

    init(_ kind: Fixture.Kind, in directory: URL) throws {
        self.kind = kind
        data = directory.appendingPathComponent("data")
        keys = directory.appendingPathComponent("clients")
        database = kind == .postgresql ? try .make() : nil
        try FileManager.default.createDirectory(
            at: data, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    var url: String { "http://127.0.0.1:\(port)" }

    private var storage: [String] { database?.options ?? [] }

    // MARK: The process

    func start() async throws {
        if kind == .serve {
            let sockets = try ListeningSocket.loopback(port: 0)
            port = sockets[0].port
            for socket in sockets { socket.close() }
            server = try StartedNephos(
                ["serve", "--url", url, "--listen", "127.0.0.1:\(port)", "--data", data.path] + storage)
            try #require(try await server?.readyLine() == "nephos: serving \(url) (production)\n")
        } else {
            let started = try StartedNephos(["dev", "--port", "0", "--data", data.path] + storage)
            port = try readyPort(try await started.readyLine())
            server = started
        }
    }

    func stop() async throws {
        let finished = try #require(try await server?.stop())
        #expect(finished.status == 0, "\(finished.errors)")
        server = nil
    }

    func kill() async throws {
        _ = try await server?.stop(SIGKILL)
        server = nil
        try? FileManager.default.removeItem(at: data.appendingPathComponent("nephos.sock"))
    }

    /// Makes accounts and containers of a production server.
    func prepare() async throws {
        guard kind == .serve else { return }
        for container in FixtureContent.containers {
            try await command("containers", "create", container)
            for environment in ["development", "production"] {
                apiTokens["\(container) \(environment)"] = try await command(
                    "api-tokens", "create", "--container", container, "--environment", environment, "--origin",
                    "https://app.example.org")
            }
        }
        for person in FixtureContent.people {
            try await command("accounts", "create", account(person), input: password)
            for container in FixtureContent.containers {
                try await command("admins", "grant", account(person), "--role", "developer", "--container", container)
            }
        }
        try await command("admins", "grant", account("mei"))
    }

    /// Gives bob the role of the schema. While a production server runs, accounts have no names there.
    func assignRole() async throws {
        let container = FixtureContent.container
        guard kind == .serve else {
            let body = #"{"account":"\#(account("bob"))","role":"Curator"}"#
            return try await administer("/nephos/1/\(container)/development/roles/assign", body)
        }
        try await stop()
        try await command("roles", "assign", "--container", container, "--account", account("bob"), "Curator")
        try await start()
    }

    @discardableResult
    private func command(_ arguments: String..., input: String? = nil) async throws -> String {
        let finished = try await StartedNephos(arguments + ["--data", data.path], input: input.map(typed)).finish()
        try #require(finished.status == 0, "\(arguments): \(finished.errors)")
        return finished.output.trimmingCharacters(in: .newlines)
    }

    // MARK: Clients

    func account(_ person: String) -> String { kind == .serve ? "\(person)@example.org" : person }

    func address(_ person: String) -> String { kind == .serve ? "\(person)@example.org" : "\(person)@localhost" }

    func apiToken(_ container: String, _ environment: CloudKitEnvironment.Name = .development) -> String {
        apiTokens["\(container) \(environment.rawValue)"] ?? "any"
    }

    func token(
        _ person: String, _ container: String, _ environment: CloudKitEnvironment.Name = .development
    ) async throws -> String {
        guard kind == .serve else { return "dev:\(person)" }
        let key = "\(person) \(container) \(environment.rawValue)"
        if let token = sessions[key] { return token }
        let token = try await command(
            "sessions", "create", account(person), "--container", container, "--environment", environment.rawValue)
        sessions[key] = token
        return token
    }

    /// A device, whose keys are in `clients/PERSON/keys`.
    func device(
        _ person: String, _ container: String, _ environment: CloudKitEnvironment.Name
    ) async throws -> CKContainer {
        let environment = CloudKitEnvironment(
            url: try #require(URL(string: url)),
            account: .token(try await token(person, container, environment)),
            apiToken: apiToken(container, environment), name: environment,
            keyDirectory: keys.appendingPathComponent("\(person)/keys"))
        return CKContainer(identifier: container, service: environment.service(of: container))
    }

    /// Sends a request of administration, as the user of the server's operating system.
    func administer(_ path: String, _ body: String) async throws {
        let connection =
            try kind == .serve ? TestConnection(path: data.path + "/nephos.sock") : TestConnection(port: port)
        let answer = try await connection.request("POST", path, headers: ["Host": "localhost"], body: body)
        try #require(answer.status == 200, "\(path): \(answer.text)")
    }

    func post(_ person: String, _ path: String, _ body: String) async throws -> [String: Any] {
        let container = FixtureContent.container
        let answer = try await TestConnection(port: port).request(
            "POST", "/database/1/\(container)/development/\(path)?ckAPIToken=\(apiToken(container))",
            headers: [
                "Host": "127.0.0.1:\(port)", "Authorization": "Bearer \(try await token(person, container))",
            ], body: body)
        try #require(answer.status == 200 && !answer.text.contains("serverErrorCode"), "\(path): \(answer.text)")
        return try #require(try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any])
    }

    func upload(_ address: String, _ text: String) async throws -> [String: Any] {
        let answer = try await TestConnection(port: port).request(
            "POST", address.replacing(url, with: ""), headers: ["Host": "127.0.0.1:\(port)"], body: text)
        try #require(answer.status == 200, "\(answer.text)")
        return try #require(try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any])
    }
}
