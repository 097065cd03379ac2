import Foundation
import Glibc
import Testing

@testable import NephosServer

/// Addresses and Unix sockets on which a server listens.
@Suite struct ListeningSocketTests {
    /// Answers with the client's user and network address.
    private static let whoAmI: HTTPServer.Handler = { request in
        HTTPResponse(
            status: 200, body: Array("\(request.localUser.map(String.init) ?? "-") \(request.client)".utf8))
    }

    /// A directory with a short path, as a socket's path is limited.
    private func withDirectory(_ body: (String) async throws -> Void) async throws {
        let directory = "/tmp/nephos-socket.\(UInt32.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try await body(directory)
    }

    private func reason(_ body: () throws(ListeningError) -> ListeningSocket) -> String {
        do throws(ListeningError) {
            try body().close()
            return "nothing was refused"
        } catch {
            return error.description
        }
    }

    // MARK: Addresses

    @Test(arguments: ["127.0.0.1:0", "0.0.0.0:0", "[::1]:0", "[::]:0"])
    func `a server listens on an address and a port`(text: String) async throws {
        let socket = try ListeningSocket.listen(on: text)
        #expect(socket.port != 0)
        #expect(socket.family == (text.contains("[") ? .ipv6 : .ipv4))
        let server = try HTTPServer([socket], handler: Self.whoAmI)
        let connection = try TestConnection(port: server.port, family: socket.family)
        let loopback = IPAddress(socket.family == .ipv4 ? "127.0.0.1" : "::1")
        #expect(try await connection.request("GET", "/").text == "- \(loopback?.bytes ?? [])")
        await server.stop()
    }

    @Test func `one server listens on several sockets`() async throws {
        try await withDirectory { directory in
            let sockets = [
                try ListeningSocket.listen(on: "127.0.0.1:0"), try ListeningSocket.listen(on: "127.0.0.1:0"),
                try ListeningSocket.unix(path: directory + "/s"),
            ]
            let server = try HTTPServer(sockets, handler: Self.whoAmI)
            for socket in sockets.dropLast() {
                #expect(try await TestConnection(port: socket.port).request("GET", "/").text.hasPrefix("- "))
            }
            let local = try TestConnection(path: directory + "/s")
            #expect(try await local.request("GET", "/").text == "\(getuid()) []")
            await server.stop()
        }
    }

    @Test(arguments: [
        ("localhost:80", "'localhost' is not an address"), ("example.org:443", "127.0.0.1:443"),
        ("::1:80", "brackets"), ("[::1]", "port"), ("127.0.0.1", "no port"), ("127.0.0.1:", "from 0 to 65535"),
        ("127.0.0.1:65536", "from 0 to 65535"), ("127.0.0.1:-1", "from 0 to 65535"),
        ("127.0.0.1:+1", "from 0 to 65535"),
        ("127.1:80", "not an address"), ("[127.0.0.1]:80", "not an address"), (":80", "not an address"),
        ("*:80", "0.0.0.0:80"), ("192.0.2.77:0", "does not have the address 192.0.2.77"),
        ("127.0.0.1\0:80", "not an address"),
    ])
    func `an address that cannot be listened on is refused in words`(text: String, words: String) {
        let reason = reason { () throws(ListeningError) in try .listen(on: text) }
        #expect(reason.contains(words), "\(reason)")
    }

    @Test func `an address that is in use is refused`() throws {
        let socket = try ListeningSocket.listen(on: "127.0.0.1:0")
        defer { socket.close() }
        #expect(throws: ListeningError.portInUse(socket.port)) {
            try ListeningSocket.listen(on: "127.0.0.1:\(socket.port)")
        }
    }

    @Test(arguments: ["192.0.2.1", "2001:db8::1", "::1", "::", "0.0.0.0"])
    func `an address is read and written alike`(text: String) throws {
        #expect(try #require(IPAddress(text)).description == text)
    }

    @Test func `an IPv4 address in IPv6 form is the IPv4 address`() {
        #expect(IPAddress("::ffff:192.0.2.1") == IPAddress("192.0.2.1"))
        #expect(IPAddress("::ffff:192.0.2.1")?.bytes == [192, 0, 2, 1])
    }

    // MARK: Unix sockets

    @Test func `a Unix socket belongs to its user, and its file goes with the server`() async throws {
        try await withDirectory { directory in
            let path = directory + "/s"
            let server = try HTTPServer([.unix(path: path)], handler: Self.whoAmI)
            var status = stat()
            #expect(lstat(path, &status) == 0)
            #expect(status.st_mode & 0o777 == 0o600)
            await server.stop()
            #expect(lstat(path, &status) != 0)
        }
    }

    @Test func `the file of a dead server is replaced, and that of a live server is not`() async throws {
        try await withDirectory { directory in
            let path = directory + "/s"
            let dead = try ListeningSocket.unix(path: path)
            // As a server that is killed.
            Glibc.close(dead.descriptor)
            let server = try HTTPServer([.unix(path: path)], handler: Self.whoAmI)
            let reason = reason { () throws(ListeningError) in try .unix(path: path) }
            #expect(reason.contains("another server listens on \(path)"), "\(reason)")
            #expect(try await TestConnection(path: path).request("GET", "/").status == 200)
            await server.stop()
        }
    }

    @Test func `a server that ends leaves the file of the next server`() async throws {
        try await withDirectory { directory in
            let path = directory + "/s"
            let first = try ListeningSocket.unix(path: path)
            unlink(path)
            let second = try ListeningSocket.unix(path: path)
            first.close()
            #expect(access(path, F_OK) == 0)
            second.close()
            #expect(access(path, F_OK) != 0)
        }
    }

    @Test func `a path that cannot have a socket is refused in words, and left as it is`() async throws {
        try await withDirectory { directory in
            let file = directory + "/file"
            try Data("text".utf8).write(to: URL(fileURLWithPath: file))
            let long = directory + "/" + String(repeating: "x", count: 107 - directory.utf8.count)
            let cases = [
                (file, "is not a socket"), (directory + "/none/s", "No such file or directory"),
                (long, "longer than 107 bytes"), ("", "at least one byte"),
            ]
            for (path, words) in cases {
                let reason = reason { () throws(ListeningError) in try .unix(path: path) }
                #expect(reason.contains(words), "\(reason)")
            }
            #expect(try String(contentsOfFile: file, encoding: .utf8) == "text")
            let longest = try ListeningSocket.unix(path: String(long.dropLast()))
            longest.close()
        }
    }
}
