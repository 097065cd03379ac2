import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Immutable bytes at a fixed address: written text, without a copy.
///
/// `@unchecked`: the bytes are immutable after initialization, the free memory around them has at most one writer, and
/// only `deinit` frees the memory.
package final class JSONBytes: @unchecked Sendable {
    package let buffer: UnsafeRawBufferPointer
    /// Free bytes of the memory before and after these.
    let headroom: Int
    let tailroom: Int
    private let isRoomTaken = Atomic(false)
    /// The owner of the memory, if not this.
    private let holder: JSONBytes?
    /// Bytes of the memory, if it counts as large.
    private let largeSize: Int
    /// Total bytes of all large texts of the process, those of `largeLimit` and more.
    package static var largeBytes: Int { largeCount.load(ordering: .relaxed) }
    private static let largeCount = Atomic(0)
    package static var largeLimit: Int { 64 * 1024 }

    /// Takes ownership of memory from `malloc`: `headroom` bytes, then `count`, and more up to `capacity` after the
    /// headroom.
    init(owning start: UnsafeMutablePointer<UInt8>, count: Int, capacity: Int? = nil, headroom: Int = 0) {
        buffer = UnsafeRawBufferPointer(start: start, count: count)
        self.headroom = headroom
        tailroom = capacity.map { $0 - count } ?? 0
        holder = nil
        let size = headroom + (capacity ?? count)
        largeSize = size < Self.largeLimit ? 0 : size
        if largeSize > 0 { Self.largeCount.add(size, ordering: .relaxed) }
    }

    /// Bytes in the memory of `holder`, in the free memory around its own.
    init(in holder: JSONBytes, _ start: UnsafeMutablePointer<UInt8>, count: Int) {
        buffer = UnsafeRawBufferPointer(start: start, count: count)
        headroom = 0
        tailroom = 0
        self.holder = holder
        largeSize = 0
    }

    /// The first byte, for the single caller that may write before and after these bytes; nil for others.
    func takeRoom() -> UnsafeMutablePointer<UInt8>? {
        guard let start = buffer.baseAddress, !isRoomTaken.exchange(true, ordering: .relaxed) else { return nil }
        return UnsafeMutableRawPointer(mutating: start).assumingMemoryBound(to: UInt8.self)
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
    /// One copy of all.
    package func joined() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(reduce(0) { $0 + $1.buffer.count })
        for part in self { bytes.append(contentsOf: part.buffer) }
        return bytes
    }
}
