package import FoundationEssentials

/// The secrets of a device: its own keys, and the keys of its account.
package struct AccountSecrets: Hashable, Sendable, Codable {
    /// The seed of the device's signing key pair. The next property is the device's secret key for boxes.
    package var signingSeed: Data
    package var boxSecretKey: Data
    /// The X25519 secret keys of the account, by version (1, 2, 3, …).
    package var accountKeys: [Int64: Data]

    /// Returns secrets for a new device of a new account.
    package static func random() -> AccountSecrets {
        AccountSecrets(
            signingSeed: Data(SigningKeyPair.random().seed), boxSecretKey: Data(BoxKeyPair.random().secretKey),
            accountKeys: [1: Data(BoxKeyPair.random().secretKey)])
    }

    /// The stored form of the secrets.
    package func encoded() -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        // Encoding data and numbers cannot fail.
        return (try? encoder.encode(self)).map { [UInt8]($0) } ?? []
    }

    /// Nil if the bytes are not the stored form of secrets.
    package init?(decoding bytes: [UInt8]) {
        guard let secrets = try? JSONDecoder().decode(AccountSecrets.self, from: Data(bytes)) else { return nil }
        self = secrets
    }

    package init(signingSeed: Data, boxSecretKey: Data, accountKeys: [Int64: Data]) {
        self.signingSeed = signingSeed
        self.boxSecretKey = boxSecretKey
        self.accountKeys = accountKeys
    }
}
