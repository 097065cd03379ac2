import Foundation
import NephosSQLite
import NephosService
import NephosTesting
import NephosWire
import Synchronization
import Testing

@testable import NephosServer

/// How commands sign in to a running server, and which servers they trust.
@Suite struct ServerCredentialsTests {
    private struct Received: Sendable {
        var target: String
        var authorization: String?
    }

    /// Runs commands on a server whose container has an account, and returns the requests of the commands.
    private func requests(
        _ commands: [[String]], account: String, environment: [String: String]
    ) async throws -> [Received] {
        let service = NephosService(stores: MemoryStores())
        let responder = Responder(service)
        let received = Mutex<[Received]>([])
        let server = try HTTPServer(ListeningSocket.loopback(port: 0)) { request in
            received.withLock { $0.append(Received(target: request.target, authorization: request.authorization)) }
            return await responder.respond(to: request)
        }
        let result: Result<Void, any Error>
        do {
            let caller = "/database/1/\(Self.container[1])/development/private/users/caller"
            let header = try #require(AuthorizationHeader.value("dev:" + account))
            _ = try await TestConnection(port: server.port).request("GET", caller, headers: ["Authorization": header])
            received.withLock { $0 = [] }
            for command in commands {
                let variables = environment.merging(["NEPHOS_URL": "http://127.0.0.1:\(server.port)"]) { $1 }
                _ = try await StartedNephos(command, environment: variables).finish()
            }
            result = .success(())
        } catch {
            result = .failure(error)
        }
        await server.stop()
        await service.close()
        try result.get()
        return received.withLock(\.self)
    }

    private static let container = ["--container", "iCloud.org.example.App"]
    private static let commands = [
        ["status"], ["schema", "export"] + container, ["accounts", "list"] + container,
        ["zones", "list", "--account", "tom"] + container, ["query", "Note", "TRUEPREDICATE"] + container,
        ["keys", "list"] + container,
    ]

    @Test(arguments: [true, false])
    func `the token of a file or of the environment is in the header of every request`(hasFile: Bool) async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appendingPathComponent("token")
            try Data("dev:méi\n".utf8).write(to: file)
            let options = hasFile ? ["--token-file", file.path] : []
            // The token of the option is used in place of the environment's.
            let variables = ["NEPHOS_TOKEN": hasFile ? "dev:other" : "dev:méi", "NEPHOS_KEYS": directory.path]
            let received = try await requests(
                Self.commands.map { $0 + options }, account: "méi", environment: variables)
            for part in ["/status", "/schema/export", "/accounts/list", "/zones/list", "/records/query", "/keys/"] {
                #expect(received.contains { $0.target.contains(part) }, "\(part)")
            }
            for request in received {
                #expect(request.authorization == "Bearer dev:m%C3%A9i", "\(request.target)")
                #expect(!request.target.contains("ckWebAuthToken") && !request.target.contains("dev:"))
            }
        }
    }

    @Test func `without a token only databases are signed in to, as the user`() async throws {
        let (commands, user) = (Self.commands.dropLast(), NSUserName())
        let received = try await requests(Array(commands), account: user, environment: ["NEPHOS_TOKEN": ""])
        #expect(received.contains { $0.target.contains("/records/query") })
        for request in received {
            #expect((request.authorization != nil) == request.target.hasPrefix("/database/"), "\(request.target)")
        }
        let none = try await requests(Array(commands), account: user, environment: ["NEPHOS_TOKEN": "none"])
        #expect(!none.isEmpty && none.allSatisfy { $0.authorization == nil })
    }

    @Test(arguments: [["--token", "secret"], ["--token=secret"]])
    func `a token is refused as an argument, which other processes see`(options: [String]) async throws {
        for command in Self.commands {
            let finished = try await StartedNephos(command + options).finish()
            #expect(finished.status == 2 && finished.errors.contains("--token-file FILE"), "\(finished)")
            #expect(!finished.errors.contains("secret"))
        }
    }

    @Test(arguments: [
        ("", "it has one line"), ("secret\nother", "it has one line"), ("sec ret", "visible ASCII without spaces"),
        ("sécret", "visible ASCII without spaces"), (String(repeating: "x", count: 8193), "at most 8192 bytes"),
    ])
    func `a file that has no token is refused without its content`(content: String, reason: String) async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appendingPathComponent("token")
            try Data(content.utf8).write(to: file)
            let finished = try await StartedNephos(["status", "--token-file", file.path]).finish()
            #expect(finished.status == 2 && finished.errors.contains(reason), "\(finished)")
            #expect(!finished.errors.contains("ret"))
            let missing = try await StartedNephos(["status", "--token-file", file.path + ".missing"]).finish()
            #expect(missing.status == 2 && missing.errors.contains("No such file or directory"), "\(missing)")
        }
    }

    // MARK: Certificates

    @Test func `the authorities of NEPHOS_CA_FILE are trusted, and no others`() async throws {
        let (authority, other) = (try TestAuthority(), try TestAuthority())
        let server = try TLSServer(authority, answer: #"{"containers": [], "isComplete": true}"#)
        func run(_ command: [String], trusting file: String?) async throws -> Finished {
            try await StartedNephos(
                command,
                environment: ["NEPHOS_URL": server.url, "NEPHOS_CA_FILE": file ?? "", "NEPHOS_TOKEN": "secret"]
            ).finish()
        }
        let trusted = try await run(["status"], trusting: authority.certificate.path)
        #expect(trusted.status == 0 && trusted.output.hasPrefix("\(server.url) answers"), "\(trusted)")
        for file in [nil, other.certificate.path] {
            let refused = try await run(["status"], trusting: file)
            #expect(refused.status == 1 && refused.errors.contains("NEPHOS_CA_FILE names the file"), "\(refused)")
            #expect(refused.errors.contains("unable to get local issuer certificate"), "\(refused)")
        }
        let keys = ["keys", "list"] + Self.container
        #expect(try await !run(keys, trusting: authority.certificate.path).errors.contains("is not trusted"))
        #expect(try await run(keys, trusting: other.certificate.path).errors.contains("is not trusted"))
        let missing = try await run(["status"], trusting: "/nowhere/ca.pem")
        #expect(missing.status == 2 && missing.errors.contains("NEPHOS_CA_FILE is /nowhere/ca.pem"), "\(missing)")
    }
}
