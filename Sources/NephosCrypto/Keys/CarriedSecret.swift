/// A secret that a person carries from one device to another: the one-time code that approves a device (80 bits), or
/// the recovery key (256 bits). Both devices know the secret and the service does not, so the secret authenticates the
/// sender of a sealed message.
package struct CarriedSecret: Hashable, Sendable {
    /// The secret itself.
    package let bytes: [UInt8]

    private static let codeSize = 10
    private static let recoverySize = 32
    private static let checksumSize = 5
    /// The size of the ID of a message that is sealed under the secret.
    private static let idSize = 16

    private init(bytes: [UInt8]) { self.bytes = bytes }

    /// Returns a new one-time code.
    package static func code() -> CarriedSecret { CarriedSecret(bytes: RandomBytes.make(codeSize)) }
    /// Returns a new recovery key.
    package static func recoveryKey() -> CarriedSecret { CarriedSecret(bytes: RandomBytes.make(recoverySize)) }

    /// A secret from a stored code.
    package init?(code: [UInt8]) {
        guard code.count == Self.codeSize else { return nil }
        self.init(bytes: code)
    }

    // MARK: As text

    /// The digits of base 32, without the letters I, L, O and U, which people misread.
    private static let digits = Array("23456789ABCDEFGHJKMNPQRSTVWXYZ01".utf8)

    /// The secret in base 32, in groups of four digits. A recovery key ends with a checksum.
    package var text: String { Self.text(bytes.count == Self.codeSize ? bytes : bytes + Self.checksum(bytes)) }

    /// The bytes in base 32, in groups of four digits.
    package static func text(_ bytes: [UInt8]) -> String {
        var digits: [UInt8] = []
        var (bits, count) = (UInt64(0), 0)
        for byte in bytes {
            bits = (bits << 8 | UInt64(byte)) & 0xFFFF
            count += 8
            while count >= 5 {
                count -= 5
                digits.append(Self.digits[Int(bits >> UInt64(count)) & 31])
            }
        }
        if count > 0 { digits.append(Self.digits[Int(bits << UInt64(5 - count)) & 31]) }
        return stride(from: 0, to: digits.count, by: 4).map {
            String(decoding: digits[$0..<min($0 + 4, digits.count)], as: UTF8.self)
        }.joined(separator: "-")
    }

    /// Nil for an invalid text: wrong digits, another length, or a recovery key with a wrong checksum.
    package init?(text: String) {
        var bytes: [UInt8] = []
        var (bits, count) = (UInt64(0), 0)
        for character in text.uppercased().utf8 where character != UInt8(ascii: "-") && character != UInt8(ascii: " ") {
            guard let digit = Self.digits.firstIndex(of: character) else { return nil }
            bits = (bits << 5 | UInt64(digit)) & 0xFFFF
            count += 5
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt64(count)))
            }
        }
        switch bytes.count {
        case Self.codeSize: self.init(bytes: bytes)
        case Self.recoverySize + Self.checksumSize:
            let secret = Array(bytes.prefix(Self.recoverySize))
            guard Self.checksum(secret) == Array(bytes.suffix(Self.checksumSize)) else { return nil }
            self.init(bytes: secret)
        default: return nil
        }
    }

    private static func checksum(_ bytes: [UInt8]) -> [UInt8] { Array(ContentHash.of(bytes).prefix(checksumSize)) }

    /// Whether the secret is a recovery key, and no one-time code.
    package var isRecoveryKey: Bool { bytes.count == Self.recoverySize }

    // MARK: Derived values

    private func derived(_ use: String, _ place: KeyPlace) -> [UInt8] {
        ContentHash.of(place.secretContext(use, bytes).bytes)
    }

    /// The ID of the message that is sealed under the secret.
    package func id(_ place: KeyPlace) -> [UInt8] { Array(derived("id", place).prefix(Self.idSize)) }
    /// The key that seals that message.
    package func key(_ place: KeyPlace) -> SealKey? { SealKey(derived("key", place)) }
    /// The key pairs by which a recovery key is on the list of devices.
    package func signing(_ place: KeyPlace) -> SigningKeyPair? { SigningKeyPair(seed: derived("sign", place)) }
    package func box(_ place: KeyPlace) -> BoxKeyPair? { BoxKeyPair(secretKey: derived("box", place)) }

    // MARK: Replies

    /// Returns the hash of an entry of the account's list, sealed under this secret, by which its bearer knows the list.
    package func sealedReply(_ hash: [UInt8], _ place: KeyPlace) -> [UInt8]? {
        key(place)?.seal(hash, context: place.replyContext(), header: [SealFormat.first])
    }
}
