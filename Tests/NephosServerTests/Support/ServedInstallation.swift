import Foundation
import Glibc
import Testing

@testable import NephosServer

/// `nephos serve` as a program, its commands, and requests of a device through its Unix socket.
final class ServedInstallation {
    static let container = "iCloud.org.example.Served"
    private static let database = "/database/1/\(container)/development/private"

    let data: String
    /// The options that name the database, for PostgreSQL.
    private let storage: [String]
    private var server: StartedNephos?
    let port: UInt16
    private let host: String
    var url: String { "http://\(host):\(port)" }

    /// - Parameters:
    ///   - directory: the data directory, which is made.
    ///   - host: the host of the public URL.
    init(_ directory: URL, host: String = "127.0.0.1", storage: [String] = []) throws {
        self.host = host
        data = directory.path
        let sockets = try ListeningSocket.loopback(port: 0)
        port = sockets[0].port
        for socket in sockets { socket.close() }
        self.storage = storage
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }

    /// Starts it without a log of requests.
    func start() async throws {
        for attempt in 1...Self.attempts {
            let server = try StartedNephos(
                ["serve", "--data", data, "--url", url, "--listen", "127.0.0.1:\(port)", "--log", "off"]
                    + storage)
            let line = try await server.readyLine()
            if line.hasSuffix("(production)\n") {
                self.server = server
                return
            }
            let errors = try await server.finish().errors
            // A client of another test has the port for a moment.
            try #require(attempt < Self.attempts && errors.contains("in use"), "\(line) \(errors)")
        }
    }

    private static let attempts = 50

    /// - Returns: what the server logged.
    @discardableResult
    func stop() async throws -> String {
        guard let server else { return "" }
        self.server = nil
        let finished = try await server.stop()
        #expect(finished.status == 0, "\(finished.errors)")
        return finished.errors
    }

    /// The running server's process; nil without one.
    var processID: Int32? { server?.process.processIdentifier }

    /// Waits for the end of a server that was killed.
    func finishKilled() async throws {
        let finished = try await server?.finish()
        server = nil
        #expect(finished?.exited == false && finished?.status == SIGKILL)
    }

    /// Runs a command on the data.
    func run(_ arguments: String..., input: Pipe? = nil) async throws -> Finished {
        try await StartedNephos(arguments + ["--data", data], input: input).finish()
    }

    /// Runs a command that succeeds, and returns what it prints without the end of its line.
    @discardableResult
    func output(_ arguments: String..., input: Pipe? = nil) async throws -> String {
        let finished = try await StartedNephos(arguments + ["--data", data], input: input).finish()
        try #require(finished.status == 0, "\(arguments): \(finished.errors)")
        return finished.output.trimmingCharacters(in: .newlines)
    }

    /// Makes the container, accounts that may extend its schema by saving, and an API token, which is returned.
    func prepare(accounts: String...) async throws -> String {
        try await output("containers", "create", Self.container)
        for name in accounts {
            try await output("accounts", "create", name, input: typed("nine lives of a grey cat"))
            try await output("admins", "grant", name, "--role", "developer", "--container", Self.container)
        }
        return try await output("api-tokens", "create", "--container", Self.container)
    }

    /// Signs an account in, and returns its token.
    func signIn(_ account: String) async throws -> String {
        try await output("sessions", "create", account, "--container", Self.container)
    }

    func send(_ action: String, _ body: String, apiToken: String, token: String) async throws -> TestResponse {
        try await TestConnection(path: "\(data)/nephos.sock").request(
            "POST", "\(Self.database)/\(action)?ckAPIToken=\(apiToken)",
            headers: ["Authorization": "Bearer \(token)", "Host": "localhost"], body: body)
    }

    func save(_ record: String, apiToken: String, token: String) async throws {
        let body = """
            {"operations":[{"operationType":"create","record":{"recordName":"\(record)","recordType":"Note",
             "fields":{"text":{"value":"\(record)"}}}}]}
            """
        let answer = try await send("records/modify", body, apiToken: apiToken, token: token)
        try #require(answer.status == 200 && !answer.text.contains("serverErrorCode"), "\(answer.text)")
    }

    /// The names of the account's records; nil if the session is over.
    func records(apiToken: String, token: String) async throws -> [String]? {
        let answer = try await send(
            "records/query", #"{"query":{"recordType":"Note"}}"#, apiToken: apiToken, token: token)
        if answer.status == 421, answer.text.contains("AUTHENTICATION_REQUIRED") { return nil }
        try #require(answer.status == 200, "\(answer.text)")
        return answer.text.matches(of: /"recordName":"([^"]*)"/).map { String($0.1) }.sorted()
    }
}
