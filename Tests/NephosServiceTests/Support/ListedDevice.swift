import NephosCrypto
import NephosService
import NephosWire

/// A device of an account, made of a number: it signs what the service checks, over keys that open nothing.
struct ListedDevice {
    let signing: SigningKeyPair
    let box: BoxKeyPair

    init(_ number: UInt8) {
        let seed = [UInt8](repeating: number, count: 32)
        guard let signing = SigningKeyPair(seed: seed), let box = BoxKeyPair(secretKey: seed) else {
            preconditionFailure("A seed has 32 bytes.")
        }
        self.signing = signing
        self.box = box
    }

    var keys: DeviceKeys { DeviceKeys(signing: signing.publicKey, box: box.publicKey) }

    /// The public half of an account's key, by its version.
    static func accountKey(_ version: Int64) -> [UInt8] { ListedDevice(UInt8(100 + version)).box.publicKey }

    /// An entry that follows on a list, signed by this device.
    func entry(
        _ change: DeviceListEntry.Change, _ device: ListedDevice, after list: DeviceList, in place: KeyPlace
    ) -> [UInt8] {
        let version = list.accountKeyVersion + (list.count == 0 || change == .revoke ? 1 : 0)
        return entry(change, device, after: list, version: version, in: place)
    }

    func entry(
        _ change: DeviceListEntry.Change, _ device: ListedDevice, after list: DeviceList, version: Int64,
        in place: KeyPlace
    ) -> [UInt8] {
        DeviceListEntry(
            number: list.count, previous: list.hash, change: change, device: device.keys, accountKeyVersion: version,
            accountKey: Self.accountKey(version), author: signing.publicKey
        ).signed(by: signing, in: place)
    }

    /// An account's key for this device, in the form of one.
    func accountBox(_ version: Int64) -> AccountKeyBox {
        AccountKeyBox(device: box.publicKey, version: version, box: [UInt8](repeating: 3, count: 80))
    }

    /// A group's key in the form of one, with this device's signature.
    func groupKey(
        _ version: Int64, of group: GroupPlace, for accountKeyVersion: Int64 = 1, isBox: Bool = false
    ) -> WrappedGroupKey {
        var key = WrappedGroupKey(
            version: version, recipient: Self.accountKey(accountKeyVersion), box: [UInt8](repeating: 3, count: 80),
            previous: version == 1 || isBox ? [] : [UInt8](repeating: 4, count: 105), signer: signing.publicKey,
            signature: [])
        sign(&key, of: group)
        return key
    }

    func sign(_ key: inout WrappedGroupKey, of group: GroupPlace) {
        key.signer = signing.publicKey
        key.signature = signing.signature(
            of: group.signedBytes(
                version: key.version, recipient: key.recipient, box: key.box, previous: key.previous,
                administrators: key.administrators))
    }
}

extension NephosService {
    /// Where an account's keys belong.
    func keyPlace(_ context: RequestContext) async throws -> KeyPlace {
        KeyPlace(
            container: context.container, environment: context.environment.rawValue,
            owner: try await currentUser(context).userRecordName)
    }

    /// Makes the list of the account's devices, of one device, where there is none, and gives a zone its next key.
    func makeZoneKey(
        _ context: RequestContext, zone: String = ZoneIDDictionary.defaultZoneName, version: Int64 = 1
    ) async throws -> KeysResponse {
        let (device, place) = (ListedDevice(1), try await keyPlace(context))
        let entry = device.entry(.add, device, after: DeviceList(), in: place)
        _ = try await enroll(EnrollRequest(position: 0, entry: entry), context)
        let group = GroupPlace(zone: ZonePlace(account: place, zoneName: zone))
        return try await putGroupKey(
            PutGroupKeyRequest(
                zoneID: ZoneIDDictionary(zoneName: zone), key: device.groupKey(version, of: group)), context)
    }
}

extension TestDatabase {
    func keyPlace() async throws -> KeyPlace { try await cloud.service.keyPlace(context) }

    func groupPlace() async throws -> GroupPlace {
        GroupPlace(
            zone: ZonePlace(account: try await keyPlace(), zoneName: zone ?? ZoneIDDictionary.defaultZoneName))
    }

    /// Makes the list of the account's devices, of one device, where there is none.
    func enrollFirst() async throws {
        let device = ListedDevice(1)
        let entry = device.entry(.add, device, after: DeviceList(), in: try await keyPlace())
        _ = try await cloud.service.enroll(EnrollRequest(position: 0, entry: entry), context)
    }
}
