#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Bytes that do not move and do not change: text that was written, where it was written.
///
/// `@unchecked`: nobody writes to the memory once this is made, and nobody else frees it.
package final class JSONBytes: @unchecked Sendable {
    package let buffer: UnsafeRawBufferPointer

    /// Takes over `count` bytes of memory that `malloc` gave.
    init(owning start: UnsafeMutablePointer<UInt8>, count: Int) {
        buffer = UnsafeRawBufferPointer(start: start, count: count)
    }

    /// A copy of a string's UTF-8.
    package convenience init(_ text: String) {
        let bytes = Array(text.utf8)
        guard let memory = malloc(max(1, bytes.count)) else { preconditionFailure("no memory for a string") }
        let start = memory.assumingMemoryBound(to: UInt8.self)
        start.update(from: bytes, count: bytes.count)
        self.init(owning: start, count: bytes.count)
    }

    deinit { free(UnsafeMutableRawPointer(mutating: buffer.baseAddress)) }
}

extension JSONBytes: Hashable {
    package static func == (left: JSONBytes, right: JSONBytes) -> Bool {
        compareBytes(left.buffer, right.buffer) == 0
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(bytes: buffer) }
}
