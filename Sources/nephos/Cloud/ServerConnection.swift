import Glibc

/// Where a server listens: `http://host:port`.
struct ServerAddress: Hashable, CustomStringConvertible {
    var host: String
    var port: String
    /// Before the path of a request; without a slash at its end.
    var path: String

    init(_ text: String) throws(UsageError) {
        guard text.hasPrefix("http://") else {
            throw UsageError("'\(text)' is not the address of a server: '--url' takes http://host:port.")
        }
        let rest = text.dropFirst("http://".count)
        let authority = rest.prefix { $0 != "/" }
        path = String(rest.dropFirst(authority.count))
        while path.hasSuffix("/") { path.removeLast() }
        var name = authority
        port = "80"
        if let colon = authority.lastIndex(of: ":"), !authority.hasSuffix("]") {
            name = authority[..<colon]
            port = String(authority[authority.index(after: colon)...])
        }
        host = name.hasPrefix("[") && name.hasSuffix("]") ? String(name.dropFirst().dropLast()) : String(name)
        guard !host.isEmpty, UInt16(port) != nil else {
            throw UsageError("'\(text)' is not the address of a server: '--url' takes http://host:port.")
        }
    }

    var description: String { "http://\(host.contains(":") ? "[\(host)]" : host):\(port)\(path)" }
}

/// Sends one request to a server and waits for the answer, on the calling thread.
enum ServerConnection {
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    /// - Returns: the status and the body.
    static func post(_ body: [UInt8], to target: String, at address: ServerAddress) throws -> (Int, [UInt8]) {
        let socket = try connect(to: address)
        defer { close(socket) }
        // HTTP/1.0: the answer is one piece and ends with the connection.
        let head = """
            POST \(address.path)\(target) HTTP/1.0\r
            Host: \(address.host.contains(":") ? "[\(address.host)]" : address.host):\(address.port)\r
            Content-Type: application/json\r
            Content-Length: \(body.count)\r
            \r

            """
        try send(Array(head.utf8) + body, on: socket, address)
        return try parse(try receive(on: socket, address), address)
    }

    private static func connect(to address: ServerAddress) throws -> Int32 {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(address.host, address.port, &hints, &found)
        guard status == 0 else {
            throw Failure(description: "\(address.host) cannot be found: \(String(cString: gai_strerror(status))).")
        }
        defer { freeaddrinfo(found) }
        var code: Int32 = 0
        var next = found
        while let info = next?.pointee {
            let socket = Glibc.socket(info.ai_family, info.ai_socktype | Int32(SOCK_CLOEXEC.rawValue), info.ai_protocol)
            if socket >= 0 {
                if Glibc.connect(socket, info.ai_addr, info.ai_addrlen) == 0 { return socket }
                code = errno
                close(socket)
            } else {
                code = errno
            }
            next = info.ai_next
        }
        throw Failure(
            description:
                "no server answers at \(address): \(String(cString: strerror(code))). Start one with 'nephos dev', "
                + "or give '--data' to read its directory.")
    }

    private static func send(_ bytes: [UInt8], on socket: Int32, _ address: ServerAddress) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes { Glibc.write(socket, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw interrupted(address) }
            sent += count
        }
    }

    private static func receive(on socket: Int32, _ address: ServerAddress) throws -> [UInt8] {
        var received: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = chunk.withUnsafeMutableBytes { Glibc.read(socket, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw interrupted(address) }
            if count == 0 { return received }
            received += chunk[..<count]
        }
    }

    private static func parse(_ bytes: [UInt8], _ address: ServerAddress) throws -> (Int, [UInt8]) {
        let end: [UInt8] = Array("\r\n\r\n".utf8)
        let bodyStart = bytes.indices.dropLast(3).first { Array(bytes[$0..<$0 + 4]) == end }
        let statusLine = bytes.prefix { $0 != UInt8(ascii: "\r") }
        let words = String(decoding: statusLine, as: UTF8.self).split(separator: " ")
        guard let bodyStart, words.count > 1, words[0].hasPrefix("HTTP/"), let status = Int(words[1]) else {
            throw interrupted(address)
        }
        return (status, Array(bytes[(bodyStart + 4)...]))
    }

    private static func interrupted(_ address: ServerAddress) -> Failure {
        Failure(description: "the server at \(address) broke off its answer.")
    }
}
