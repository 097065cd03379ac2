/// The escaping of URLs (RFC 3986).
package enum PercentEncoding {
    /// Returns the text with every byte escaped that is not an unreserved character (§2.3).
    package static func escaped(_ text: String) -> String { escaped(text.utf8) }

    /// Returns the bytes as text, with every byte escaped that is not an unreserved character.
    package static func escaped(_ text: some Sequence<UInt8>) -> String {
        let digits: StaticString = "0123456789ABCDEF"
        let bytes = text.reduce(into: [UInt8]()) { bytes, byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                bytes.append(byte)
            default:
                bytes += [
                    UInt8(ascii: "%"), digits.utf8Start[Int(byte >> 4)], digits.utf8Start[Int(byte & 15)],
                ]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
