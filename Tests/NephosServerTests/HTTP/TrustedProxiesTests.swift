import NephosTesting
import Testing

@testable import NephosServer

/// Who the client of a request is that a reverse proxy sent.
@Suite struct TrustedProxiesTests {
    private static let peer = "10.0.0.1"
    private static let trusted = ["10.0.0.0/8", "2001:db8:1::/48", "192.0.2.1"]

    private static func address(_ text: String) throws -> IPAddress { try #require(IPAddress(text), "\(text)") }

    private static func client(
        _ peer: String = peer, isSecure: Bool = false, forwarded: [String] = [], for nodes: [String] = [],
        proto: [String] = []
    ) throws -> TrustedProxies.Client {
        try TrustedProxies(trusted).client(
            of: address(peer), isSecure: isSecure,
            ForwardedHeaders(forwarded: forwarded, forwardedFor: nodes, forwardedProto: proto))
    }

    // MARK: Names of proxies

    @Test(arguments: [
        ("10.0.0.0/8", ["10.0.0.0", "10.255.255.255"], ["9.255.255.255", "11.0.0.0", "::a00:0"]),
        ("192.0.2.1", ["192.0.2.1"], ["192.0.2.0", "192.0.2.2"]), ("0.0.0.0/0", ["1.2.3.4"], ["::1"]),
        ("2001:db8::/33", ["2001:db8::1", "2001:db8:7fff::"], ["2001:db8:8000::", "2001:db9::"]),
        ("2001:db8::/64", ["2001:db8::1"], ["2001:db8:0:1::"]),
        ("2001:db8::/65", ["2001:db8::1"], ["2001:db8::8000:0:0:0"]),
        ("::/0", ["::1", "2001:db8::1"], ["1.2.3.4"]), ("::1", ["::1"], ["::2"]),
    ])
    func `a range has the addresses that begin with its bits`(range: String, inside: [String], outside: [String]) throws
    {
        let proxies = try TrustedProxies([range])
        for text in inside { #expect(proxies.contains(try Self.address(text)), "\(text)") }
        for text in outside { #expect(!proxies.contains(try Self.address(text)), "\(text)") }
    }

    @Test(arguments: [
        ("proxy.example", "no address"), ("10.0.0.0/33", "from 0 to 32"), ("::/129", "from 0 to 128"),
        ("10.0.0.0/", "from 0 to 32"), ("10.0.0.0/+8", "from 0 to 32"), ("10.0.0.1/8", "write 10.0.0.0/8"),
        ("2001:db8::1/32", "write 2001:db8::/32"), ("", "no address"), ("10.0.0.0/255.0.0.0", "from 0 to 32"),
    ])
    func `what names no proxy is refused in words`(text: String, words: String) {
        do throws(InvalidProxy) {
            _ = try TrustedProxies([text])
            Issue.record("accepted")
        } catch {
            #expect(error.description.contains(words), "\(error)")
        }
    }

    // MARK: The way of a request

    @Test func `nobody is believed without being named`() throws {
        let headers = ForwardedHeaders(
            forwarded: ["for=198.51.100.1;proto=https"], forwardedFor: ["198.51.100.1"], forwardedProto: ["https"])
        let stranger = try Self.address("203.0.113.9")
        for proxies in [TrustedProxies.none, try TrustedProxies(Self.trusted)] {
            let client = proxies.client(of: stranger, isSecure: false, headers)
            #expect(client == TrustedProxies.Client(address: stranger, isSecure: false))
        }
    }

    @Test(arguments: [
        (["for=198.51.100.1"], "198.51.100.1", false), (["For=\"198.51.100.1:80\";Proto=https"], "198.51.100.1", true),
        (["for=\"[2001:db8::7]:4711\";by=_x"], "2001:db8::7", false),
        (["for=\"[2001:db8::7]:_p\""], "2001:db8::7", false),
        (["for=9.9.9.9, for=198.51.100.1;proto=https, for=10.0.0.2;proto=http"], "198.51.100.1", true),
        (["for=9.9.9.9;proto=https, for=198.51.100.1;proto=http, for=10.0.0.2;proto=https"], "198.51.100.1", false),
        (["for=9.9.9.9", "for=198.51.100.1"], "198.51.100.1", false),
        (["for=10.0.0.3, for=10.0.0.2"], "10.0.0.3", false),
        (["for=9.9.9.9, for=_hidden;proto=https, for=10.0.0.2"], "10.0.0.2", true),
        (["for=unknown;proto=https"], Self.peer, true), (["proto=https"], Self.peer, true),
        ([" , ,for=1.2.3.4 ,"], "1.2.3.4", false),
        (["for=1.2.3.4;host=\"a,b;c\\\"\";proto=https"], "1.2.3.4", true),
        (["for=1.2.3.4;;proto=https;"], "1.2.3.4", true),
    ])
    func `the right-most hop that is no proxy is the client`(lines: [String], client: String, isSecure: Bool) throws {
        #expect(try Self.client(forwarded: lines) == .init(address: Self.address(client), isSecure: isSecure))
    }

    @Test(arguments: [
        (["198.51.100.1"], [], "198.51.100.1", false),
        (["9.9.9.9, 198.51.100.1,10.0.0.2"], ["https"], "198.51.100.1", true),
        (["9.9.9.9, 198.51.100.1"], ["http, https"], "198.51.100.1", true),
        (["9.9.9.9, 198.51.100.1"], ["https, http"], "198.51.100.1", false),
        (["a.b", "198.51.100.1"], [], Self.peer, false), (["9.9.9.9", "198.51.100.1:443"], [], "198.51.100.1", false),
        (["2001:db8::7"], ["HTTPS"], "2001:db8::7", true), (["[2001:db8::7]:443"], [], "2001:db8::7", false),
        (["unknown"], ["https"], Self.peer, true), ([], ["https"], Self.peer, true), ([""], ["https"], Self.peer, true),
        (["1.2.3.4"], ["http, https, http"], "1.2.3.4", false), (["1.2.3.4"], ["gopher"], "1.2.3.4", false),
    ])
    func `the X headers say the same`(nodes: [String], proto: [String], client: String, isSecure: Bool) throws {
        #expect(try Self.client(for: nodes, proto: proto) == .init(address: Self.address(client), isSecure: isSecure))
    }

    @Test func `two kinds of headers count if they agree`() throws {
        let (first, peer) = (try Self.address("1.2.3.4"), try Self.address(Self.peer))
        #expect(
            try Self.client(forwarded: ["for=1.2.3.4"], for: ["1.2.3.4"], proto: ["https"])
                == .init(address: first, isSecure: true))
        #expect(try Self.client(forwarded: ["for=1.2.3.4"], proto: ["https"]) == .init(address: first, isSecure: true))
        #expect(
            try Self.client(forwarded: ["for=1.2.3.4;proto=https"], for: ["1.2.3.4"], proto: ["http"])
                == .init(address: first, isSecure: false))
        #expect(
            try Self.client(forwarded: ["for=9.9.9.9;proto=https"], for: ["1.2.3.4"])
                == .init(address: peer, isSecure: false))
    }

