import CMicroHTTPD

/// What a request's headers say of the way that it took: `Forwarded` (RFC 7239), and `X-Forwarded-For` with
/// `X-Forwarded-Proto`. Each value is a header line, in the order of the request.
struct ForwardedHeaders: Equatable {
    var forwarded: [String] = []
    var forwardedFor: [String] = []
    var forwardedProto: [String] = []

    /// One hop, as told by the proxy that received it.
    struct Hop: Equatable {
        /// The address from which the request came; nil if the proxy hides or does not know it.
        var address: IPAddress?
        /// Whether it came over TLS; nil if the proxy does not say.
        var isSecure: Bool?
        /// Whether the proxy says nothing of the address, not even that it hides it.
        var isWithoutNode = false
    }

    /// A header is not what its specification says.
    struct Malformed: Error {}

    /// The hops of `Forwarded`, the one nearest to this server last; nil without the header.
    func forwardedHops() throws(Malformed) -> [Hop]? {
        guard !forwarded.isEmpty else { return nil }
        var hops: [Hop] = []
        // A quoted value ends in its own line. The client may have written the line before that of the proxy.
        for line in forwarded {
            var parser = ForwardedParser(line)
            hops += try parser.hops()
        }
        return hops
    }

    /// The hops of the `X-` headers. Several protocols belong to a hop each; one belongs to all.
    func unofficialHops() throws(Malformed) -> [Hop]? {
        guard !forwardedFor.isEmpty || !forwardedProto.isEmpty else { return nil }
        var hops: [Hop] = []
        for entry in Self.entries(forwardedFor) {
            let node = try Self.node(entry)
            hops.append(Hop(address: node, isSecure: nil))
        }
        let protocols = Self.entries(forwardedProto).map { Self.isSecure(String($0)) }
        if hops.isEmpty { return [Hop(isSecure: protocols.last ?? nil, isWithoutNode: true)] }
        guard protocols.count == 1 || protocols.count == hops.count else { return hops }
        for place in hops.indices { hops[place].isSecure = protocols.count == 1 ? protocols[0] : protocols[place] }
        return hops
    }

    private static func entries(_ lines: [String]) -> [Substring] {
        lines.filter { !$0.allSatisfy(\.isBlank) }
            .flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) }
            .map { $0.drop(while: \.isBlank).trimmingBlanksAtEnd() }
    }

    /// Whether a protocol is over TLS; nil for a protocol that is not HTTP.
    static func isSecure(_ name: String) -> Bool? {
        switch name.lowercased() {
        case "https", "wss": true
        case "http", "ws": false
        default: nil
        }
    }

    /// Parses a node, with its port if it has one; nil for one without an address.
    static func node(_ text: Substring) throws(Malformed) -> IPAddress? {
        if text.lowercased() == "unknown" { return nil }
        if text.first == "_" {
            guard text.utf8.dropFirst().allSatisfy(isObfuscation), text.utf8.count > 1 else { throw Malformed() }
            return nil
        }
        if text.first == "[" {
            guard let end = text.firstIndex(of: "]"), isPort(text[text.index(after: end)...]),
                let address = IPAddress(text[..<end].dropFirst()), text[..<end].contains(":")
            else { throw Malformed() }
            return address
        }
        if let address = IPAddress(text) { return address }
        guard let colon = text.firstIndex(of: ":"), isPort(text[colon...]), let address = IPAddress(text[..<colon])
        else { throw Malformed() }
        return address
    }

    /// Whether a text is nothing, or a colon with a port after it.
    private static func isPort(_ text: Substring) -> Bool {
        guard let colon = text.utf8.first else { return true }
        let port = text.utf8.dropFirst()
        guard colon == UInt8(ascii: ":"), let first = port.first else { return false }
        if first == UInt8(ascii: "_") { return port.count > 1 && port.allSatisfy(isObfuscation) }
        return port.count <= 5 && port.allSatisfy { (0x30...0x39).contains($0) }
    }

    private static func isObfuscation(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "._-".utf8.contains(byte)
        }
    }
}

