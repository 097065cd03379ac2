import Foundation
import NephosSQLite
import NephosService
import NephosStorage
import NephosThreads
import Testing

@testable import NephosServer

/// Connections of malicious clients, and the bounds of their cost.
@Suite struct HostileConnectionTests {
    private static let list =
        "/database/1/iCloud.org.example.App/development/private/zones/list?ckAPIToken=x&ckWebAuthToken=dev:mei"
    private static let modify =
        "/database/1/iCloud.org.example.App/development/private/records/modify?ckAPIToken=x&ckWebAuthToken=dev:mei"

    private func withServer(
        _ change: (inout HTTPServer.Options) -> Void = { _ in }, _ body: (UInt16) async throws -> Void
    ) async throws {
        let service = NephosService(stores: MemoryStores())
        let responder = Responder(service)
        var options = HTTPServer.Options()
        options.stopTimeout = 1
        change(&options)
        let server = try HTTPServer(ListeningSocket.loopback(port: 0), options: options) {
            await responder.respond(to: $0)
        }
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(server.port))
        } catch {
            result = .failure(error)
        }
        await server.stop()
        await service.close()
        try result.get()
    }

    private func error(_ response: TestResponse) throws -> (code: String, reason: String) {
        #expect(response.headers["content-type"] == "application/json; charset=UTF-8")
        let json = try #require(try JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any])
        #expect((json["uuid"] as? String)?.count == 36)
        return (try #require(json["serverErrorCode"] as? String), try #require(json["reason"] as? String))
    }

    // MARK: What is not HTTP

    @Test(arguments: [
        "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "GET / HTTP/1.1\r\nHost: localhost\r\nX: \(String(repeating: "x", count: 40_000))\r\n\r\n",
        "GET /\(String(repeating: "x", count: 40_000)) HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET / HTTP/9.9\r\nHost: localhost\r\n\r\n", "GET /\r\nHost: localhost\r\n\r\n",
    ])
    func `a request that is not HTTP, or too long, is refused`(request: String) async throws {
        try await withServer { port in
            let connection = try TestConnection(port: port)
            try await connection.send(request)
            #expect((400..<600).contains(try await connection.response().status))
        }
    }

    @Test func `too many parameters are refused in JSON`() async throws {
        try await withServer { port in
            let connection = try TestConnection(port: port)
            try await connection.send(
                "GET /?\(String(repeating: "a&", count: 3000)) HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let response = try await connection.response()
            let error = try error(response)
            #expect(response.status == 414 && error.code == "BAD_REQUEST")
            #expect(try await connection.isClosedByServer())
            #expect(error.reason.contains("64 parameters"))
        }
    }

    /// Whether the server has the record; the server is asked on a connection of its own.
    private func exists(_ name: String, port: UInt16) async throws -> Bool {
        let answer = try await TestConnection(port: port).request(
            "POST", Self.modify.replacingOccurrences(of: "modify", with: "lookup"),
            body: #"{"records":[{"recordName":"\#(name)"}]}"#)
        return !answer.text.contains("serverErrorCode")
    }

    @Test func `a request with refused parameters is not executed`() async throws {
        try await withServer { port in
            let body = #"{"operations":[{"operationType":"create","record":{"recordName":"p","recordType":"Note"}}]}"#
            let parameters = (0..<70).map { "&p\($0)=1" }.joined()
            let connection = try TestConnection(port: port)
            try await connection.send(
                "POST \(Self.modify)\(parameters) HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
                    + body)
            #expect(try await connection.response().status == 414)
            #expect(try await !exists("p", port: port))
        }
    }

    /// The width in bytes of the sizes, at the end of a connection's memory, at which not even a refusal fits. There the
    /// connection ends without an answer.
    private static let unanswered = 200

    /// The status of the answer; nil if the connection ends without one.
    private func statusIfAnswered(_ connection: TestConnection) async throws -> Int? {
        do {
            return try await connection.response().status
        } catch let failure as TestFailure where failure.description == "the server closed the connection" {
            return nil
        }
    }

    @Test(arguments: [("X: ", 17_000), ("Cookie: ", 15_000), ("Origin: http://localhost:", 15_000)])
    func `a request that leaves no budget for its answer is refused, and not executed`(
        header: String, most: Int
    ) async throws {
        try await withServer { port in
            var statuses: Set<Int> = []
            var ends = 0
            for count in stride(from: 7000, through: most, by: 50) {
                let name = "n\(count)"
                let body =
                    #"{"operations":[{"operationType":"create","record":{"recordName":"\#(name)","recordType":"Note"}}]}"#
                let connection = try TestConnection(port: port)
                try await connection.send(
                    "POST \(Self.modify) HTTP/1.1\r\nHost: localhost\r\n\(header)\(String(repeating: "a", count: count))"
                        + "\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
                let status = try await statusIfAnswered(connection)
                if let status { statuses.insert(status) } else { ends += 1 }
                #expect(try await exists(name, port: port) == (status == 200), "\(count)")
            }
            #expect(ends <= Self.unanswered / 50)
            #expect(statuses == (header.hasPrefix("Origin") ? [403, 431] : [200, 431]))
        }
    }

    @Test func `many small headers leave budget for the answer, or are refused`() async throws {
        try await withServer { port in
            var ends = 0
            for count in stride(from: 150, through: 300, by: 1) {
                let connection = try TestConnection(port: port)
                let headers = (0..<count).map { "X\($0): \($0)\r\n" }.joined()
                try await connection.send("GET \(Self.list) HTTP/1.1\r\nHost: localhost\r\n\(headers)\r\n")
                let status = try await statusIfAnswered(connection)
                if let status { #expect([200, 431].contains(status), "\(count)") } else { ends += 1 }
            }
            // Each header takes 74 bytes.
            #expect(ends <= 1 + Self.unanswered / 74)
        }
    }

    @Test func `a target that is too long is refused`() async throws {
        try await withServer { port in
            var ends = 0
            for count in stride(from: 14_000, through: 17_000, by: 20) {
                let connection = try TestConnection(port: port)
                let target = Self.list + "&x=" + String(repeating: "a", count: count)
                try await connection.send("GET \(target) HTTP/1.1\r\nHost: localhost\r\n\r\n")
                let status = try await statusIfAnswered(connection)
                if let status { #expect([200, 414, 431].contains(status), "\(count)") } else { ends += 1 }
            }
            #expect(ends <= Self.unanswered / 20)
        }
    }

    @Test(arguments: [
        ("Host: localhost\r\nHost: evil.example", "several Host"),
        ("host: localhost\r\nHOST: localhost", "several Host"),
        ("Host: localhost\r\nContent-Length: 2\r\nContent-Length: 2", "several Content-Length"),
        ("Host: localhost\r\nContent-Length: 2\r\nTransfer-Encoding: chunked", "both"),
        ("Host: localhost\r\nTransfer-Encoding: gzip, chunked", "Transfer-Encoding"),
        ("Host: localhost\r\nTransfer-Encoding: xchunked", "Transfer-Encoding"),
        ("Host: localhost\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "Transfer-Encoding"),
        ("Host: localhost\r\nOrigin: http://localhost\r\nOrigin: http://evil.example", "several Origin"),
        ("Host: localhost\r\norigin: http://localhost\r\nORIGIN: http://localhost", "several Origin"),
        ("Host: localhost\r\nContent-Encoding: gzip\r\nContent-Encoding: gzip", "several Content-Encoding"),
        ("Host: localhost\r\nAuthorization: Bearer dev:a\r\nauthorization: Bearer dev:b", "several Authorization"),
        ("Host : localhost", "no token"), ("Host: localhost\r\nOrigin : http://evil.example", "no token"),
        ("Host: localhost\r\nX\u{1}: y", "no token"), ("Host: local\u{1}host", "control character"),
        ("Host: localhost\r\nOrigin: http://localhost\u{7F}", "control character"),
        ("Origin: http://localhost\0.evil.example\r\nHost: localhost", "NUL"),
        ("Host: localhost\r\nOrigin: http://localhost\0.evil.example", "NUL"),
        ("Host: localhost\r\nOrigin: http://localhost\r\n .evil.example", "next line"),
        ("Host: localhost\r\nX: y\0\0Origin: http://evil.example", "NUL"),
    ])
    func `ambiguous headers are refused, and the connection ends`(
        headers: String, reason: String
    ) async throws {
        try await withServer { port in
            let connection = try TestConnection(port: port)
            try await connection.send("POST \(Self.modify) HTTP/1.1\r\n\(headers)\r\n\r\n{}")
            let response = try await connection.response()
            #expect(response.status == 400)
            #expect(try error(response).reason.contains(reason))
            #expect(try await connection.isClosedByServer())
        }
    }

    @Test(arguments: ["/a\0b", "\(list)\0&x=y", "/\u{1}", "/a\u{7F}", "/a b", "/a\tb", "/\u{B}"])
    func `a target with a space or a control character in it is refused`(target: String) async throws {
        try await withServer { port in
            let connection = try TestConnection(port: port)
            try await connection.send("GET \(target) HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let response = try await connection.response()
            let error = try error(response)
            #expect(response.status == 400 && error.code == "BAD_REQUEST" && error.reason.contains("target"))
            #expect(try await connection.isClosedByServer())
        }
    }

    @Test func `headers with white space around values, empty values and other bytes are accepted`() async throws {
        try await withServer { port in
            let connection = try TestConnection(port: port)
            for headers in ["Host:localhost", "Host: \t localhost", "X:\r\nHost: localhost\r\nY: \r\nZ: é\tö"] {
                try await connection.send("GET \(Self.list) HTTP/1.1\r\n\(headers)\r\n\r\n")
                #expect(try await connection.response().status == 200, "\(headers.debugDescription)")
            }
        }
    }

    @Test(arguments: ["localhost\0.evil.example", "\0localhost", "127.0.0.1\0\0:80", "localhost\0\0evil: x"])
    func `a Host with a NUL in it is refused`(host: String) async throws {
        try await withServer { port in
            let orders = [
                "Host: \(host)\r\nX: y", "X: y\r\nHost: \(host)", "Host: \(host)", "Host: \(host)\nX: y",
            ]
            for headers in orders {
                let connection = try TestConnection(port: port)
                try await connection.send("GET \(Self.list) HTTP/1.1\r\n\(headers)\r\n\r\n")
                let response = try await connection.response()
                #expect((400..<500).contains(response.status), "\(headers.debugDescription)")
                _ = try error(response)
            }
        }
    }

    // MARK: Slow and half-closed

    @Test func `a client that has finished sending is still answered`() async throws {
        try await withServer { port in
            let connection = try TestConnection(port: port)
            try await connection.send("GET \(Self.list) HTTP/1.1\r\nHost: localhost\r\n\r\n")
            connection.finishSending()
            #expect(try await connection.response().status == 200)
            #expect(try await connection.isClosedByServer())
        }
    }

    @Test(arguments: [
        "", "GET / HTTP/1.1\r\nHost: localhost\r\nX: ",
        "POST \(modify) HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n",
        "POST \(modify) HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n",
    ])
    func `a request that drips times out`(begin: String) async throws {
        try await withServer { options in
            options.arrivalTimeout = 0.3
            options.watchInterval = 0.05
        } _: { port in
            let connection = try TestConnection(port: port)
            try await connection.send(begin)
            // Returns only once the server has ended the connection.
            try await connection.drip("1\r\nx\r\n", every: 20)
        }
    }

    @Test(arguments: ["G", "GET / HTTP/1.1\r\nHost: x\r\n", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{"])
    func `half a request of a silent client times out`(begin: String) async throws {
        try await withServer { options in
            options.watchInterval = 0.05
        } _: { port in
            let connection = try TestConnection(port: port)
            try await connection.send(begin)
            connection.finishSending()
            #expect(try await connection.isClosedByServer())
        }
    }

    @Test func `a long body has time in proportion, and a running handler does not time out`() {
        let options = HTTPServer.Options()
        let connection = WatchedConnection(-1, 0)
        connection.allow(options, bytes: 10 * options.slowestMessage, since: 1000)
        #expect(!connection.isLate(1000 + 69_999))
        #expect(connection.isLate(1000 + 70_000))
        connection.suspendDeadline()
        #expect(!connection.isLate(.max))
    }

    @Test func `each piece of a file has time in proportion, independent of earlier pieces`() {
        let options = HTTPServer.Options()
        let connection = WatchedConnection(-1, 0)
        connection.allowPiece(options, bytes: 256 * 1024, since: 1000)
        #expect(!connection.isLate(1000 + 285_999))
        #expect(connection.isLate(1000 + 286_000))
        connection.allowPiece(options, bytes: 1024, since: 2000)
        #expect(connection.isLate(2000 + 31_000))
    }

    @Test(.timeLimit(.minutes(1)), arguments: [false, true])
    func `a file that its client does not read times out`(isCached: Bool) async throws {
        let (ends, end) = AsyncStream<Bool>.makeStream()
        var options = HTTPServer.Options()
        // Whether bytes move now and then does not matter.
        options.idleTimeout = 0
        options.watchInterval = 0.05
        options.slowestTransfer = 1 << 20
        options.slowTransferGrace = .milliseconds(100)
        let server = try HTTPServer(ListeningSocket.loopback(port: 0), options: options) { _ in
            var response = HTTPResponse(status: 200)
            response.stream = ResponseStream(EndlessFile(isCached: isCached), offset: 0, length: 1 << 40)
            response.whenSent = { end.yield($0) }
            return response
        }
        let connection = try TestConnection(port: server.port)
        try await connection.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for await isWhole in ends {
            #expect(!isWhole)
            break
        }
        connection.abandon()
        await server.stop()
    }

    @Test func `requests that are unfinished when the server stops are answered 503`() async throws {
        let gate = Gate()
        var options = HTTPServer.Options()
        options.stopTimeout = 0.05
        options.unfinished = Responder.unfinished
        let server = try HTTPServer(ListeningSocket.loopback(port: 0), options: options) { _ in
            await gate.pass()
            return HTTPResponse(status: 200)
        }
        let connection = try TestConnection(port: server.port)
        try await connection.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await gate.arrived(1)
        await server.stop()
        let response = try await connection.response()
        #expect(response.status == 503)
        #expect(try error(response).code == "TRY_AGAIN_LATER")
        #expect(try await connection.isClosedByServer())
        await gate.open()
    }

    // MARK: Encoded bodies

    /// gzip of `{"operations":[]}`.
    private static let operations = [UInt8](
        Data(base64Encoded: "H4sIAAAAAAACA6tWyi9ILUosyczPK1ayio6tBQCaHCkLEQAAAA==") ?? Data())
    /// gzip of 65,536 zeros.
    private static let zeros = [UInt8](
        Data(
            base64Encoded: "H4sIAAAAAAACA+3BAQEAAACAkP6v7ggK" + String(repeating: "A", count: 84) + "auuOl9cAAAEA")
            ?? Data())

    private func post(_ body: [UInt8], encoding: String, to port: UInt16) async throws -> TestResponse {
        let connection = try TestConnection(port: port)
        try await connection.send(
            "POST \(Self.modify) HTTP/1.1\r\nHost: localhost\r\nContent-Encoding: \(encoding)\r\n"
                + "Content-Length: \(body.count)\r\n\r\n")
        try await connection.send(body)
        return try await connection.response()
    }

    @Test func `a body may be gzip, in one member or several`() async throws {
        try await withServer { port in
            #expect(try await post(Self.operations, encoding: "gzip", to: port).text == #"{"records":[]}"# + "\n")
            #expect(try await post(Self.operations, encoding: "X-GZIP", to: port).status == 200)
            let spread = try await post(Self.operations + Self.operations, encoding: "gzip", to: port)
            #expect(try error(spread).reason.contains("BadRequestException"))
            #expect(
                try await post(Array(#"{"operations":[]}"#.utf8), encoding: "identity", to: port).status == 200)
        }
    }

    @Test func `an invalid or truncated gzip body is refused`() async throws {
        try await withServer { port in
            var damaged = Self.operations
            damaged[15] ^= 0xFF
            for body in [damaged, Array(Self.operations.dropLast()), Self.operations + [1], Array("{}".utf8)] {
                let response = try await post(body, encoding: "gzip", to: port)
                #expect(response.status == 400)
                #expect(try error(response).reason.contains("gzip"))
            }
        }
    }

    @Test func `a body that inflates beyond the limit is refused`() async throws {
        #expect(try GzipBody.inflate(Self.zeros, limit: 65_536).count == 65_536)
        #expect(throws: GzipBody.Failure.tooLarge) { try GzipBody.inflate(Self.zeros, limit: 65_535) }
        try await withServer { port in
            let count = Limits.requestBodySize / 65_536 + 1
            let bomb = Array(repeatElement(Self.zeros, count: count).joined())
            let response = try await post(bomb, encoding: "gzip", to: port)
            #expect(response.status == 413)
            #expect(try error(response).reason.contains("larger than"))
        }
    }

    @Test func `another encoding is refused with the accepted ones`() async throws {
        try await withServer { port in
            let response = try await post([1, 2, 3], encoding: "br", to: port)
            #expect(response.status == 415)
            #expect(response.headers["accept-encoding"] == "gzip")
            #expect(try error(response).reason.contains("'br'"))
        }
    }

    // MARK: Targets

    @Test func `a target that names its host is accepted, and its host counts`() async throws {
        try await withServer { port in
            let connection = try TestConnection(port: port)
            for target in [Self.list, "HTTP://127.0.0.1:\(port)\(Self.list)", "https://localhost\(Self.list)"] {
                #expect(try await connection.request("GET", target).status == 200)
            }
            for host in ["evil.example", "localhost@evil.example", "localhost.evil.example:80", ""] {
                let response = try await connection.request("GET", "http://\(host)\(Self.list)")
                #expect(response.status == 403, "\(host)")
            }
            #expect(try await connection.request("GET", "http://localhost?x").status == 302)
            #expect(try await connection.request("GET", "ftp://localhost\(Self.list)").status == 404)
        }
    }

    // MARK: The web

    @Test func `a request embedded in another site's page is not answered`() async throws {
        try await withServer { port in
            let connection = try TestConnection(port: port)
            let embedded = try await connection.request("GET", Self.list, headers: ["Sec-Fetch-Site": "cross-site"])
            #expect(embedded.status == 403)
            for site in ["same-origin", "same-site", "none"] {
                #expect(try await connection.request("GET", Self.list, headers: ["Sec-Fetch-Site": site]).status == 200)
            }
            // A share's URL is followed from mail and other sites' pages, and must not be embedded.
            let share = "/share/0001111111111111111111111"
            var link = ["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"]
            #expect(try await connection.request("GET", share, headers: link).status == 200)
            // It shows the form, and makes no account: one that it names is not there until its user says so.
            let named = try await connection.request("GET", share + "?account=eve%22", headers: link)
            #expect(named.status == 200)
            #expect(String(decoding: named.body, as: UTF8.self).contains("value=\"eve&quot;\""))
            link["Sec-Fetch-Mode"] = "no-cors"
            #expect(try await connection.request("GET", share, headers: link).status == 403)
            let local = ["Sec-Fetch-Site": "cross-site", "Origin": "http://localhost:3000"]
            #expect(try await connection.request("GET", Self.list, headers: local).status == 200)
        }
    }
}

/// A file without an end, at hand or on a disk.
private final class EndlessFile: StreamedBody {
    private let isCached: Bool

    init(isCached: Bool) {
        self.isCached = isCached
    }

    func readNow(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int? {
        guard isCached else { return nil }
        buffer.initializeMemory(as: UInt8.self, repeating: 7)
        return buffer.count
    }

    func read(_ count: Int, at offset: Int64, _ completion: @escaping @Sendable (Result<[UInt8], any Error>) -> Void) {
        BlockingPool.disk.start {
            completion(.success(Array(repeating: 7, count: count)))
        } orFail: {
            completion(.failure($0))
        }
    }
}
