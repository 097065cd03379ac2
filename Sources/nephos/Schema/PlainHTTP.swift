import FoundationEssentials
import Glibc

/// A client of HTTP/1.1, without TLS: a connection for each request. It waits for the answer as long as it takes.
struct PlainHTTP: CustomStringConvertible {
    private let host: String
    private let port: Int

    /// - Parameter url: `http://host:port`.
    init(_ url: String) throws(SchemaFailure) {
        guard let components = URLComponents(string: url), let scheme = components.scheme?.lowercased(),
            let host = components.host, !host.isEmpty, components.path.isEmpty || components.path == "/",
            components.query == nil, scheme == "http" || scheme == "https"
        else { throw SchemaFailure("'\(url)' is no server's address; one is \(RemoteSchema.localURL).") }
        guard scheme == "http" else {
            throw SchemaFailure("'\(url)': this command speaks http only; run it on the server's own machine.")
        }
        self.host = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
        port = components.port ?? 80
    }

    private var authority: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    var description: String { "http://\(authority)" }

    func request(
        _ method: String, _ path: String, body: [UInt8]
    ) throws(SchemaFailure) -> (status: Int, body: [UInt8]) {
        let descriptor = try connect()
        defer { close(descriptor) }
        let head =
            "\(method) \(path) HTTP/1.1\r\nHost: \(authority)\r\nConnection: close\r\n"
            + (method == "POST" ? "Content-Type: text/plain; charset=UTF-8\r\nContent-Length: \(body.count)\r\n" : "")
            + "\r\n"
        try send(Array(head.utf8) + body, to: descriptor)
        return try Self.response(try readAll(descriptor), from: description)
    }

    // MARK: - Sockets

    private func connect() throws(SchemaFailure) -> Int32 {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var first: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, String(port), &hints, &first)
        guard status == 0 else {
            throw SchemaFailure("\(description) cannot be found: \(String(cString: gai_strerror(status))).")
        }
        defer { freeaddrinfo(first) }
        var code = ECONNREFUSED
        var next = first
        while let address = next?.pointee {
            next = address.ai_next
            let descriptor = socket(address.ai_family, address.ai_socktype | O_CLOEXEC, address.ai_protocol)
            if descriptor < 0 {
                code = errno
                continue
            }
            if Glibc.connect(descriptor, address.ai_addr, address.ai_addrlen) == 0 { return descriptor }
            code = errno
            close(descriptor)
        }
        throw SchemaFailure(
            "\(description) does not answer: \(String(cString: strerror(code))). Start it with 'nephos dev', or work on "
                + "its data with --data DIR.")
    }

    private func send(_ bytes: [UInt8], to descriptor: Int32) throws(SchemaFailure) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw broken(errno) }
            rest = rest.dropFirst(count)
        }
    }

    private func readAll(_ descriptor: Int32) throws(SchemaFailure) -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw broken(errno) }
            if count == 0 { return bytes }
            bytes += buffer.prefix(count)
        }
    }

    private func broken(_ code: Int32) -> SchemaFailure {
        SchemaFailure("the connection to \(description) broke: \(String(cString: strerror(code))).")
    }

    // MARK: - The answer

    static func response(
        _ bytes: [UInt8], from server: String
    ) throws(SchemaFailure) -> (status: Int, body: [UInt8]) {
        let incomplete = SchemaFailure("\(server) ended the connection before its answer was whole.")
        guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { throw incomplete }
        let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count > 1, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else {
            throw SchemaFailure("\(server) does not speak HTTP.")
        }
        let body = bytes[end.upperBound...]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, parts[0].lowercased() == "content-length" else { continue }
            guard let length = Int(parts[1].drop { $0 == " " }), length <= body.count else { throw incomplete }
            return (status, Array(body.prefix(length)))
        }
        return (status, Array(body))
    }
}
