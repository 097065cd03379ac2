import NephosCrypto
import NephosStorage
import NephosWire

/// The stored keys of key groups. A group is a zone or one of its shares.
enum StoredGroupKeys {
    /// The current version of the group's key; 0 if the group has no key.
    static func currentVersion(of group: String, _ zone: ZoneKey, _ reader: StorageReader) throws -> Int64 {
        try last(of: group, zone, reader)?.version ?? 0
    }

    /// The current version of the group's key; nil if the group has no key.
    static func last(of group: String, _ zone: ZoneKey, _ reader: StorageReader) throws -> WrappedGroupKey? {
        try reader.keys(zone: zone, kind: .groupKey, subject: group).last.map { try WrappedGroupKey(decoding: $0.body) }
    }

    /// All versions of the group's key, in order.
    static func all(of group: String, _ zone: ZoneKey, _ reader: StorageReader) throws -> [WrappedGroupKey] {
        try reader.keys(zone: zone, kind: .groupKey, subject: group).map { try WrappedGroupKey(decoding: $0.body) }
    }

    static func row(_ key: WrappedGroupKey, of group: String, _ zone: ZoneKey) -> KeyRow {
        KeyRow(zone: zone, kind: .groupKey, subject: group, id: KeyRow.id(key.version), body: key.encoded())
    }

    // MARK: Keys for participants

    static func box(_ key: WrappedGroupKey, for account: Int64, of group: String, _ zone: ZoneKey) -> KeyRow {
        KeyRow(
            zone: zone, kind: .groupBox, subject: group, id: KeyRow.id(key.version) + KeyRow.id(account),
            body: key.encoded())
    }

    /// The boxes with the group's key for an account, in order of version.
    static func boxes(
        for account: Int64, of group: String, _ zone: ZoneKey, _ reader: StorageReader
    ) throws -> [WrappedGroupKey] {
        try reader.keys(zone: zone, kind: .groupBox, subject: group).filter {
            $0.id.suffix(8).elementsEqual(KeyRow.id(account))
        }
        .map { try WrappedGroupKey(decoding: $0.body) }
    }

    /// Removes the boxes with the group's key for an account.
    static func removeBoxes(
        of account: Int64, _ group: String, _ zone: ZoneKey, in transaction: StorageTransaction
    ) throws {
        for row in try transaction.keys(zone: zone, kind: .groupBox, subject: group)
        where row.id.suffix(8).elementsEqual(KeyRow.id(account)) {
            try transaction.removeKey(zone: zone, kind: .groupBox, subject: group, id: row.id)
        }
    }

    // MARK: Links

    /// The row of a link. Its ID is empty for the share's URL; for a one-time URL it is the participant's ID.
    static func row(_ link: WrappedLink, participantID: String = "", of group: String, _ zone: ZoneKey) -> KeyRow {
        KeyRow(zone: zone, kind: .link, subject: group, id: Array(participantID.utf8), body: link.encoded())
    }

    static func link(of group: String, _ zone: ZoneKey, _ reader: StorageReader) throws -> WrappedLink? {
        try reader.keys(zone: zone, kind: .link, subject: group).first(where: \.id.isEmpty).map {
            try WrappedLink(decoding: $0.body)
        }
    }

    static func oneTimeLinks(
        of group: String, _ zone: ZoneKey, _ reader: StorageReader
    ) throws -> [OneTimeLink] {
        try reader.keys(zone: zone, kind: .link, subject: group).filter { !$0.id.isEmpty }.map {
            OneTimeLink(
                participantID: String(decoding: $0.id, as: UTF8.self), link: try WrappedLink(decoding: $0.body))
        }
    }

    // MARK: Administrators

    /// The administrators that signed versions of the key, each with its device list at the time of its last signature.
    static func signers(
        of group: String, _ zone: ZoneKey, _ reader: StorageReader
    ) throws -> [GroupSigner] {
        try reader.keys(zone: zone, kind: .groupSigner, subject: group).map { try GroupSigner(decoding: $0.body) }
    }

    static func row(_ signer: GroupSigner, account: Int64, of group: String, _ zone: ZoneKey) -> KeyRow {
        KeyRow(zone: zone, kind: .groupSigner, subject: group, id: KeyRow.id(account), body: signer.encoded())
    }

