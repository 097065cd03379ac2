import CSodium

/// Base64url without padding (RFC 4648 §5).
package enum Base64URL {
    private static let alphabet = Int32(sodium_base64_VARIANT_URLSAFE_NO_PADDING)

    package static func text(of bytes: [UInt8]) -> String {
        // libsodium takes ten times as long, because it encodes secrets in constant time.
        let (size, digits) = ((bytes.count * 4 + 2) / 3, Self.digits.utf8Start)
        return String(unsafeUninitializedCapacity: size + 3) { text in
            bytes.withUnsafeBufferPointer { bytes in
                var next = 0
                for start in stride(from: 0, to: bytes.count, by: 3) {
                    var group = UInt32(bytes[start]) << 16
                    if start + 1 < bytes.count { group |= UInt32(bytes[start + 1]) << 8 }
                    if start + 2 < bytes.count { group |= UInt32(bytes[start + 2]) }
                    for shift in stride(from: 18, through: 0, by: -6) {
                        text[next] = digits[Int(group >> UInt32(shift) & 63)]
                        next += 1
                    }
                }
            }
            return size
        }
    }

    private static let digits: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

    /// Returns the decoded bytes; nil if the encoding is invalid or not canonical.
    package static func bytes(of text: String) -> [UInt8]? {
        var text = text
        return text.withUTF8 { text -> [UInt8]? in
            guard !text.isEmpty else { return [] }
            var bytes = [UInt8](repeating: 0, count: text.count / 4 * 3 + 3)
            var count = 0
            let status = text.withMemoryRebound(to: CChar.self) { text in
                text.baseAddress.map {
                    sodium_base642bin(&bytes, bytes.count, $0, text.count, nil, &count, nil, alphabet)
                }
            }
            guard status == 0 else { return nil }
            bytes.removeLast(bytes.count - count)
            return bytes
        }
    }
}
