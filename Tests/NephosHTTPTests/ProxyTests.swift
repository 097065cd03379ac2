import Foundation
import Testing

@testable import NephosHTTP

/// Requests where the process's variables name a proxy.
@Suite struct ProxyTests {
    @Test(arguments: [
        "http://localhost", "http://LocalHost:8484/1/database", "https://127.0.0.1:8484", "http://127.8.9.10/?a=b",
        "http://[::1]:8484/", "http://name:word@localhost/", "http://127.0.0.1#x",
    ])
    func `an address of this machine is known`(url: String) {
        #expect(HTTPRequest(.get, url).isToThisMachine)
    }

    @Test(arguments: [
        "http://localhost.example.org", "http://127.0.0.1.example.org", "http://127.example.org:80/", "http://10.0.0.1",
        "http://localhost@example.org/", "http://example.org/localhost", "http://example.org?@localhost",
        "http://[::2]/", "http://[::1:2]/", "localhost", "", "http://", "http:", "http://127", "http://:80@",
    ])
    func `another address is not this machine's`(url: String) {
        #expect(!HTTPRequest(.get, url).isToThisMachine)
    }

    @Test func `a server on this machine is reached without the proxy, another one through it`() async {
        // In a process of its own, whose variables other tests do not read.
        await #expect(processExitsWith: .success) {
            let proxy = try SocketServer { $0.answerAll("through the proxy") }
            let server = try SocketServer { $0.answerAll("from the server") }
            for name in ["http_proxy", "all_proxy"] { setenv(name, proxy.url, 1) }
            let client = HTTPClient()
            let port = server.url.split(separator: ":").last ?? ""
            for host in ["127.0.0.1", "localhost"] {
                let answer = try await client.send(HTTPRequest(.get, "http://\(host):\(port)/a"))
                try #require(String(decoding: answer.body, as: UTF8.self) == "from the server")
            }
            let answer = try await client.send(HTTPRequest(.get, "http://cloud.invalid/a"))
            try #require(String(decoding: answer.body, as: UTF8.self) == "through the proxy")
            try #require(proxy.requests.map(\.line) == ["GET http://cloud.invalid/a HTTP/1.1"])
        }
    }
}