    @Test(arguments: [
        "for", "for=", "=1.2.3.4", "for=1.2.3.4 proto=https", "for=1.2.3.4:80", "for=[::1]",
        "for=\"[::1\"", "for=\"1.2.3.4", "for=1.2.3.4\"", "for=1.2.3.4;for=1.2.3.4", "for=localhost", "for=_",
        "for=\"1.2.3.4:\"",
        "for=\"1.2.3.4:123456\"", "for = 1.2.3.4", "for=1.2.3", "for=\"[1.2.3.4]\"", "for=\"1.2.3.4\\", "for=\"a\"b",
        "for=\"_é\"", "@=1",
    ])
    func `a malformed header does not count`(line: String) throws {
        for lines in [[line], ["for=9.9.9.9", line], [line, "for=9.9.9.9"]] {
            let client = try Self.client(isSecure: true, forwarded: lines)
            #expect(client == .init(address: try Self.address(Self.peer), isSecure: true), "\(lines)")
        }
    }

    // MARK: Random headers

    @Test(arguments: [UInt64.random(in: 0...1_000_000)])
    func `any way is read as it was written`(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for number in 0..<3_000 {
            let way = Way(&random)
            let expected = TrustedProxies.Client(address: try Self.address(way.client), isSecure: way.isSecure)
            let official = try Self.client(forwarded: way.forwarded(&random))
            #expect(official == expected, "seed \(seed), way \(number): \(way)")
            let unofficial = try Self.client(
                for: way.forwardedFor(&random), proto: [way.protocols.joined(separator: ",")])
            #expect(unofficial == expected, "seed \(seed), way \(number): \(way)")
            if official != expected || unofficial != expected { return }
        }
    }

