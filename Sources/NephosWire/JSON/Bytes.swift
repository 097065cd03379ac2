#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

@inline(__always)
func equalBytes(_ left: UnsafePointer<UInt8>, _ right: UnsafePointer<UInt8>, _ count: Int) -> Bool {
    memcmp(left, right, count) == 0
}

/// Compares bytes: negative, zero or positive if `left` sorts before, with or after `right`.
package func compareBytes(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
    let common = min(left.count, right.count)
    if common > 0, let leftStart = left.baseAddress, let rightStart = right.baseAddress {
        let order = memcmp(leftStart, rightStart, common)
        if order != 0 { return Int(order) }
    }
    return left.count - right.count
}

/// Returns whether `needle` occurs in `bytes`. `needle` has two or more bytes.
func contains(_ needle: StaticString, in bytes: UnsafeRawBufferPointer) -> Bool {
    guard let start = bytes.baseAddress else { return false }
    let length = needle.utf8CodeUnitCount
    var position = start
    // Searches for the needle's second byte, because its first byte, a quote, is frequent in JSON.
    while bytes.count > position + 1 - start,
        let found = memchr(position + 1, Int32(needle.utf8Start[1]), bytes.count - (position + 1 - start))
    {
        let candidate = UnsafeRawPointer(found) - 1
        guard candidate - start + length <= bytes.count else { return false }
        if memcmp(candidate, needle.utf8Start, length) == 0 { return true }
        position = UnsafeRawPointer(found)
    }
    return false
}

extension String {
    /// Calls `body` with the string's UTF-8.
    @inline(__always)
    func withUTF8Bytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        var copy = self
        return copy.withUTF8 { body(UnsafeRawBufferPointer($0)) }
    }

    /// Compares the UTF-8 bytes of two strings. `<` and `==` would treat canonically equivalent names as equal.
    func utf8Order(comparedTo other: String) -> Int {
        withUTF8Bytes { mine in other.withUTF8Bytes { compareBytes(mine, $0) } }
    }
}

extension String {
    /// Creates a string from UTF-8 bytes; nil if they are invalid.
    ///
    /// Equivalent to `String(validating:as:)`, which looks up generic types on every call. That is too slow for the
    /// texts of a change feed, most of which are ASCII.
    package init?(utf8 bytes: UnsafeRawBufferPointer) {
        if isASCII(bytes) {
            self.init(decoding: bytes, as: UTF8.self)
        } else {
            self.init(validating: bytes, as: UTF8.self)
        }
    }
}

@inline(__always)
private func isASCII(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var index = 0
    var all: UInt64 = 0
    while index &+ 8 <= bytes.count {
        all |= bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
        index &+= 8
    }
    while index < bytes.count {
        all |= UInt64(bytes[index])
        index &+= 1
    }
    return all & 0x8080_8080_8080_8080 == 0
}
