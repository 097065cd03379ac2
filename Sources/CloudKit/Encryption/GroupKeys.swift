import NephosCrypto
import NephosWire

/// All versions of the key of a group, which is a zone or a share.
struct GroupKeys: Sendable {
    /// The keys by version, as far as this account has them.
    private(set) var keys: [Int64: SealKey] = [:]
    /// The latest version, whether or not this account has its key; 0 if there is none.
    private(set) var current: Int64 = 0
    /// The account key of the owner for which the latest version is sealed.
    private(set) var recipient: [UInt8] = []
    /// The administrators that the owner's devices named last. Each is given as the hash of the first entry of its
    /// device list.
    private(set) var administrators: Set<[UInt8]> = []
    /// The IDs of the keys (`GroupKeyID`), by version.
    private(set) var ids: [Int64: [UInt8]] = [:]
    /// The account key of the latest box for this account if the device does not know it: one that was reset, or one that
    /// is newer than the device's list.
    private(set) var unknownRecipient: [UInt8]?
    /// The signed list of the share's participants; nil if the group has no key.
    private(set) var participants: KnownParticipants?
    /// The present account key of the owner.
    private(set) var ownersAccountKey: [UInt8] = []
    /// Whether the group is a zone whose key itself seals the values of records.
    private(set) var isPerZone = false

    /// The reason why the keys of a group are invalid.
    struct Invalid: Error, Hashable, Sendable {
        var reason: String
    }

    /// Creates the keys of a group that has none yet.
    init() {}

    /// Unwraps the keys in the service's answer.
    init(_ answer: KeysResponse, _ proof: GroupProof, _ device: DeviceIdentity) throws(Invalid) {
        try proof.check(answer.group)
        guard let last = answer.group.last else { return }
        current = last.version
        recipient = last.recipient
        ids = Dictionary(answer.group.map { ($0.version, GroupKeyID.of(box: $0.box)) }) { $1 }
        isPerZone = answer.isPerZone && proof.group.group.isEmpty
        administrators = proof.namedLast(answer.group)
        participants = KnownParticipants(answer, proof)
        ownersAccountKey = proof.owner.accountKey
        for box in answer.boxes where !proof.isGenuine(box: box, answer.group) {
            throw Invalid(reason: "version \(box.version) of the zone's key is not of a device of the owner's")
        }
        let latest = proof.isOwn ? nil : answer.boxes.max { $0.version < $1.version }?.recipient
        unknownRecipient = latest.flatMap { device.has($0) ? nil : $0 }
        // Boxes for account keys that were reset cannot be opened. They are harmless, so they are skipped.
        let mine =
            proof.isOwn
            ? answer.group.suffix(1)
            : answer.boxes.filter { device.has($0.recipient) }.sorted { $0.version < $1.version }.suffix(1)
        guard let box = mine.last else { return }
        guard box.version <= current,
            let pair = device.accountKeys.values.first(where: { $0.publicKey == box.recipient }),
            let opened = pair.open(box.box).flatMap(SealKey.init)
        else { throw Invalid(reason: "version \(box.version) of the zone's key is not for this account") }
        try open(answer.group, from: box.version, opened, proof.group)
    }

    /// Unwraps all versions from `version` down to the first. A version that is wrapped under a key other than the
    /// owner's does not unwrap.
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

    var isEmpty: Bool { current == 0 }

    /// The keys of the group as keys for records; empty if records have keys of their own.
    var recordKeys: [KeyRing.KnownKey] {
        guard isPerZone else { return [] }
        return keys.sorted { $0.key < $1.key }.compactMap { version, key in
            ids[version].map { id in
                KeyRing.KnownKey(
                    key: RecordKey(id: id, key: key), group: "", version: version, isInherited: false)
            }
        }
    }

    /// The key that wraps new keys; nil if the group has none, or if this account lacks it.
    var currentKey: SealKey? { keys[current] }

    /// Returns the next version of the key in the form for the service; nil if it cannot be made, for instance without
    /// the previous version.
    /// - Parameters:
    ///   - recipient: the account key of the owner for which the version is sealed; nil for this account's own.
    ///   - administrators: the accounts that may make later versions. Only a device of the owner names them.
    func next(
        for group: GroupPlace, _ device: DeviceIdentity, recipient: [UInt8]? = nil, administrators: Set<[UInt8]> = []
    ) -> (wrapped: WrappedGroupKey, key: SealKey)? {
        guard let recipient = recipient ?? device.accountKey?.publicKey else { return nil }
        let key = SealKey.random()
        let version = current + 1
        let previous = keys[current].map {
            key.seal($0.bytes, context: group.previousKeyContext(version: version), header: [RecordKey.format])
        }
        // Each version has to wrap the previous one.
        if current > 0, previous == nil { return nil }
        let wrapped = Self.box(
            key, version: version, for: recipient, previous: previous ?? [],
            administrators: administrators.sorted { $0.lexicographicallyPrecedes($1) }, of: group, by: device)
        return wrapped.map { ($0, key) }
    }

