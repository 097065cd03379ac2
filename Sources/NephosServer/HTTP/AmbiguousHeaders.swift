import CMicroHTTPD
import Glibc

/// The headers of a request about which there can be two opinions: what they say, where the request goes, and where its
/// body ends. A proxy before the server might be of another, and let through what it should not.
///
/// libmicrohttpd takes a NUL for the end of a value, so a header with one would be truncated. In its buffer, where the lines
/// lie one after the other, two NULs stand for the end of each.
struct AmbiguousHeaders {
    /// Those that are read, and so allowed once.
    private static let single = [
        "Host", "Origin", "Content-Length", "Content-Encoding", "Sec-Fetch-Site", "Sec-Fetch-Mode", "Range", "If-Range",
        "Transfer-Encoding",
    ]

    private var found: Set<Int> = []
    private var areCodingsKnown = true
    /// Where the next line has to begin.
    private var nextLine: UnsafePointer<CChar>?
    private var first: String?

    /// What is wrong with them; nil for nothing.
    private(set) var problem: String? {
        get {
            if let first { return first }
            if has("Transfer-Encoding") && has("Content-Length") {
                return "the request has both Content-Length and Transfer-Encoding: one of them is allowed"
            }
            return areCodingsKnown ? nil : "the only Transfer-Encoding that is taken is chunked"
        }
        set { first = first ?? newValue }
    }

    init(_ connection: OpaquePointer) {
        withUnsafeMutablePointer(to: &self) { headers in
            _ = MHD_get_connection_values_n(connection, .HEADER_KIND, noteHeader, headers)
        }
        // It was the last: the empty line follows.
        if let line = nextLine, line[0] != 0 || line[1] != 0 { problem = Self.broken }
    }

    private static let broken = "the request has a header with a NUL in it, or one that goes on in the next line"

    private func has(_ name: String) -> Bool {
        Self.single.firstIndex(of: name).map(found.contains) ?? false
    }

    fileprivate mutating func note(_ name: UnsafePointer<CChar>, _ value: UnsafePointer<CChar>?, _ size: Int) {
        if let nextLine, nextLine != name { problem = Self.broken }
        nextLine = nil
        guard let length = Self.length(ofToken: name) else {
            problem = "the request has a header whose name is no token: 'Host :' is none, as there is a space in it"
            return
        }
        // Beside its name, unless it was folded.
        guard let value, Self.isBeside(value, name + length), value[size] == 0, value[size + 1] == 0 else {
            problem = Self.broken
            return
        }
        nextLine = value + size + 2
        if (0..<size).contains(where: { Self.isControl(value[$0]) }) {
            problem = "the header \(String(cString: name)) has a control character in it"
        }
        guard let index = Self.single.firstIndex(where: { strcasecmp($0, name) == 0 }) else { return }
        if !found.insert(index).inserted {
            problem = "the request has several \(Self.single[index]) headers: one is allowed"
        }
        if Self.single[index] == "Transfer-Encoding" { areCodingsKnown = strcasecmp(value, "chunked") == 0 }
    }

    // MARK: RFC 9110 §5

    /// Whether nothing but white space is between a name's end, where the colon was, and the value.
    private static func isBeside(_ value: UnsafePointer<CChar>, _ end: UnsafePointer<CChar>) -> Bool {
        guard value > end, value - end < 256 else { return false }
        var next = end + 1
        while next < value {
            guard next[0] == CChar(UInt8(ascii: " ")) || next[0] == CChar(UInt8(ascii: "\t")) else { return false }
            next += 1
        }
        return true
    }

    /// Nil for what is no token.
    private static func length(ofToken name: UnsafePointer<CChar>) -> Int? {
        var length = 0
        while name[length] != 0 {
            switch UInt8(bitPattern: name[length]) {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                break
            case let byte where "!#$%&'*+.^`|~".utf8.contains(byte): break
            default: return nil
            }
            length += 1
        }
        return length == 0 ? nil : length
    }

    private static func isControl(_ byte: CChar) -> Bool {
        let byte = UInt8(bitPattern: byte)
        return byte < 0x20 && byte != UInt8(ascii: "\t") || byte == 0x7F
    }
}

extension AmbiguousHeaders {
    /// What is wrong with a request's target, as it lies in the library's buffer before the protocol's version; nil for nothing.
    static func problem(target: UnsafePointer<CChar>) -> String? {
        var length = 0
        while target[length] != 0 {
            let byte = UInt8(bitPattern: target[length])
            if byte <= 0x20 || byte == 0x7F {
                return "the request's target has a space or a control character in it; write it percent-encoded"
            }
            length += 1
        }
        return strncmp(target + length + 1, "HTTP/", 5) == 0 ? nil : "the request's target has a NUL in it"
    }
}

private let noteHeader: MHD_KeyValueIteratorN = { context, _, name, _, value, size in
    if let name { context?.assumingMemoryBound(to: AmbiguousHeaders.self).pointee.note(name, value, size) }
    return .YES
}
