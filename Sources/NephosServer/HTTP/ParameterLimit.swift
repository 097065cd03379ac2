import Glibc

/// The maximum number of parameters in the query of a request. libmicrohttpd allocates a record for each parameter, has
/// memory for only a few hundred, and sends no answer beyond that.
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
