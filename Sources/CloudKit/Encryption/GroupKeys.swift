import NephosCrypto
import NephosWire

/// A zone's key, or a share's, in all its versions.
struct GroupKeys: Sendable {
    /// Those that this account has.
    private(set) var keys: [Int64: SealKey] = [:]
    /// The last version, whether or not this account has it.
    private(set) var current: Int64 = 0
    /// The account key that its last version is for: the owner's.
    private(set) var recipient: [UInt8] = []

    /// Why a group's keys cannot be had.
    struct Invalid: Error, Hashable, Sendable {
        var reason: String
    }

    /// Opens what the service keeps.
    /// - Parameters:
    ///   - boxes: the key for this account, where it is not the owner's.
    ///   - owner: the devices of the owner, where that is another.
    init(
        _ wrapped: [WrappedGroupKey], boxes: [WrappedGroupKey] = [], of group: GroupPlace, _ device: DeviceIdentity,
        owner: DeviceList? = nil
    ) throws(Invalid) {
        let owners = owner ?? device.list
        for (index, key) in wrapped.enumerated() {
            guard key.version == Int64(index) + 1 else {
                throw Invalid(reason: "the service left out a version of the zone's key")
            }
            guard owners.knowsSigner(key.signer), Self.isSigned(key, group) else {
                throw Invalid(reason: "version \(key.version) of the zone's key is not of a device of the owner's")
            }
        }
        guard let last = wrapped.last else { return }
        current = last.version
        recipient = last.recipient
        for box in boxes
        where
            !((owners.knowsSigner(box.signer) || device.list.knowsSigner(box.signer))
            && box.previous.isEmpty && Self.isSigned(box, group))
        {
            throw Invalid(reason: "version \(box.version) of the zone's key is not of a device of the owner's")
        }
        let mine = owner == nil ? wrapped.suffix(1) : boxes.sorted { $0.version < $1.version }.suffix(1)
        guard let box = mine.last else { return }
        guard box.version <= current,
            let pair = device.accountKeys.values.first(where: { $0.publicKey == box.recipient }),
            let opened = pair.open(box.box).flatMap(SealKey.init)
        else { throw Invalid(reason: "version \(box.version) of the zone's key is not for this account") }
        try open(wrapped, from: box.version, opened, group)
    }

    /// Opens the versions up to one whose key is known. What is under a key that is not the owner's does not open.
    private mutating func open(
        _ wrapped: [WrappedGroupKey], from version: Int64, _ opened: SealKey, _ group: GroupPlace
    ) throws(Invalid) {
        keys[version] = opened
        var key = opened
        for wrapped in wrapped.prefix(Int(version)).reversed() where wrapped.version > 1 {
            let context = group.previousKeyContext(version: wrapped.version)
            guard wrapped.previous.first == RecordKey.format,
                let previous = key.open(wrapped.previous.dropFirst(), context: context).flatMap(SealKey.init)
            else {
                throw Invalid(reason: "version \(wrapped.version) of the zone's key does not open the one before")
            }
            keys[wrapped.version - 1] = previous
            key = previous
        }
    }

    private static func isSigned(_ key: WrappedGroupKey, _ group: GroupPlace) -> Bool {
        SigningKeyPair.isValid(key.signature, of: group.signedBytes(key), by: key.signer)
    }

    var isEmpty: Bool { current == 0 }

    /// The key that what is new is wrapped under; nil where there is none, or this account has not got it yet.
    var currentKey: SealKey? { keys[current] }

    /// The next version, to be handed to the service.
    func next(for group: GroupPlace, _ device: DeviceIdentity) -> (wrapped: WrappedGroupKey, key: SealKey)? {
        guard let recipient = device.accountKey?.publicKey else { return nil }
        let key = SealKey.random()
        let version = current + 1
        let previous = keys[current].map {
            key.seal($0.bytes, context: group.previousKeyContext(version: version), header: [RecordKey.format])
        }
        let wrapped = Self.box(
            key, version: version, for: recipient, previous: previous ?? [], of: group, by: device)
        return wrapped.map { ($0, key) }
    }

    /// A version of the key for an account.
    static func box(
        _ key: SealKey, version: Int64, for recipient: [UInt8], previous: [UInt8] = [], of group: GroupPlace,
        by device: DeviceIdentity
    ) -> WrappedGroupKey? {
        guard let box = BoxKeyPair.seal(key.bytes, for: recipient) else { return nil }
        var wrapped = WrappedGroupKey(
            version: version, recipient: recipient, box: box, previous: previous, signer: device.signing.publicKey,
            signature: [])
        wrapped.signature = device.signing.signature(of: group.signedBytes(wrapped))
        return wrapped
    }
}
