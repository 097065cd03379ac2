import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Immutable bytes at a fixed address: written text that can be passed on without a copy.
///
/// `@unchecked`: the bytes are immutable after initialization, the free memory around them has at most one writer, and
/// only `deinit` frees the memory.
package final class JSONBytes: @unchecked Sendable {
    package let buffer: UnsafeRawBufferPointer
    /// The number of free bytes in the memory before `buffer`. `tailroom` is the number of free bytes after it.
    let headroom: Int
    let tailroom: Int
    private let isRoomTaken = Atomic(false)
    /// The owner of the memory; nil if this object owns it.
    private let holder: JSONBytes?
    /// The size of the memory in bytes; 0 if it is below `largeLimit`.
    private let largeSize: Int
    /// The total size in bytes of the memory of all texts in the process whose memory has `largeLimit` or more bytes.
    package static var largeBytes: Int { largeCount.load(ordering: .relaxed) }
    private static let largeCount = Atomic(0)
    package static var largeLimit: Int { 64 * 1024 }

    /// Takes ownership of memory from `malloc`. The memory has `headroom` free bytes, then the `count` bytes of the
    /// text, then free bytes. Its size is `headroom` plus `capacity`.
    init(owning start: UnsafeMutablePointer<UInt8>, count: Int, capacity: Int? = nil, headroom: Int = 0) {
        buffer = UnsafeRawBufferPointer(start: start, count: count)
        self.headroom = headroom
        tailroom = capacity.map { $0 - count } ?? 0
        holder = nil
        let size = headroom + (capacity ?? count)
        largeSize = size < Self.largeLimit ? 0 : size
        if largeSize > 0 { Self.largeCount.add(size, ordering: .relaxed) }
    }

    /// Refers to bytes in the memory that `holder` owns. The bytes include those of `holder`, and use the free memory
    /// around them.
    init(in holder: JSONBytes, _ start: UnsafeMutablePointer<UInt8>, count: Int) {
        buffer = UnsafeRawBufferPointer(start: start, count: count)
        headroom = 0
        tailroom = 0
        self.holder = holder
        largeSize = 0
    }

    /// Returns the address of the first byte to the single caller that is allowed to write to the free memory around
    /// these bytes; nil for later callers.
    func takeRoom() -> UnsafeMutablePointer<UInt8>? {
        guard let start = buffer.baseAddress, !isRoomTaken.exchange(true, ordering: .relaxed) else { return nil }
        return UnsafeMutableRawPointer(mutating: start).assumingMemoryBound(to: UInt8.self)
    }

    /// Copies a string's UTF-8 bytes.
    package convenience init(_ text: String) { self.init(text.withUTF8Bytes { Self.copy($0) }) }

    /// Copies an array's bytes.
    package convenience init(_ bytes: [UInt8]) { self.init(bytes.withUnsafeBytes { Self.copy($0) }) }

    /// Copies the bytes of a buffer.
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

    deinit {
        if largeSize > 0 { Self.largeCount.subtract(largeSize, ordering: .relaxed) }
        guard holder == nil, let start = buffer.baseAddress else { return }
        free(UnsafeMutableRawPointer(mutating: start) - headroom)
    }
}

extension JSONBytes: Hashable {
    package static func == (left: JSONBytes, right: JSONBytes) -> Bool {
        compareBytes(left.buffer, right.buffer) == 0
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(bytes: buffer) }
}

extension [JSONBytes] {
    /// Copies the bytes of all parts into one array.
    package func joined() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(reduce(0) { $0 + $1.buffer.count })
        for part in self { bytes.append(contentsOf: part.buffer) }
        return bytes
    }
}
