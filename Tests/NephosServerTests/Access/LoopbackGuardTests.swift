import NephosWire
import Testing

@testable import NephosServer

@Suite struct LoopbackGuardTests {
    private func refusal(host: String?, origin: String? = nil) -> ServerErrorCode? {
        do throws(Refusal) {
            try LoopbackGuard.check(HTTPRequest(method: .get, target: "/", host: host, origin: origin))
            return nil
        } catch {
            return error.code
        }
    }

    @Test(arguments: [
        "localhost", "localhost:8484", "LocalHost:1", "127.0.0.1", "127.0.0.1:8484", "127.255.0.3:80", "[::1]",
        "[::1]:8484",
    ])
    func `requests to loopback host names are answered`(_ host: String) {
        #expect(refusal(host: host) == nil)
    }

    @Test(arguments: [
        nil, "", "example.org", "example.org:8484", "localhost.example.org", "127.0.0.1.example.org", "128.0.0.1",
        "127.0.0", "127.0.0.256", "127.0.0.1.1", "127.1", "127..0.1", "127.0.0.+1", "0.0.0.0", "[::2]", "[::1",
        "[::1]x", "::1", "localhost:80x", "evil@localhost", "localhost/", " localhost", "192.168.1.5:8484",
    ])
    func `requests to other host names are refused`(_ host: String?) {
        #expect(refusal(host: host) == .accessDenied)
    }

    @Test(arguments: [
        "http://localhost", "http://localhost:3000", "https://127.0.0.1:8443", "http://[::1]:5173",
    ])
    func `pages of loopback origins are answered`(_ origin: String) {
        #expect(refusal(host: "localhost", origin: origin) == nil)
    }

    @Test(arguments: [
        "null", "", "http://example.org", "https://localhost.example.org", "http://127.0.0.1.example.org",
        "file://localhost", "localhost", "http://", "http://evil@localhost", "ftp://localhost",
    ])
    func `pages of other origins are refused`(_ origin: String) {
        #expect(refusal(host: "localhost", origin: origin) == .accessDenied)
    }
}
