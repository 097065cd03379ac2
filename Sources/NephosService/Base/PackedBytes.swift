/// Appends integers, texts and byte arrays to opaque bytes that are stored or sent. Texts and byte arrays are preceded
/// by their lengths.
struct ByteWriter: ~Copyable {
    private var memory: UnsafeMutableRawBufferPointer
    private var count = 0

    init(reserving count: Int) { memory = .allocate(byteCount: count, alignment: 8) }

    deinit { memory.deallocate() }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<count]) }

    /// Reserves `more` bytes and lets `write` append to them. `write` returns the number of bytes that it wrote.
    mutating func append(upTo more: Int, _ write: (UnsafeMutableRawPointer) -> Int) {
        if count + more > memory.count { grow(more) }
        guard let start = memory.baseAddress else { return }
        count += write(start + count)
    }

    private mutating func grow(_ more: Int) {
        let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 * (count + more), alignment: 8)
        larger.copyMemory(from: bytes)
        memory.deallocate()
        memory = larger
    }

    mutating func append(_ byte: UInt8) {
        append(upTo: 1) {
            $0.storeBytes(of: byte, as: UInt8.self)
            return 1
        }
    }

    mutating func append(_ integer: UInt64) {
        append(upTo: 8) {
            $0.storeBytes(of: integer.bigEndian, as: UInt64.self)
            return 8
        }
    }

    mutating func append(_ content: UnsafeRawBufferPointer) {
        append(UInt64(content.count))
        append(upTo: content.count) { output in
            if let source = content.baseAddress { output.copyMemory(from: source, byteCount: content.count) }
            return content.count
        }
    }

    mutating func append(_ content: [UInt8]) { content.withUnsafeBytes { append($0) } }

    mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
    }
}

/// Reads the values that a `ByteWriter` appended. Each method returns nil if the bytes do not hold such a value.
struct ByteReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    mutating func text() -> String? { bytes().map { String(decoding: $0, as: UTF8.self) } }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func byte() -> UInt8? { rest.popFirst() }

    mutating func integer() -> UInt64? {
        guard rest.count >= 8 else { return nil }
        defer { rest = rest.dropFirst(8) }
        return rest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    mutating func bytes() -> [UInt8]? {
        guard let count = integer(), count <= UInt64(rest.count) else { return nil }
        defer { rest = rest.dropFirst(Int(count)) }
        return Array(rest.prefix(Int(count)))
    }
}
