import Foundation
import NephosTesting
import Testing

@testable import NephosServer

/// `nephos serve` with identity providers, as a program: its settings, and its requests to them.
@Suite struct ProviderProgramTests {
    private func write(_ text: String, _ name: String, _ directory: URL) throws -> String {
        let file = directory.appendingPathComponent(name)
        try Data(text.utf8).write(to: file)
        return file.path
    }

    /// A request by `curl`, with the cookies of a browser.
    private func curl(_ url: String, _ directory: URL, _ options: [String] = []) async throws -> String {
        let jar = directory.appendingPathComponent("cookies").path
        let finished = try await StartedNephos(
            ["-s", "-i", "-b", jar, "-c", jar] + options + [url], product: "/usr/bin/curl"
        ).finish()
        #expect(finished.status == 0, "\(finished.errors)")
        return finished.output
    }

    /// Signs in by the provider, to the server's last answer.
    private func signIn(_ served: ServedInstallation, _ provider: LyingProvider, _ directory: URL) async throws
        -> String
    {
        let page = try await curl("\(served.url)/sign-in?return=/account", directory)
        let form = try #require(page.firstMatch(of: /name="form" value="([0-9a-f]{64})"/)).1
        let start = try await curl(
            "\(served.url)/account/providers/start/own", directory,
            ["-H", "Origin: \(served.url)", "-d", "form=\(form)&return=/account"])
        guard let found = start.firstMatch(of: /<a href="(http:[^"]+)">Continue at Our own/) else { return start }
        let response = provider.authorize(
            String(found.1).replacing("&amp;", with: "&"), as: .init("1", "ada@example.org", isVerified: true))
        let query = response.map { name, value in
            "\(name)=\(value.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")"
        }
        return try await curl(
            "\(served.url)/account/providers/callback/own?\(query.joined(separator: "&"))", directory)
    }

    private func expectSignIn(
        _ provider: ServedProvider, _ expected: String, log: String = ""
    ) async throws {
        try await withTemporaryDirectory { directory in
            let served = try ServedInstallation(
                directory.appendingPathComponent("data"),
                storage: try provider.arguments(in: directory))
            try await served.start()
            let answer = try await signIn(served, provider.lying, directory)
            #expect(answer.contains(expected), "\(answer)")
            if log.isEmpty {
                #expect(try await curl("\(served.url)/account", directory).contains("<h1>ada@example.org</h1>"))
                #expect(try await served.output("accounts", "list").contains("no password"))
            }
            let errors = try await served.stop()
            #expect(log.isEmpty || errors.contains(log), "\(errors)")
            #expect(!errors.contains("ada@") && !errors.contains(provider.lying.secret))
        }
        await provider.server.stop()
    }

    @Test func `a person signs in by a provider of the settings' file`() async throws {
        try await expectSignIn(try ServedProvider(), "303")
    }

    @Test func `a redirect of the provider is not followed`() async throws {
        let elsewhere = try ServedProvider()
        let target = "\(elsewhere.lying.issuer)/token"
        let provider = try ServedProvider { path in
            guard path == "/token" else { return nil }
            return HTTPResponse(status: 307, headers: [HTTPHeader("Location", target)])
        }
        try await expectSignIn(provider, "did not sign you in", log: "the provider answered 307")
        #expect(elsewhere.lying.count("/token") == 0)
        await elsewhere.server.stop()
    }

    @Test func `an answer of more than a megabyte is refused`() async throws {
        let provider = try ServedProvider { path in
            guard path.hasPrefix("/.well-known") else { return nil }
            return HTTPResponse(status: 200, body: [UInt8](repeating: 0x20, count: 2 << 20))
        }
        try await expectSignIn(provider, "did not sign you in", log: "the provider's answer is too long")
    }

    @Test func `a provider that does not answer is given up`() async throws {
        let (stream, end) = AsyncStream<Void>.makeStream()
        let provider = try ServedProvider { path in
            guard path == "/token" else { return nil }
            for await _ in stream {}
            return nil
        }
        defer { end.finish() }
        try await expectSignIn(provider, "cannot be reached", log: "a sign-in by a provider failed")
    }

    // MARK: Settings

    private static let refused: [(text: String, reason: String)] = [
        ("{", "is no JSON"), ("{}", "'providers' is missing"), (#"{"providers":{}}"#, "of another type"),
        (#"{"providers":[],"x":1}"#, "'x' is unknown"),
        (#"{"providers":[{"issuer":"https://a"}]}"#, "'name' is missing"),
        (#"{"providers":[{"name":1,"issuer":"https://a","clientID":"c"}]}"#, "'name' is of another type"),
        (#"{"providers":[{"name":"a","issuer":"https://a","clientID":"c","secret":"word"}]}"#, "'secret' is unknown"),
        (#"{"providers":[{"name":"a","issuer":"https://a","clientID":"c"}]}"#, "needs 'clientSecretFile', or 'teamID'"),
        (
            #"{"providers":[{"name":"a","issuer":"https://a","clientID":"c","clientSecretFile":"missing"}]}"#,
            "missing cannot be read"
        ),
        (
            #"{"providers":[{"name":"A","issuer":"https://a","clientID":"c","clientSecretFile":"SECRET"}]}"#,
            "lower-case letters"
        ),
        (
            #"{"providers":[{"name":"a","issuer":"http://a","clientID":"c","clientSecretFile":"SECRET"}]}"#,
            "no https:// URL"
        ),
        (
            #"{"providers":[{"name":"a","issuer":"https://a","clientID":"c","clientSecretFile":"SECRET","responseMode":"x"}]}"#,
            "is query or form_post"
        ),
        (
            #"{"providers":[{"name":"a","issuer":"https://a","clientID":"c","clientSecretFile":"SECRET","caFile":"missing"}]}"#,
            "missing: it cannot be read"
        ),
        (
            #"{"providers":[{"name":"a","issuer":"https://a","clientID":"c","teamID":"TEAM123456","keyID":"KEY1234567","keyFile":"SECRET"}]}"#,
            "no private key on the curve P-256"
        ),
    ]

    private func check(_ file: String, _ directory: URL) async throws -> Finished {
        let data = directory.appendingPathComponent("data")
        try FileManager.default.createDirectory(
            at: data, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        return try await StartedNephos(
            ["serve", "--check", "--data", data.path, "--url", "http://127.0.0.1:1", "--providers", file]
        ).finish()
    }

    @Test(arguments: refused)
    func `a file that breaks a rule is refused with its reason`(_ text: String, _ reason: String) async throws {
        try await withTemporaryDirectory { directory in
            let secret = try write("a secret", "secret", directory)
            let file = try write(text.replacing("SECRET", with: secret), "providers.json", directory)
            let finished = try await check(file, directory)
            #expect(finished.status == 2 && finished.errors.contains(reason), "\(text): \(finished.errors)")
            #expect(!finished.errors.contains("a secret"))
        }
    }

    @Test func `the check says by whom people sign in`() async throws {
        try await withTemporaryDirectory { directory in
            let (secret, key) = (try write("a secret", "secret", directory), try TestSigningKey(.p256, id: "x"))
            let file = try write(
                """
                {"providers": [
                  {"name": "a", "issuer": "https://a.example", "clientID": "c", "clientSecretFile": "\(secret)"},
                  {"name": "apple", "title": "Apple", "issuer": "https://appleid.apple.com", "clientID": "org.example.web",
                   "teamID": "TEAM123456", "keyID": "KEY1234567", "keyFile": "\(key.file.path)"}]}
                """, "providers.json", directory)
            let finished = try await check(file, directory)
            #expect(finished.status == 0, "\(finished.errors)")
            #expect(finished.output.contains("people sign in by a at https://a.example;"))
            #expect(finished.output.contains("people sign in by apple at https://appleid.apple.com;"))
            #expect(!finished.output.contains("a secret"))
        }
    }
}
