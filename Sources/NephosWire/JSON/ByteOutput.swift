/// A pointer for writing bytes without capacity checks. Its creator has reserved memory for all bytes to write.
struct ByteOutput {
    private(set) var end: UnsafeMutablePointer<UInt8>

    init(_ start: UnsafeMutablePointer<UInt8>) { end = start }

    @inline(__always)
    mutating func byte(_ byte: UInt8) {
        end.pointee = byte
        end += 1
    }

    @inline(__always)
    mutating func bytes(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        UnsafeMutableRawPointer(end).copyMemory(from: source, byteCount: bytes.count)
        end += bytes.count
    }

    /// Writes a constant text. With a constant length, the copy compiles to a few instructions.
    @inline(__always)
    mutating func text(_ text: StaticString) {
        UnsafeMutableRawPointer(end).copyMemory(from: text.utf8Start, byteCount: text.utf8CodeUnitCount)
        end += text.utf8CodeUnitCount
    }
}

// MARK: JSON

extension ByteOutput {
    /// The maximum encoded size in bytes of a string of `count` bytes.
    static func room(string count: Int) -> Int { 6 * count + 2 }

    /// Writes a string that needs no escapes.
    @inline(__always)
    mutating func plain(_ bytes: UnsafeRawBufferPointer) {
        byte(UInt8(ascii: "\""))
        self.bytes(bytes)
        byte(UInt8(ascii: "\""))
    }

    @inline(__always)
    mutating func string(_ bytes: UnsafeRawBufferPointer) {
        JSONEscape.firstSpecial(in: bytes, from: 0) == bytes.count ? plain(bytes) : escaped(bytes)
    }

    @inline(never)
    private mutating func escaped(_ bytes: UnsafeRawBufferPointer) {
        byte(UInt8(ascii: "\""))
        for byte in bytes { escaped(byte) }
        byte(UInt8(ascii: "\""))
    }

    /// Writes a byte of a string. Escapes a quote, a backslash or a control character.
    mutating func escaped(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): pair(byte)
        case 0x08: pair(UInt8(ascii: "b"))
        case 0x09: pair(UInt8(ascii: "t"))
        case 0x0A: pair(UInt8(ascii: "n"))
        case 0x0C: pair(UInt8(ascii: "f"))
        case 0x0D: pair(UInt8(ascii: "r"))
        case 0..<0x20:
            let digits: StaticString = "0123456789abcdef"
            text("\\u00")
            self.byte(digits.utf8Start[Int(byte >> 4)])
            self.byte(digits.utf8Start[Int(byte & 15)])
        default: self.byte(byte)
        }
    }

    private mutating func pair(_ letter: UInt8) {
        byte(UInt8(ascii: "\\"))
        byte(letter)
    }

    @inline(__always)
    mutating func int64(_ value: Int64) { end += JSONDigits.write(value, to: end) }
}
