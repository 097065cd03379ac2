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
    package convenience init(_ text: String) { self.init(text.withUTF8Bytes { Self.copy($0) }) }

    /// A copy.
    package convenience init(_ bytes: [UInt8]) { self.init(bytes.withUnsafeBytes { Self.copy($0) }) }

    /// A copy.
    package convenience init(copying bytes: UnsafeRawBufferPointer) { self.init(Self.copy(bytes)) }

    private convenience init(_ owned: (start: UnsafeMutablePointer<UInt8>, count: Int)) {
        self.init(owning: owned.start, count: owned.count)
    }

    private static func copy(_ bytes: UnsafeRawBufferPointer) -> (start: UnsafeMutablePointer<UInt8>, count: Int) {
        guard let memory = malloc(max(1, bytes.count)) else {
            preconditionFailure("no memory for \(bytes.count) bytes")
        }
        if let source = bytes.baseAddress { memory.copyMemory(from: source, byteCount: bytes.count) }
        return (memory.assumingMemoryBound(to: UInt8.self), bytes.count)
    }

    deinit { free(UnsafeMutableRawPointer(mutating: buffer.baseAddress)) }
}

extension JSONBytes: Hashable {
    package static func == (left: JSONBytes, right: JSONBytes) -> Bool {
        compareBytes(left.buffer, right.buffer) == 0
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(bytes: buffer) }
}

extension [JSONBytes] {
    /// One copy of all.
    package func joined() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(reduce(0) { $0 + $1.buffer.count })
        for part in self { bytes.append(contentsOf: part.buffer) }
        return bytes
    }
}
