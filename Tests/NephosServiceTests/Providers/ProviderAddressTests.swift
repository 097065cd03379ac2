import NephosWire
import Testing

@testable import NephosService

/// The URLs and settings of identity providers.
@Suite struct ProviderAddressTests {
    @Test(arguments: [
        "https://accounts.example.com", "https://login.example.com:8443/tenant/v2.0", "https://[2001:db8::1]/x?y=z",
        "http://127.0.0.1:8080", "http://localhost/", "http://[::1]:1",
    ])
    func `https anywhere, and http on this machine, are addresses`(_ text: String) {
        #expect(ProviderAddress(text)?.text == text)
    }

    @Test(arguments: [
        "", "accounts.example.com", "ftp://example.com", "https://", "https:///x", "http://example.com",
        "http://127.0.0.1.example.com", "http://localhost.example.com", "http://127.0.0.2", "http://127.1",
        "http://0.0.0.0",
        "http://127.0.0.1@example.com", "https://user@example.com", "https://user:word@example.com",
        "https://example.com#x", "https://example.com\\@evil.example.org", "https://exa mple.com",
        "https://example.com/\n",
        "https://ex%61mple.com", "https://example.com:0", "https://example.com:65536", "https://bücher.example",
        "https://example.com/\(String(repeating: "x", count: 2000))",
    ])
    func `other texts are none`(_ text: String) {
        #expect(ProviderAddress(text) == nil)
    }

    private func provider(
        _ name: String = "a", issuer: String = "https://a.example", title: String = "A", scopes: [String] = ["openid"]
    ) throws(ServiceError) -> IdentityProvider {
        try IdentityProvider(
            name: name, title: title, issuer: issuer, clientID: "c", secret: .text("s"), scopes: scopes)
    }

    @Test func `a setting that breaks a rule is refused`() throws {
        _ = try provider()
        for name in ["", "A", "a b", "a/b", "ä", String(repeating: "a", count: 33)] {
            #expect(throws: ServiceError.self) { try provider(name) }
        }
        for issuer in ["http://a.example", "https://a.example?x", ""] {
            #expect(throws: ServiceError.self) { try provider(issuer: issuer) }
        }
        for title in ["", "a\nb", String(repeating: "a", count: 61)] {
            #expect(throws: ServiceError.self) { try provider(title: title) }
        }
        for scopes in [[], ["email"], ["openid", "a b"], ["openid", ""]] {
            #expect(throws: ServiceError.self) { try provider(scopes: scopes) }
        }
    }

    @Test func `two providers differ in name and issuer, and there are eight at most`() throws {
        let outlet = ProviderOutlet { _ async throws(ProviderFailure) in throw .unreachable("") }
        func settings(_ providers: IdentityProvider...) throws(ServiceError) -> Int {
            try ProviderSettings(providers, outlet: outlet).providers.count
        }
        let first = try provider()
        #expect(try settings(first, try provider("b", issuer: "https://b.example")) == 2)
        #expect(throws: ServiceError.self) { try settings(first, try provider(issuer: "https://b.example")) }
        #expect(throws: ServiceError.self) { try settings(first, try provider("b")) }
        let many = try (0..<9).map { try provider("a\($0)", issuer: "https://a\($0).example") }
        #expect(try ProviderSettings(Array(many.prefix(8)), outlet: outlet).providers.count == 8)
        #expect(throws: ServiceError.self) { try ProviderSettings(many, outlet: outlet) }
    }
}
