import CMicroHTTPD
import Glibc

/// Detects headers that two parsers could read differently. That can concern the header's value, the target of the
/// request, or the end of its body. A proxy ahead of the server might parse them differently and let a forbidden
/// request through (request smuggling).
///
/// libmicrohttpd ends a value at a NUL, which truncates a header that contains one. Its buffer holds the header lines
/// one after another, and two NULs end each line.
struct AmbiguousHeaders {
    /// The headers that the server reads. Each may occur at most once per request.
    private static let single: [StaticString] = [
        contentLength, transferEncoding, "Host", "Origin", "Content-Encoding", "Sec-Fetch-Site", "Sec-Fetch-Mode",
        "Range",
        "If-Range", "Authorization",
    ]
    private static let contentLength: StaticString = "Content-Length"
    private static let transferEncoding: StaticString = "Transfer-Encoding"

    /// A bit set with one bit for each header of `single` that was found.
    private var found = 0
    private static let bothLengths = 0b11
    private var areCodingsKnown = true
    /// The expected start of the next header line; nil if it is unknown.
    private var nextLine: UnsafePointer<CChar>?
    private var first: String?

    /// The first defect found; nil if there is none.
    private(set) var problem: String? {
        get {
            if let first { return first }
            if found & Self.bothLengths == Self.bothLengths {
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
        // The empty line follows the last header.
        if let line = nextLine, line[0] != 0 || line[1] != 0 { problem = Self.broken }
    }

    private static let broken = "the request has a header with a NUL in it, or one that goes on in the next line"

    fileprivate mutating func note(_ name: UnsafePointer<CChar>, _ value: UnsafePointer<CChar>?, _ size: Int) {
        if let nextLine, nextLine != name { problem = Self.broken }
        nextLine = nil
        guard let length = Self.length(ofToken: name) else {
            problem = "the request has a header whose name is no token: 'Host :' is none, as there is a space in it"
            return
        }
        // The value follows the name in the buffer, unless the line was folded.
        guard let value, Self.isBeside(value, name + length), value[size] == 0, value[size + 1] == 0 else {
            problem = Self.broken
            return
        }
        nextLine = value + size + 2
        if Self.hasControl(value, size) {
            problem = "the header \(String(cString: name)) has a control character in it"
        }
        let index = Self.single.firstIndex { $0.utf8CodeUnitCount == length && Self.isSame($0, name) }
        guard let index else { return }
        if found & 1 << index != 0 {
            problem = "the request has several \(Self.single[index]) headers: one is allowed"
        }
        found |= 1 << index
        if Self.isSame(Self.transferEncoding, name) { areCodingsKnown = strcasecmp(value, "chunked") == 0 }
    }

    // MARK: RFC 9110 §5

    /// Whether only white space separates the value from the end of the name. The colon was there too.
    private static func isBeside(_ value: UnsafePointer<CChar>, _ end: UnsafePointer<CChar>) -> Bool {
        guard value > end, value - end < 256 else { return false }
        var next = end + 1
        while next < value {
            guard next[0] == CChar(UInt8(ascii: " ")) || next[0] == CChar(UInt8(ascii: "\t")) else { return false }
            next += 1
        }
        return true
    }

    /// Returns the length of the token; nil if the text is not a token.
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

    /// Whether two header names are equal, ignoring case.
    private static func isSame(_ known: StaticString, _ name: UnsafePointer<CChar>) -> Bool {
        known.utf8Start.withMemoryRebound(to: CChar.self, capacity: known.utf8CodeUnitCount + 1) {
            strcasecmp($0, name) == 0
        }
    }

    private static func hasControl(_ value: UnsafePointer<CChar>, _ size: Int) -> Bool {
        var index = 0
        while index < size {
            let byte = UInt8(bitPattern: value[index])
            if byte < 0x20 && byte != UInt8(ascii: "\t") || byte == 0x7F { return true }
            index += 1
        }
        return false
    }
}

extension AmbiguousHeaders {
    /// Returns the defect of a request's target; nil if there is none. The target is in the library's buffer, before
    /// the protocol version.
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
