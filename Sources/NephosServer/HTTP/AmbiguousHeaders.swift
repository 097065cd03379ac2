import CMicroHTTPD
import Glibc

/// The headers of a request about which there can be two opinions: where it goes, and where its body ends. A proxy
/// before the server might be of another, and let through what it should not.
///
/// libmicrohttpd takes a NUL for the end of a value, so a host with one would be truncated. In its buffer, where the lines lie
/// one after the other, two NULs stand for the end of each.
struct AmbiguousHeaders {
    private var hosts = 0
    private var hostsAreWhole = true
    /// Where the line after the host's has to begin.
    private var lineAfterHost: UnsafePointer<CChar>?
    private var lengths = 0
    private var codings = 0
    private var areCodingsKnown = true

    /// What is wrong with them; nil for nothing.
    var problem: String? {
        if hosts > 1 { return "the request has several Host headers: one is allowed" }
        if !hostsAreWhole { return "the Host header has a NUL in it, or goes on in the next line" }
        if lengths > 1 { return "the request has several Content-Length headers: one is allowed" }
        if codings > 0 && lengths > 0 {
            return "the request has both Content-Length and Transfer-Encoding: one of them is allowed"
        }
        if codings > 1 || !areCodingsKnown { return "the only Transfer-Encoding that is taken is chunked" }
        return nil
    }

    init(_ connection: OpaquePointer) {
        withUnsafeMutablePointer(to: &self) { headers in
            _ = MHD_get_connection_values_n(connection, .HEADER_KIND, noteHeader, headers)
        }
        // It was the last: the empty line follows.
        if let line = lineAfterHost { hostsAreWhole = hostsAreWhole && line[0] == 0 && line[1] == 0 }
    }

    fileprivate mutating func note(_ name: UnsafePointer<CChar>, _ value: UnsafePointer<CChar>?, _ size: Int) {
        if let line = lineAfterHost {
            hostsAreWhole = hostsAreWhole && line == name
            lineAfterHost = nil
        }
        switch name[0] | 0x20 {
        case CChar(UInt8(ascii: "h")) where strcasecmp(name, "Host") == 0:
            hosts += 1
            // Beside its name, unless it was folded.
            guard let value, (1...64).contains(value - name), value[size] == 0, value[size + 1] == 0 else {
                hostsAreWhole = false
                return
            }
            lineAfterHost = value + size + 2
        case CChar(UInt8(ascii: "c")) where strcasecmp(name, "Content-Length") == 0:
            lengths += 1
        case CChar(UInt8(ascii: "t")) where strcasecmp(name, "Transfer-Encoding") == 0:
            codings += 1
            areCodingsKnown = areCodingsKnown && value.map { strcasecmp($0, "chunked") == 0 } ?? false
        default: break
        }
    }
}

private let noteHeader: MHD_KeyValueIteratorN = { context, _, name, _, value, size in
    if let name { context?.assumingMemoryBound(to: AmbiguousHeaders.self).pointee.note(name, value, size) }
    return .YES
}