/// A parser of one line of `Forwarded` (RFC 7239 §4).
private struct ForwardedParser {
    private var rest: Substring.UTF8View

    init(_ line: String) { rest = line[...].utf8 }

    mutating func hops() throws(ForwardedHeaders.Malformed) -> [ForwardedHeaders.Hop] {
        var hops: [ForwardedHeaders.Hop] = []
        while true {
            skipBlanks()
            // A list may have empty elements (RFC 9110 §5.6.1).
            if rest.isEmpty { return hops }
            if take(",") { continue }
            hops.append(try element())
            skipBlanks()
            guard rest.isEmpty || take(",") else { throw ForwardedHeaders.Malformed() }
        }
    }

    private mutating func element() throws(ForwardedHeaders.Malformed) -> ForwardedHeaders.Hop {
        var hop = ForwardedHeaders.Hop(isWithoutNode: true)
        var names: Set<String> = []
        repeat {
            skipBlanks()
            if rest.isEmpty || rest.first == UInt8(ascii: ",") || rest.first == UInt8(ascii: ";") { continue }
            let name = try token().lowercased()
            guard names.insert(name).inserted, take("=") else { throw ForwardedHeaders.Malformed() }
            let value = take("\"") ? try quoted() : try token()
            switch name {
            case "for":
                hop.address = try ForwardedHeaders.node(value[...])
                hop.isWithoutNode = false
            case "proto": hop.isSecure = ForwardedHeaders.isSecure(value)
            default: break
            }
            skipBlanks()
        } while take(";")
        return hop
    }

    private mutating func token() throws(ForwardedHeaders.Malformed) -> String {
        let end = rest.firstIndex { !Self.isToken($0) } ?? rest.endIndex
        guard end > rest.startIndex else { throw ForwardedHeaders.Malformed() }
        defer { rest = rest[end...] }
        return String(decoding: rest[..<end], as: UTF8.self)
    }

    /// The rest of a quoted string whose first quotation mark was taken.
    private mutating func quoted() throws(ForwardedHeaders.Malformed) -> String {
        var value: [UInt8] = []
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: value, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let escaped = rest.popFirst() else { throw ForwardedHeaders.Malformed() }
                value.append(escaped)
            default: value.append(byte)
            }
        }
        throw ForwardedHeaders.Malformed()
    }

    private mutating func skipBlanks() { rest = rest.drop { $0 == 0x20 || $0 == 0x09 } }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }

    private static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}

extension Character {
    fileprivate var isBlank: Bool { self == " " || self == "\t" }
}

extension Substring {
    fileprivate func trimmingBlanksAtEnd() -> Substring {
        var text = self
        while text.last?.isBlank == true { text.removeLast() }
        return text
    }
}

extension ForwardedHeaders {
    /// Reads the headers of a request.
    init(_ connection: OpaquePointer) {
        withUnsafeMutablePointer(to: &self) { headers in
            _ = MHD_get_connection_values_n(connection, .HEADER_KIND, noteForwarded, headers)
        }
    }

    fileprivate mutating func note(_ name: String, _ value: String) {
        switch name.lowercased() {
        case "forwarded": forwarded.append(value)
        case "x-forwarded-for": forwardedFor.append(value)
        case "x-forwarded-proto": forwardedProto.append(value)
        default: break
        }
    }
}

private let noteForwarded: MHD_KeyValueIteratorN = { context, _, name, nameSize, value, size in
    guard let name, let value else { return .YES }
    let text = String(decoding: UnsafeRawBufferPointer(start: name, count: nameSize), as: UTF8.self)
    let content = String(decoding: UnsafeRawBufferPointer(start: value, count: size), as: UTF8.self)
    context?.assumingMemoryBound(to: ForwardedHeaders.self).pointee.note(text, content)
    return .YES
}