    @Test(arguments: [UInt64.random(in: 0...1_000_000)])
    func `whatever a client writes, it is itself or its proxy`(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let allowed = [try Self.address(Self.peer), try Self.address("203.0.113.7")]
        for number in 0..<20_000 {
            let forged = Self.forged(&random)
            let added = ["for=203.0.113.7", "for=\"203.0.113.7:80\";proto=https"][random.below(2)]
            let lines = random.chance(2) ? [forged, added] : [forged + ", " + added]
            let official = try Self.client(forwarded: lines)
            #expect(allowed.contains(official.address), "seed \(seed), header \(number): \(lines)")
            let nodes = random.chance(2) ? [forged, "203.0.113.7"] : [forged + ", 203.0.113.7"]
            let unofficial = try Self.client(for: nodes)
            #expect(allowed.contains(unofficial.address), "seed \(seed), header \(number): \(nodes)")
            if !allowed.contains(official.address) || !allowed.contains(unofficial.address) { return }
        }
    }

    /// Pieces of headers in any order.
    private static func forged(_ random: inout SeededGenerator) -> String {
        let pieces = [
            "for=", "9.9.9.9", "\"", "\\", ",", ";", " ", "10.0.0.2", "[::1]", "proto=https", "=", ":80", "unknown",
            "é", "_x", "\t",
        ]
        return (0..<random.below(12)).map { _ in pieces[random.below(pieces.count)] }.joined()
    }

    // MARK: Over a socket

    @Test(arguments: [true, false])
    func `a request through a named proxy has its client's address and protocol`(isNamed: Bool) async throws {
        var options = HTTPServer.Options()
        if isNamed { options.proxies = try TrustedProxies(["127.0.0.0/8"]) }
        let server = try HTTPServer(ListeningSocket.loopback(port: 0), options: options) {
            HTTPResponse(status: 200, body: Array("\($0.client) \($0.isSecure)".utf8))
        }
        let connection = try TestConnection(port: server.port)
        let cases = [
            ("", "[127, 0, 0, 1] false"),
            ("X-Forwarded-For: 1.2.3.4\r\nx-forwarded-proto: https\r\n", "[1, 2, 3, 4] true"),
            (
                "Forwarded: for=9.9.9.9\r\nForwarded: for=\"[2001:db8::7]\";proto=https\r\n",
                "[32, 1, 13, 184, 0, 0, 0, 0] true"
            ),
            ("Forwarded: for=nobody\r\n", "[127, 0, 0, 1] false"),
        ]
        for (headers, text) in cases {
            try await connection.send("GET / HTTP/1.1\r\nHost: x\r\n\(headers)\r\n")
            #expect(try await connection.response().text == (isNamed ? text : cases[0].1))
        }
        await server.stop()
    }
}

/// A random way of a request: what a client made up, the client, and proxies.
private struct Way: CustomStringConvertible {
    private let hops: [String]
    let protocols: [String]
    let client: String
    let isSecure: Bool

    init(_ random: inout SeededGenerator) {
        func stranger() -> String { ["198.51.100.1", "2001:db8::7", "192.0.2.2"][random.below(3)] }
        func proxy() -> String { ["10.0.0.2", "2001:db8:1::9", "192.0.2.1"][random.below(3)] }
        let forged = (0..<random.below(3)).map { _ in random.chance(2) ? stranger() : proxy() }
        client = stranger()
        hops = forged + [client] + (0..<random.below(3)).map { _ in proxy() }
        protocols = hops.map { _ in random.chance(2) ? "https" : "http" }
        isSecure = protocols[forged.count] == "https"
    }

    var description: String { zip(hops, protocols).map { "\($0) \($1)" }.joined(separator: ", ") }

    func forwarded(_ random: inout SeededGenerator) -> [String] {
        Self.lines(
            zip(hops, protocols).map { hop, name in
                let port = random.chance(3) ? ":\(random.below(65_536))" : ""
                let node = hop.contains(":") ? "[\(hop)]\(port)" : hop + port
                let isQuoted = node.contains(":") || random.chance(2)
                var pairs = ["\(random.chance(2) ? "for" : "FOR")=\(isQuoted ? "\"\(node)\"" : node)", "proto=\(name)"]
                if random.chance(2) { pairs.append("by=\"_a,b;\\\"\"") }
                if random.chance(2) { pairs.reverse() }
                return pairs.joined(separator: random.chance(2) ? ";" : " ; ")
            }, &random)
    }

    func forwardedFor(_ random: inout SeededGenerator) -> [String] {
        Self.lines(
            hops.map { hop in !random.chance(3) ? hop : hop.contains(":") ? "[\(hop)]:80" : hop + ":80" }, &random)
    }

    /// Joins elements, and begins a new line now and then.
    private static func lines(_ elements: [String], _ random: inout SeededGenerator) -> [String] {
        var lines: [String] = []
        for element in elements {
            if lines.isEmpty || random.chance(4) {
                lines.append(element)
            } else {
                lines[lines.count - 1] += (random.chance(2) ? ", " : " ,\t") + element
            }
        }
        return lines
    }
}
