import CSimdJSON

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Appends JSON to a growing buffer. Commas come by themselves; the caller keeps the structure right.
package struct JSONWriter: ~Copyable {
    private var start: UnsafeMutablePointer<UInt8>
    /// Bytes since the last part that was taken over.
    private(set) package var count = 0
    private var capacity: Int
    /// Bytes of the memory in front of the first.
    private var headroom: Int
    /// Whose memory it is, if not the writer's.
    private var holder: JSONBytes?
    /// What was written up to there, in order.
    private var parts: [JSONBytes] = []

    /// - Parameter headroom: bytes that are kept free in front, for a caller that embeds the bytes in a larger document.
    package init(reserving capacity: Int = 512, headroom: Int = 0) {
        self.capacity = max(capacity, 64)
        self.headroom = headroom
        start = Self.memory(self.capacity, headroom)
    }

    deinit { release() }

    /// Frees the memory, unless it was handed on.
    private func release() {
        if capacity > 0, holder == nil { free(start - headroom) }
    }

    /// From the C library: Swift's own allocation asks it for aligned memory, which takes a slower way.
    private static func memory(_ capacity: Int, _ headroom: Int = 0) -> UnsafeMutablePointer<UInt8> {
        guard let memory = malloc(headroom + capacity) else {
            preconditionFailure("no memory for \(capacity) bytes of JSON")
        }
        return memory.assumingMemoryBound(to: UInt8.self) + headroom
    }

    /// What was written.
    package consuming func finish() -> [UInt8] {
        if parts.isEmpty { return Array(UnsafeBufferPointer(start: start, count: count)) }
        return finishInParts().joined()
    }

    /// What was written, where it is; without parts that were taken over.
    package consuming func finishInPlace() -> JSONBytes { takeOver() }

    /// What was written, where it is: one part after the other.
    package consuming func finishInParts() -> [JSONBytes] {
        endPart()
        return parts
    }

    /// A value that is JSON already. Where it is long it is not copied.
    package mutating func verbatim(_ json: JSONBytes) {
        separate()
        append(json)
    }

    /// The same, of bytes as they are.
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

    /// Whether what has room around it is sooner written around than copied.
    static func canContinue(_ bytes: JSONBytes) -> Bool { bytes.headroom > 0 && bytes.buffer.count > 2048 }

    /// Up to this many bytes are sooner copied than sent from another place: a body of several parts goes out behind its
    /// header, in another call and another packet.
    static let copied = 128 * 1024

    /// Puts what was written so far in front of `bytes`, where they are, and goes on behind them.
    private mutating func goOn(in bytes: JSONBytes, _ first: UnsafeMutablePointer<UInt8>) {
        (first - count).update(from: start, count: count)
        release()
        start = first - count
        count += bytes.buffer.count
        capacity = count + bytes.tailroom
        headroom = 0
        holder = bytes
    }

    /// What was written since the last part, where it is; the writer has no memory from then on.
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

    /// Begins an object as the next element or a member's value.
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

    /// A member's key, which needs no escapes; its value comes next.
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

    /// A member's key; its value comes next.
    package mutating func key(_ name: String) {
        string(name)
        append(UInt8(ascii: ":"))
    }

    // MARK: Values

    package mutating func null() { literal("null") }

    package mutating func bool(_ value: Bool) { value ? literal("true") : literal("false") }

    /// A string without quotes or escapes in it, such as a type's name.
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

    /// - Parameter quoted: whether it is written as a string.
    mutating func int64(_ value: Int64, quoted: Bool) {
        quoted ? string(String(value)) : int64(value)
    }

    /// The shortest text that reads back as `value`. JSON has no text for a number that is not finite:
    /// `FieldValue.problem` has those refused, and here they become `null`.
    package mutating func double(_ value: Double) {
        guard value.isFinite else { return null() }
        separate()
        let output = UnsafeMutableRawPointer(reserve(32)).assumingMemoryBound(to: CChar.self)
        count += csimdjson_write_double(value, output)
    }

    /// The same in quotes.
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
        // Room for the quotes, and for all of it unless some has to be escaped.
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

    /// A value that is JSON already.
    package mutating func verbatim(_ json: UnsafeRawBufferPointer) {
        separate()
        append(json)
    }

    /// A value that is JSON already.
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

    /// Has `write` append up to `count` bytes; it returns how many they are.
    @inline(__always)
    mutating func append(upTo count: Int, _ write: (UnsafeMutablePointer<UInt8>) -> Int) {
        self.count += write(reserve(count))
    }

    private mutating func literal(_ text: StaticString) {
        separate()
        append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Writes the comma between this value and the one before it. Strings end with their quote, so the last byte
    /// tells the structure.
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

/// What must be escaped in a string: quotes, backslashes, control characters.
enum JSONEscape {
    /// The index of the first byte that a string cannot hold as it is, or the end.
    @inline(__always)
    static func firstSpecial(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
        var index = start
        let count = bytes.count
        while index &+ 8 <= count {
            let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            if hasSpecial(word) { break }
            index &+= 8
        }
        // The last bytes, some of them for the second time.
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

    /// Eight bytes at once: is one a control character, a quote or a backslash?
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
    /// A member with a string, or nothing for nil.
    package mutating func member(_ name: StaticString, _ value: String?) {
        guard let value else { return }
        key(name)
        string(value)
    }

    /// A member with an array of strings, or nothing for nil.
    package mutating func member(_ name: StaticString, _ values: [String]?) {
        guard let values else { return }
        key(name)
        beginArray()
        for value in values { string(value) }
        endArray()
    }
}
