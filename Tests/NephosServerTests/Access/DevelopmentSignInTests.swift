import NephosWire
import Testing

@testable import NephosServer

@Suite struct DevelopmentSignInTests {
    private func account(_ query: String) throws -> String? {
        try DevelopmentSignIn.account(try #require(RequestTarget("/x?\(query)")))
    }

    @Test(arguments: ["", "ckAPIToken=anything", "ckWebAuthToken=", "ckWebAuthToken=&ckSession="])
    func `a request without a token has no account`(_ query: String) throws {
        #expect(try account(query) == nil)
    }

    @Test(arguments: [
        ("ckWebAuthToken=dev:alice", "alice"),
        ("ckWebAuthToken=dev%3Aalice", "alice"),
        ("ckSession=dev:bob", "bob"),
        ("ckWebAuthToken=dev:alice&ckSession=dev:bob", "alice"),
        ("ckAPIToken=x&ckWebAuthToken=dev:Ada%20Lovelace", "Ada Lovelace"),
        ("ckWebAuthToken=dev:Ada+Lovelace", "Ada Lovelace"),
        ("ckWebAuthToken=dev:a%2Bb", "a+b"),
        ("ckWebAuthToken=dev:dev:x", "dev:x"),
        ("ckWebAuthToken=dev:%E5%AE%89", "安"),
        ("ckWebAuthToken=dev:" + String(repeating: "n", count: 255), String(repeating: "n", count: 255)),
    ])
    func `a name signs in`(_ query: String, _ name: String) throws {
        #expect(try account(query) == name)
    }

    @Test(arguments: [
        "ckWebAuthToken=alice", "ckWebAuthToken=dev:", "ckWebAuthToken=DEV:alice", "ckWebAuthToken=dev:%00",
        "ckWebAuthToken=dev:a%0Ab", "ckWebAuthToken=dev:%7F", "ckWebAuthToken=dev:%C2%85",
        "ckWebAuthToken=dev:%E2%80%A8", "ckWebAuthToken=dev:%zz", "ckWebAuthToken=dev:%FF", "ckSession=x",
        "ckWebAuthToken=dev:" + String(repeating: "n", count: 256),
    ])
    func `a malformed token is refused`(_ query: String) throws {
        let refusal = try #require(throws: Refusal.self) { try account(query) }
        #expect(refusal.code == .authenticationFailed)
    }
}
