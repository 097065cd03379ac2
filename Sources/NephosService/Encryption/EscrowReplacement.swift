import NephosCrypto
import NephosStorage
import NephosWire

/// Replaces the keys that the service kept for an account's devices by a recovery key:
///
/// 1. The kept device puts the recovery key on the account's list, and the account's keys are sealed for it.
/// 2. The recovery key revokes the kept device, whose keys were in the clear. The account's next key is sealed for the
///    recovery key and the other devices alone. So the next write in a zone makes another zone key, as after every
///    revocation (`KeyRing.isOld`).
/// 3. The kept keys are removed.
struct EscrowReplacement {
    private let account: AccountRow
    private let keys: AccountKeys
    private let list: DeviceList
    private let row: KeyRow
    private let kept: KeptDevice

    /// The device that all devices of an account share while the service keeps its keys.
    private struct KeptDevice {
        let signing: SigningKeyPair
        let box: BoxKeyPair
        let accountKeys: [Int64: BoxKeyPair]
        var publicKeys: DeviceKeys { DeviceKeys(signing: signing.publicKey, box: box.publicKey) }

        /// Nil if the bytes are not the secrets of a device.
        init?(_ bytes: [UInt8]) {
            guard let secrets = AccountSecrets(decoding: bytes),
                let signing = SigningKeyPair(seed: [UInt8](secrets.signingSeed)),
                let box = BoxKeyPair(secretKey: [UInt8](secrets.boxSecretKey))
            else { return nil }
            self.signing = signing
            self.box = box
            accountKeys = secrets.accountKeys.compactMapValues { BoxKeyPair(secretKey: [UInt8]($0)) }
        }
    }

    /// Nil if the service keeps no keys for the account.
    /// - Throws: `StorageError` `.damaged` if the kept keys are not those of the account's list.
    init?(of account: AccountRow, in store: StoreID, _ reader: StorageReader) throws {
        guard let row = try reader.keys(zone: AccountKeys.zone(of: account), kind: .escrow, subject: "").first else {
            return nil
        }
        let place = KeyPlace(
            container: store.container, environment: store.environment, owner: account.userRecordName)
        guard let list = DeviceList(try AccountKeys.entries(of: account, reader), in: place, areChecked: true),
            let kept = KeptDevice(row.body),
            !list.isListed(kept.signing.publicKey)
                || kept.accountKeys[list.accountKeyVersion]?.publicKey == list.accountKey
        else {
            throw StorageError(
                .damaged,
                "the keys that are kept for '\(account.name)' in \(store.container), \(store.environment) are not those of "
                    + "its list of devices: 'nephos keys reset' gives it others")
        }
        self.account = account
        keys = AccountKeys(of: account, in: place, escrows: false)
        self.list = list
        self.row = row
        self.kept = kept
    }

    /// - Throws: also `limitExceeded` if the list of devices is full.
    func run(_ secret: CarriedSecret, in transaction: StorageTransaction) throws {
        // A kept device that was revoked has nothing that the others lack.
        if list.isListed(kept.signing.publicKey) { try enrol(secret, in: transaction) }
        try transaction.removeKey(zone: row.zone, kind: row.kind, subject: row.subject, id: row.id)
    }

    private func enrol(_ secret: CarriedSecret, in transaction: StorageTransaction) throws {
        guard let signing = secret.signing(keys.place), let box = secret.box(keys.place) else {
            throw ServiceError.internalError
        }
        let recovery = DeviceKeys(signing: signing.publicKey, box: box.publicKey)
        let addition = list.entry(.recovery, recovery, by: kept.signing, in: keys.place)
        var longer = list
        guard longer.append(addition, in: keys.place),
            let reply = secret.sealedReply(ContentHash.of(addition), keys.place)
        else { throw ServiceError.internalError }
        _ = try keys.append(
            EnrollRequest(
                position: list.count, entry: addition, boxes: Self.boxes(kept.accountKeys, for: [recovery]),
                message: DeviceMessage(id: secret.id(keys.place), reply: reply)), in: transaction)
        let next = BoxKeyPair.random()
        let staying = longer.devices.filter { $0 != kept.publicKeys } + longer.recoveryKeys
        _ = try keys.append(
            EnrollRequest(
                position: longer.count,
                entry: longer.entry(
                    .revoke, kept.publicKeys, accountKey: next.publicKey, by: signing, in: keys.place),
                boxes: Self.boxes([longer.accountKeyVersion + 1: next], for: staying)), in: transaction)
    }

    private static func boxes(_ keys: [Int64: BoxKeyPair], for devices: [DeviceKeys]) -> [AccountKeyBox] {
        devices.flatMap { device in
            keys.compactMap { version, key in
                BoxKeyPair.seal(key.secretKey, for: device.box).map {
                    AccountKeyBox(device: device.box, version: version, box: $0)
                }
            }
        }
    }
}
