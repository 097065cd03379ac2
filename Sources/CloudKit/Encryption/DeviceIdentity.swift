import Foundation
import NephosCrypto

/// The identity of this device as a member of its account, with its keys.
struct DeviceIdentity: Sendable {
    let place: KeyPlace
    let signing: SigningKeyPair
    let box: BoxKeyPair
    /// The account's key pairs by version.
    let accountKeys: [Int64: BoxKeyPair]
    let list: DeviceList
    /// The store of the device's keys; nil if the service escrows the keys.
    let kept: KeptKeys?

    /// Nil if the secrets are damaged, or if no device on the list both belongs to the secrets and has the current
    /// account key.
    init?(_ secrets: AccountSecrets, _ list: DeviceList, in place: KeyPlace, kept: KeptKeys? = nil) {
        guard let signing = SigningKeyPair(seed: [UInt8](secrets.signingSeed)),
            let box = BoxKeyPair(secretKey: [UInt8](secrets.boxSecretKey))
        else { return nil }
        let accountKeys = secrets.accountKeys.compactMapValues { BoxKeyPair(secretKey: [UInt8]($0)) }
        guard list.devices.contains(DeviceKeys(signing: signing.publicKey, box: box.publicKey)),
            let current = accountKeys[list.accountKeyVersion], current.publicKey == list.accountKey
        else { return nil }
        self.place = place
        self.signing = signing
        self.box = box
        self.accountKeys = accountKeys
        self.list = list
        self.kept = kept
    }

    /// Whether the account has, or had, the key pair with this public key.
    func has(_ publicKey: [UInt8]) -> Bool { accountKeys.values.contains { $0.publicKey == publicKey } }

    var accountKey: BoxKeyPair? { accountKeys[list.accountKeyVersion] }

    /// Returns the first entry of a new device list, with the device and the account key of these secrets.
    static func firstEntry(_ secrets: AccountSecrets, in place: KeyPlace) -> [UInt8]? {
        guard let signing = SigningKeyPair(seed: [UInt8](secrets.signingSeed)),
            let box = BoxKeyPair(secretKey: [UInt8](secrets.boxSecretKey)),
            let account = secrets.accountKeys[1].flatMap({ BoxKeyPair(secretKey: [UInt8]($0)) })
        else { return nil }
        let entry = DeviceListEntry(
            number: 0, previous: [], change: .add,
            device: DeviceKeys(signing: signing.publicKey, box: box.publicKey), accountKeyVersion: 1,
            accountKey: account.publicKey, author: signing.publicKey)
        return entry.signed(by: signing, in: place)
    }
}