    /// Throws if the last version that a device of the owner's signed does not name an administrator.
    static func checkNamed(
        _ administrator: DeviceList, of group: String, _ zone: ZoneKey, _ owner: DeviceList, _ reader: StorageReader
    ) throws {
        guard let named = try all(of: group, zone, reader).last(where: { owner.knowsSigner($0.signer) }),
            let identity = administrator.hashes.first, named.administrators.contains(identity)
        else {
            throw ServiceError.shareRefusal(
                "no device of the owner's has named this administrator for the group's key yet")
        }
    }

    /// The name of the group whose key a share uses: the share's name, or the empty name of the zone's group for a
    /// zone-wide share.
    static func group(of share: ShareRow) -> String { share.isZoneWide ? "" : share.name }

    static func hasKey(_ share: ShareRow, _ reader: StorageReader) throws -> Bool {
        try !reader.keys(zone: share.zone, kind: .groupKey, subject: group(of: share)).isEmpty
    }
}

extension FormerParticipants {
    /// Notes participants that leave a share. A share with a key needs no note, because a client's choice of identifiers
    /// counts there only if it is signed.
    static func note(
        _ rows: [ShareParticipantRow], of share: ShareRow, in transaction: StorageTransaction
    ) throws {
        if try rows.isEmpty || StoredGroupKeys.hasKey(share, transaction) { return }
        try note(rows, of: StoredGroupKeys.group(of: share), share.zone, in: transaction)
    }
}

/// The role of an account in a key group.
enum KeyStanding: Equatable {
    case owner, administrator, participant
    /// The account does not participate in the group's share, or no such share exists.
    case outsider

    init(_ zone: FoundZone, _ group: String) {
        guard let shared = zone.shared else {
            self = .owner
            return
        }
        let part = shared.participations.first { StoredGroupKeys.group(of: $0.share) == group }
        self = part.map { $0.role == .administrator ? .administrator : .participant } ?? .outsider
    }

    /// Whether the account's library wraps the group's keys for members that lack them.
    var handsKeysOver: Bool { self == .owner || self == .administrator }
}

extension ShareParticipantRow {
    /// The account that participates or is invited; nil if the address belongs to no account, or the account was
    /// deleted.
    func invitedAccount(_ reader: StorageReader) throws -> AccountRow? {
        if account != 0 { return try reader.liveAccount(id: account) }
        return address.isEmpty ? nil : try reader.account(ofAddress: address)
    }
}

/// The key work of a group that the owner's library must do at its next sync: a participant lacks the group's key, or
/// an account that no longer participates has the key.
struct GroupState: Equatable {
    /// The number of the latest note; 0 if all notes are settled.
    var attention: Int64 = 0
    /// The version of the key that must be replaced, because an account that must not have the next version has it; 0
    /// for none.
    var stale: Int64 = 0

    static func read(_ group: String, _ zone: ZoneKey, _ reader: StorageReader) throws -> GroupState {
        guard let body = try reader.keys(zone: zone, kind: .groupState, subject: group).first?.body, body.count == 16
        else { return GroupState() }
        func number(_ bytes: ArraySlice<UInt8>) -> Int64 {
            Int64(bitPattern: bytes.reduce(0) { $0 << 8 | UInt64($1) })
        }
        return GroupState(attention: number(body.prefix(8)), stale: number(body.suffix(8)))
    }

    func write(_ group: String, _ zone: ZoneKey, in transaction: StorageTransaction) throws {
        try transaction.put(
            KeyRow(
                zone: zone, kind: .groupState, subject: group, id: [],
                body: KeyRow.id(attention) + KeyRow.id(stale)))
    }

    /// Notes that the group needs key work.
    /// - Parameter endsAccess: whether an account that has the key must not have the next one.
    static func note(
        _ group: String, _ zone: ZoneKey, endsAccess: Bool, in transaction: StorageTransaction
    ) throws {
        var state = try read(group, zone, transaction)
        // The number is unique, so settling an earlier note does not settle a later one.
        state.attention = try transaction.nextSequence()
        if endsAccess { state.stale = try StoredGroupKeys.currentVersion(of: group, zone, transaction) }
        try state.write(group, zone, in: transaction)
    }

    /// Notes that a share needs key work, if it has a key.
    static func note(_ share: ShareRow, endsAccess: Bool, in transaction: StorageTransaction) throws {
        guard try StoredGroupKeys.hasKey(share, transaction) else { return }
        try note(StoredGroupKeys.group(of: share), share.zone, endsAccess: endsAccess, in: transaction)
    }
}