    /// Signs the current version again with other administrators. Nil if that version is not sealed for the owner's
    /// current account key.
    func signedAnew(
        _ last: WrappedGroupKey, for group: GroupPlace, _ device: DeviceIdentity, administrators: Set<[UInt8]>
    ) -> WrappedGroupKey? {
        guard let key = currentKey, last.version == current, last.recipient == device.accountKey?.publicKey else {
            return nil
        }
        return Self.box(
            key, version: current, for: last.recipient, previous: last.previous,
            administrators: administrators.sorted { $0.lexicographicallyPrecedes($1) }, of: group, by: device)
    }

    /// Seals a version of the key for another account.
    static func box(
        _ key: SealKey, version: Int64, for recipient: [UInt8], previous: [UInt8] = [],
        administrators: [[UInt8]] = [], of group: GroupPlace, by device: DeviceIdentity
    ) -> WrappedGroupKey? {
        guard let box = BoxKeyPair.seal(key.bytes, for: recipient) else { return nil }
        var wrapped = WrappedGroupKey(
            version: version, recipient: recipient, box: box, previous: previous, signer: device.signing.publicKey,
            signature: [])
        wrapped.administrators = administrators
        wrapped.signature = device.signing.signature(of: group.signedBytes(wrapped))
        return wrapped
    }
}

/// The devices that may sign the keys of a group. They are the devices on the owner's list. For a share, the devices of
/// its administrators are added, if the last version that the owner signed names the administrators.
struct GroupProof {
    let group: GroupPlace
    /// The device list of the zone's owner.
    let owner: DeviceList
    /// The device list of the account that opens the keys.
    let own: DeviceList
    /// The device lists of the administrators that have signed.
    let signers: [DeviceList]
    /// Whether the account that opens the keys owns the group.
    let isOwn: Bool

    /// Checks the signatures of the versions. The last version that the owner signed wraps all earlier versions, so it
    /// vouches for them.
    func check(_ wrapped: [WrappedGroupKey]) throws(GroupKeys.Invalid) {
        let lastOfOwner = wrapped.lastIndex { owner.knowsSigner($0.signer) } ?? -1
        var named: [[UInt8]]?
        var accountKeyVersion: Int64 = 1
        for (index, key) in wrapped.enumerated() {
            guard key.version == Int64(index) + 1 else {
                throw .init(reason: "the service left out a version of the zone's key")
            }
            let isOwners = owner.knowsSigner(key.signer)
            guard isOwners || index > lastOfOwner else { continue }
            guard let version = owner.accountKeyVersion(of: key.recipient), version >= accountKeyVersion,
                isOwners
                    ? owner.knowsSigner(key.signer, ofKeyFor: version)
                    : key.administrators.isEmpty && isAdministrator(key.signer, among: named ?? []),
                isSigned(key)
            else {
                throw .init(reason: "version \(key.version) of the zone's key is not of a device of the owner's")
            }
            accountKeyVersion = version
            if isOwners { named = key.administrators }
        }
    }

    func namedLast(_ wrapped: [WrappedGroupKey]) -> Set<[UInt8]> {
        Set(wrapped.last { owner.knowsSigner($0.signer) }?.administrators ?? [])
    }

    /// Whether the owner, this account or an administrator has signed a box of the key for this account.
    func isGenuine(box: WrappedGroupKey, _ wrapped: [WrappedGroupKey]) -> Bool {
        let named = wrapped.filter { owner.knowsSigner($0.signer) }.flatMap(\.administrators)
        return box.previous.isEmpty && box.administrators.isEmpty && isSigned(box)
            && (owner.knowsSigner(box.signer) || own.knowsSigner(box.signer)
                || isAdministrator(box.signer, among: named))
    }

    /// Whether a device of the owner's, or of an administrator's that the owner's devices named last, has signed a list of
    /// the group's participants, since the owner's account key is that of the group's last version.
    func isGenuine(_ list: ParticipantList, _ wrapped: [WrappedGroupKey]) -> Bool {
        guard let first = wrapped.first, list.keyID == GroupKeyID.of(box: first.box), let last = wrapped.last,
            let version = owner.accountKeyVersion(of: list.accountKey),
            version >= owner.accountKeyVersion(of: last.recipient) ?? 0
        else { return false }
        return owner.knowsSigner(list.signer, ofKeyFor: version)
            || isAdministrator(list.signer, among: Array(namedLast(wrapped)))
    }

    private func isAdministrator(_ signer: [UInt8], among named: [[UInt8]]) -> Bool {
        signers.contains { list in
            list.knowsSigner(signer) && list.hashes.first.map(named.contains) ?? false
        }
    }

    private func isSigned(_ key: WrappedGroupKey) -> Bool {
        SigningKeyPair.isValid(key.signature, of: group.signedBytes(key), by: key.signer)
    }
}
