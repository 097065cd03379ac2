import Foundation
import Testing

@testable import CloudKit
@testable import NephosServer

/// A `nephos serve` over TLS with a container, and people who are signed in to it.
final class StartedProduction {
    static let container = "iCloud.org.example.Lists"
    static let password = "nine lives of a grey cat"

    let directory: URL
    let port: UInt16
    let certificate: TestCertificate
    private(set) var server: StartedNephos
    var data: String { directory.appendingPathComponent("data").path }
    var url: String { "https://localhost:\(port)" }

    init(in directory: URL) async throws {
        self.directory = directory
        let data = directory.appendingPathComponent("data").path
        // Data that was adopted is there already.
        try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: true)
        certificate = try await TestCertificate()
        let sockets = try ListeningSocket.loopback(port: 0)
        port = sockets[0].port
        for socket in sockets { socket.close() }
        server = try Self.serve(data, port, certificate)
        try await expectReady()
    }

    private static func serve(_ data: String, _ port: UInt16, _ certificate: TestCertificate) throws -> StartedNephos {
        try StartedNephos([
            "serve", "--data", data, "--url", "https://localhost:\(port)", "--listen", "127.0.0.1:\(port)",
            "--tls-cert",
            certificate.certificateFile, "--tls-key", certificate.keyFile,
        ])
    }

    private func expectReady() async throws {
        #expect(try await server.readyLine() == "nephos: serving \(url) (production)\n")
    }

    /// Kills the server, and starts another on the same data.
    func killAndStart() async throws {
        _ = try await server.stop(SIGKILL)
        server = try Self.serve(data, port, certificate)
        try await expectReady()
    }

    /// Runs a command of `nephos` on the server's data directory.
    /// - Returns: its output without the newline at the end.
    @discardableResult
    func command(_ arguments: String..., input: String? = nil, status: Int32 = 0) async throws -> String {
        try await command(arguments, input: input, status: status)
    }

    @discardableResult
    func command(_ arguments: [String], input: String? = nil, status: Int32 = 0) async throws -> String {
        let finished = try await StartedNephos(arguments + ["--data", data], input: input.map(typed)).finish()
        #expect(finished.status == status, "\(arguments): \(finished.errors)")
        return (status == 0 ? finished.output : finished.errors).trimmingCharacters(in: .newlines)
    }

    /// Makes the container with its schema's developers, and an API token.
    func prepare(_ people: String...) async throws -> String {
        try await command("containers", "create", Self.container)
        for person in people {
            try await command("accounts", "create", "--verified", person, input: Self.password)
            try await command("admins", "grant", person, "--role", "developer", "--container", Self.container)
        }
        return try await command("api-tokens", "create", "--container", Self.container)
    }

    /// The container as a device of a person sees it.
    func device(_ person: String, _ apiToken: String, _ name: String = "first") async throws -> CKContainer {
        let token = try await command("sessions", "create", person, "--container", Self.container)
        return try device(token: token, apiToken, keys: "\(person)-\(name)")
    }

    func device(
        token: String, _ apiToken: String, keys: String, of container: String = container,
        in environment: CloudKitEnvironment.Name = .development
    ) throws -> CKContainer {
        let environment = CloudKitEnvironment(
            url: try #require(URL(string: url)), account: .token(token), apiToken: apiToken, name: environment,
            keyDirectory: directory.appendingPathComponent("keys-\(keys)"),
            certificateAuthorities: URL(fileURLWithPath: certificate.certificateFile))
        return CKContainer(identifier: container, service: environment.service(of: container))
    }
}
