import Foundation
import NephosTesting
import NephosWire
import Synchronization
import Testing

@testable import NephosService

/// What is fetched of a provider, and how often.
@Suite struct ProviderClientTests {
    private let clock = TestCloud.Clock()
    private let lying: LyingProvider
    private let client: ProviderClient

    init() throws {
        let clock = clock
        let lying = try LyingProvider(issuer: "https://id.example.com", kind: .p256) { clock.now }
        client = ProviderClient(try IdentityProvider("a", lying), .to(lying)) { clock.now }
        self.lying = lying
    }

    private var document: Int { lying.count("/.well-known/openid-configuration") }
    private var keys: Int { lying.count("/keys") }

    /// Signs a person in, as the installation does.
    private func signIn() async throws -> ProvidedIdentity {
        let verifier = String(repeating: "v", count: 64)
        let fields = [
            (name: "client_id", value: lying.clientID), ("redirect_uri", "https://x.example/y"), ("nonce", "n"),
            ("code_challenge", ProviderSignIn.challenge(verifier)), ("code_challenge_method", "S256"), ("state", "s"),
        ]
        let response = lying.authorize("\(lying.issuer)/authorize?\(FormEncoding.text(fields))", as: .init("1"))
        return try await client.identity(
            try #require(response["code"]), verifier: verifier, nonce: "n", redirectURL: "https://x.example/y")
    }

    @Test func `documents are fetched once an hour`() async throws {
        for _ in 1...3 { #expect(try await signIn().subject == "1") }
        #expect((document, keys) == (1, 1))
        clock.advance(milliseconds: 3_600_000)
        _ = try await signIn()
        #expect((document, keys) == (2, 2))
    }

    @Test func `callers at the same time share a fetch`() async throws {
        await withTaskGroup(of: Bool.self) { group in
            for _ in 1...20 { group.addTask { (try? await client.metadata()) != nil } }
            for await isFetched in group { #expect(isFetched) }
        }
        #expect(document == 1)
    }

    @Test func `an unknown key is looked for once a minute`() async throws {
        _ = try await signIn()
        try lying.changeKey(id: "second")
        for _ in 1...3 { await #expect(throws: ProviderFailure.self) { try await signIn() } }
        #expect(keys == 1)
        clock.advance(milliseconds: 60_000)
        #expect(try await signIn().subject == "1")
        lying.lie = .signedByUnknownKey
        clock.advance(milliseconds: 59_999)
        for _ in 1...3 { await #expect(throws: ProviderFailure.self) { try await signIn() } }
        #expect(keys == 2)
        clock.advance(milliseconds: 1)
        for _ in 1...3 { await #expect(throws: ProviderFailure.self) { try await signIn() } }
        #expect(keys == 3)
    }

    @Test func `a key that changed under its name is fetched once a minute`() async throws {
        _ = try await signIn()
        try lying.changeKey(id: "first")
        for _ in 1...3 { await #expect(throws: ProviderFailure.self) { try await signIn() } }
        #expect(keys == 1)
        clock.advance(milliseconds: 60_000)
        #expect(try await signIn().subject == "1")
        #expect(keys == 2)
    }

    @Test func `a provider that fails is left alone for five seconds`() async throws {
        lying.lie = .failure
        for _ in 1...3 {
            await #expect(throws: ProviderFailure.unreachable("the provider answered 503")) {
                try await client.metadata()
            }
        }
        #expect(document == 1)
        lying.lie = nil
        clock.advance(milliseconds: 4999)
        await #expect(throws: ProviderFailure.self) { try await client.metadata() }
        clock.advance(milliseconds: 1)
        _ = try await client.metadata()
        #expect(document == 2)
    }

    @Test func `a clock that was set back keeps nothing for longer`() async throws {
        _ = try await client.metadata()
        clock.advance(milliseconds: -1)
        _ = try await client.metadata()
        #expect(document == 2)
    }

    @Test func `the discovery document of an issuer that ends with a slash has one slash before it`() throws {
        for issuer in ["https://a.example", "https://a.example/", "https://a.example/t"] {
            let provider = try IdentityProvider(
                name: "a", title: "A", issuer: issuer, clientID: "c", secret: .text("s"))
            let base = issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer
            #expect(ProviderMetadata.address(of: provider)?.text == "\(base)/.well-known/openid-configuration")
        }
    }
}
