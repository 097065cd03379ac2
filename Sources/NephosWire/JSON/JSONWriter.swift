import CSimdJSON

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Appends JSON to a growing buffer. The writer inserts commas, and the caller is responsible for the structure.
package struct JSONWriter: ~Copyable {
    private var start: UnsafeMutablePointer<UInt8>
    /// The number of bytes written since the last finished part.
    private(set) package var count = 0
    private var capacity: Int
    /// The number of free bytes before the first byte.
    private var headroom: Int
    /// The owner of the memory; nil if the writer owns it.
    private var holder: JSONBytes?
    /// The finished parts, in order.
    private var parts: [JSONBytes] = []

    /// - Parameter headroom: the number of free bytes to reserve before the first byte, for a caller that embeds the
    ///   JSON in a larger document.
    package init(reserving capacity: Int = 512, headroom: Int = 0) {
        self.capacity = max(capacity, 64)
        self.headroom = headroom
        start = Self.memory(self.capacity, headroom)
    }

    deinit { release() }

    /// Frees the memory, unless the writer passed it on.
    private func release() {
        if capacity > 0, holder == nil { free(start - headroom) }
    }

    /// Allocates with malloc: Swift's own allocation requests aligned memory, which is slower.
    private static func memory(_ capacity: Int, _ headroom: Int = 0) -> UnsafeMutablePointer<UInt8> {
        guard let memory = malloc(headroom + capacity) else {
            preconditionFailure("no memory for \(capacity) bytes of JSON")
        }
        return memory.assumingMemoryBound(to: UInt8.self) + headroom
    }

    /// Returns the written bytes as one array.
    package consuming func finish() -> [UInt8] {
        if parts.isEmpty { return Array(UnsafeBufferPointer(start: start, count: count)) }
        return finishInParts().joined()
    }

    /// Returns the written bytes without a copy. Valid only if no part was finished before.
    package consuming func finishInPlace() -> JSONBytes { takeOver() }

    /// Returns the written bytes as consecutive parts, without a copy.
    package consuming func finishInParts() -> [JSONBytes] {
        endPart()
        return parts
    }

    /// Appends an encoded value. Does not copy a long one: see `append(_:)`.
    package mutating func verbatim(_ json: JSONBytes) {
        separate()
        append(json)
    }

    /// Appends raw bytes. Does not copy them if they are longer than `copied`, or if `canContinue` allows it.
    mutating func append(_ bytes: JSONBytes) {
        if Self.canContinue(bytes), count <= bytes.headroom, let first = bytes.takeRoom() {
            goOn(in: bytes, first)
        } else if bytes.buffer.count > Self.copied {
            endPart()
            parts.append(bytes)
            start = Self.memory(512)
            capacity = 512
        } else {
            append(bytes.buffer)
        }
    }

    /// Returns whether writing on in the free memory around the bytes is cheaper than copying them.
    static func canContinue(_ bytes: JSONBytes) -> Bool { bytes.headroom > 0 && bytes.buffer.count > 2048 }

    /// The maximum size in bytes for which a copy is cheaper than a separate part. A body of several parts is sent
    /// after its header, in another call and another packet.
    static let copied = 128 * 1024

    /// Moves the bytes written so far into the memory of `bytes`, in front of them, and continues after them.
    private mutating func goOn(in bytes: JSONBytes, _ first: UnsafeMutablePointer<UInt8>) {
        (first - count).update(from: start, count: count)
        release()
        start = first - count
        count += bytes.buffer.count
        capacity = count + bytes.tailroom
        headroom = 0
        holder = bytes
    }

    /// Returns the bytes written since the last part, without a copy. The writer has no memory afterwards.
    private mutating func takeOver() -> JSONBytes {
        defer { capacity = 0 }
        if let holder { return JSONBytes(in: holder, start, count: count) }
        return JSONBytes(owning: start, count: count, capacity: capacity, headroom: headroom)
    }

    private mutating func endPart() {
        if count > 0 { parts.append(takeOver()) } else { release() }
        count = 0
        capacity = 0
        headroom = 0
        holder = nil
    }

    // MARK: Structure

    /// Begins an object, as an element of an array or as a member's value.
    package mutating func beginObject() {
        separate()
        append(UInt8(ascii: "{"))
    }

    package mutating func endObject() { append(UInt8(ascii: "}")) }

    package mutating func beginArray() {
        separate()
        append(UInt8(ascii: "["))
    }

    package mutating func endArray() { append(UInt8(ascii: "]")) }

    /// Writes a member's key, which needs no escapes. The caller then writes the value.
    package mutating func key(_ name: StaticString) {
        separate()
        let length = name.utf8CodeUnitCount
        let output = reserve(length + 3)
        output[0] = UInt8(ascii: "\"")
        (output + 1).update(from: name.utf8Start, count: length)
        output[length + 1] = UInt8(ascii: "\"")
        output[length + 2] = UInt8(ascii: ":")
        count += length + 3
    }

    /// Writes a member's key. The caller then writes the value.
    package mutating func key(_ name: String) {
        string(name)
        append(UInt8(ascii: ":"))
    }

    // MARK: Values

    package mutating func null() { literal("null") }

    package mutating func bool(_ value: Bool) { value ? literal("true") : literal("false") }

    /// Writes a string that needs no escapes, such as the name of a type.
    package mutating func plain(_ name: StaticString) {
        separate()
        append(UInt8(ascii: "\""))
        append(UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
        append(UInt8(ascii: "\""))
    }

    package mutating func int64(_ value: Int64) {
        separate()
        digits(of: value)
    }

    /// - Parameter quoted: whether to write the number as a string.
    mutating func int64(_ value: Int64, quoted: Bool) {
        quoted ? string(String(value)) : int64(value)
    }

    /// Writes the shortest text that reads back as `value`. JSON has no non-finite numbers: `FieldValue.problem`
    /// refuses them, and here they become `null`.
    package mutating func double(_ value: Double) {
        guard value.isFinite else { return null() }
        separate()
        let output = UnsafeMutableRawPointer(reserve(32)).assumingMemoryBound(to: CChar.self)
        count += csimdjson_write_double(value, output)
    }

    /// Writes the shortest text that reads back as `value`, in quotes.
    package mutating func quoted(_ value: Double) {
        guard value.isFinite else { return null() }
        separate()
        append(UInt8(ascii: "\""))
        let output = UnsafeMutableRawPointer(reserve(32)).assumingMemoryBound(to: CChar.self)
        count += csimdjson_write_double(value, output)
        append(UInt8(ascii: "\""))
    }

    package mutating func string(_ value: String) {
        separate()
        var value = value
        value.withUTF8 { quote(UnsafeRawBufferPointer($0)) }
    }

    @inline(__always)
    private mutating func quote(_ bytes: UnsafeRawBufferPointer) {
        let clean = JSONEscape.firstSpecial(in: bytes, from: 0)
        // Reserves memory for the quotes and for all of the string, which suffices unless the string needs escapes.
        let output = reserve(bytes.count + 2)
        output[0] = UInt8(ascii: "\"")
        if let source = bytes.baseAddress {
            UnsafeMutableRawPointer(output + 1).copyMemory(from: source, byteCount: clean)
        }
        guard clean < bytes.count else {
            output[clean + 1] = UInt8(ascii: "\"")
            count += clean + 2
            return
        }
        count += clean + 1
        escape(UnsafeRawBufferPointer(rebasing: bytes[clean...]))
        append(UInt8(ascii: "\""))
    }

    package mutating func base64(_ bytes: [UInt8]) {
        separate()
        let length = Base64.encodedCount(bytes.count)
        let output = reserve(length + 2)
        output[0] = UInt8(ascii: "\"")
        bytes.withUnsafeBytes { Base64.encode($0, to: output + 1) }
        output[length + 1] = UInt8(ascii: "\"")
        count += length + 2
    }

    /// Appends an encoded value.
    package mutating func verbatim(_ json: UnsafeRawBufferPointer) {
        separate()
        append(json)
    }

    /// Appends an encoded value.
    package mutating func verbatim(_ json: [UInt8]) { json.withUnsafeBytes { verbatim($0) } }

    // MARK: Bytes

    mutating func append(_ byte: UInt8) {
        reserve(1).pointee = byte
        count += 1
    }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        UnsafeMutableRawPointer(reserve(bytes.count)).copyMemory(from: source, byteCount: bytes.count)
        count += bytes.count
    }

    /// Reserves `count` bytes and passes them to `write`, which returns the number of bytes it wrote.
    @inline(__always)
    mutating func append(upTo count: Int, _ write: (UnsafeMutablePointer<UInt8>) -> Int) {
        self.count += write(reserve(count))
    }

    private mutating func literal(_ text: StaticString) {
        separate()
        append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Writes the comma between the previous value and the next value. The last byte shows whether a comma is needed,
    /// because a string ends with its quote.
    @inline(__always)
    mutating func separate() {
        guard count > 0 else {
            if !parts.isEmpty { append(UInt8(ascii: ",")) }
            return
        }
        switch start[count - 1] {
        case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: ":"): break
        default: append(UInt8(ascii: ","))
        }
    }

    @inline(__always)
    private mutating func reserve(_ additional: Int) -> UnsafeMutablePointer<UInt8> {
        if capacity - count < additional { grow(by: additional) }
        return start + count
    }

    @inline(never)
    private mutating func grow(by additional: Int) {
        let larger = max(capacity * 2, count + additional)
        let moved = Self.memory(larger, headroom)
        moved.update(from: start, count: count)
        release()
        start = moved
        capacity = larger
        holder = nil
    }

    private mutating func digits(of value: Int64) {
        let output = reserve(JSONDigits.most)
        count += JSONDigits.write(value, to: output)
    }

    private mutating func escape(_ bytes: UnsafeRawBufferPointer) {
        var clean = 0
        var index = 0
        while true {
            index = JSONEscape.firstSpecial(in: bytes, from: index)
            append(UnsafeRawBufferPointer(rebasing: bytes[clean..<index]))
            guard index < bytes.count else { return }
            escape(bytes[index])
            index += 1
            clean = index
        }
    }

    private mutating func escape(_ byte: UInt8) {
        append(upTo: ByteOutput.room(string: 1)) { start in
            var output = ByteOutput(start)
            output.escaped(byte)
            return output.end - start
        }
    }
}

