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

    // MARK: The header

    private func account(header: String, _ query: String = "") throws -> String? {
        var request = HTTPRequest(method: .get, target: "/x?\(query)")
        request.authorization = header
        return try DevelopmentSignIn.account(request, try #require(RequestTarget(request.target)))
    }

    @Test(arguments: [
        ("Bearer dev:alice", "alice"), ("bearer  dev:alice ", "alice"), ("BEARER\tdev:alice", "alice"),
        ("Bearer dev:caf%C3%A9", "café"), ("Bearer dev:Ada%20Lovelace", "Ada Lovelace"),
        ("Bearer dev%3Aalice", "alice"),
        ("Bearer dev:a+b", "a+b"), ("Bearer dev:100%25", "100%"), ("Bearer dev:bob@localhost", "bob@localhost"),
    ])
    func `a name in the header signs in`(_ header: String, _ name: String) throws {
        #expect(try account(header: header) == name)
    }

    @Test(arguments: [
        "", "Bearer", "Bearer ", "dev:alice", "Basic ZGV2OmFsaWNl", "Bearerdev:alice", "Bearer alice", "Bearer dev:",
        "Bearer dev:Ada Lovelace", "Bearer dev:alice, Bearer dev:bob", "Bearer dev:café", "Bearer dev:%zz",
        "Bearer dev:%FF", "Bearer dev:%0A", "Bearer dev:alice\u{7F}",
        "Bearer dev:" + String(repeating: "n", count: 256),
    ])
    func `a header that is not Bearer and a name is refused without being repeated`(_ header: String) throws {
        for query in ["", "ckWebAuthToken=dev:alice"] {
            let refusal = try #require(throws: Refusal.self) { try account(header: header, query) }
            #expect(refusal.code == .authenticationFailed)
            #expect(refusal.reason.hasPrefix("the header Authorization is not valid"))
            #expect(!refusal.reason.contains("alice"))
        }
    }

    @Test(arguments: ["ckWebAuthToken=dev:a%2Bb", "ckSession=dev:a%2Bb", "ckWebAuthToken=dev:a+b"])
    func `header and query may name the same account`(_ query: String) throws {
        #expect(try account(header: "Bearer dev:a+b", query) == "a+b")
    }

    @Test(arguments: ["ckWebAuthToken=dev:bob", "ckSession=dev:bob", "ckWebAuthToken=alice", "ckWebAuthToken=dev:%zz"])
    func `a header and a query that differ are refused`(_ query: String) throws {
        let refusal = try #require(throws: Refusal.self) { try account(header: "Bearer dev:alice", query) }
        #expect(refusal.code == .authenticationFailed)
        #expect(refusal.reason.contains("different accounts"))
        #expect(!refusal.reason.contains("alice") && !refusal.reason.contains("bob"))
    }

    @Test(arguments: ["dev:alice", "dev:Ada Lovelace", "dev:café & co", "dev:100%", "dev:%41", "dev:a+b", "dev:安"])
    func `the header of a token names its account`(_ token: String) throws {
        let header = try #require(AuthorizationHeader.value(token))
        #expect(header.utf8.allSatisfy { (0x20...0x7E).contains($0) })
        #expect(try account(header: header) == String(token.dropFirst(4)))
    }

    @Test func `a header carries any other token verbatim, in visible ASCII`() {
        #expect(AuthorizationHeader.value("5~a%2F+/=~") == "Bearer 5~a%2F+/=~")
        for token in ["", "a b", "a\u{7F}", "a\nb", "a\r\nX: y", "é", "a\tb", "\0"] {
            #expect(AuthorizationHeader.value(token) == nil)
        }
    }
}
