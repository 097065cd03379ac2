import Glibc

/// The limit of parameters in a request's query. libmicrohttpd allocates a record for each, has memory for a few
/// hundred only, and sends no answer beyond that.
enum ParameterLimit {
    static let count = 64

    static func isExceeded(_ target: UnsafePointer<CChar>) -> Bool {
        var count = 0
        var next = target
        while let found = strchr(next, Int32(UInt8(ascii: "&"))) {
            count += 1
            if count >= Self.count { return true }
            next = UnsafePointer(found) + 1
        }
        return false
    }
}