/// Finds the bytes that a string must escape: quotes, backslashes, control characters.
enum JSONEscape {
    /// Returns the index of the first byte that must be escaped, or the end index.
    @inline(__always)
    static func firstSpecial(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
        var index = start
        let count = bytes.count
        while index &+ 8 <= count {
            let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            if hasSpecial(word) { break }
            index &+= 8
        }
        // Checks the last eight bytes, which overlap bytes checked before.
        if count &- index < 8, count >= 8,
            !hasSpecial(bytes.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self))
        {
            return count
        }
        while index < count {
            let byte = bytes[index]
            if byte < 0x20 || byte == 0x22 || byte == 0x5C { return index }
            index &+= 1
        }
        return count
    }

    /// Returns whether one of the word's eight bytes is a control character, a quote or a backslash.
    @inline(__always)
    private static func hasSpecial(_ word: UInt64) -> Bool {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let high: UInt64 = 0x8080_8080_8080_8080
        let control = (word &- ones &* 0x20) & ~word
        let quote = word ^ (ones &* 0x22)
        let backslash = word ^ (ones &* 0x5C)
        return (control | ((quote &- ones) & ~quote) | ((backslash &- ones) & ~backslash)) & high != 0
    }
}

extension JSONWriter {
    /// Writes a string member. Writes nothing for nil.
    package mutating func member(_ name: StaticString, _ value: String?) {
        guard let value else { return }
        key(name)
        string(value)
    }

    /// Writes a member whose value is an array of strings. Writes nothing for nil.
    package mutating func member(_ name: StaticString, _ values: [String]?) {
        guard let values else { return }
        key(name)
        beginArray()
        for value in values { string(value) }
        endArray()
    }
}
