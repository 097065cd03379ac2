import NephosStorage
import NephosWire

/// The keys of a zone, or of a share in it.
enum StoredGroupKeys {
    /// 0 where the group has none.
    static func currentVersion(of group: String, _ zone: ZoneKey, _ reader: StorageReader) throws -> Int64 {
        try last(of: group, zone, reader)?.version ?? 0
    }

    /// The present version; nil where the group has none.
    static func last(of group: String, _ zone: ZoneKey, _ reader: StorageReader) throws -> WrappedGroupKey? {
        try reader.keys(zone: zone, kind: .groupKey, subject: group).last.map { try WrappedGroupKey(decoding: $0.body) }
    }

    /// By version.
    static func all(of group: String, _ zone: ZoneKey, _ reader: StorageReader) throws -> [WrappedGroupKey] {
        try reader.keys(zone: zone, kind: .groupKey, subject: group).map { try WrappedGroupKey(decoding: $0.body) }
    }

    static func row(_ key: WrappedGroupKey, of group: String, _ zone: ZoneKey) -> KeyRow {
        KeyRow(zone: zone, kind: .groupKey, subject: group, id: KeyRow.id(key.version), body: key.encoded())
    }

    // MARK: For others than the owner

    static func box(_ key: WrappedGroupKey, for account: Int64, of group: String, _ zone: ZoneKey) -> KeyRow {
        KeyRow(
            zone: zone, kind: .groupBox, subject: group, id: KeyRow.id(key.version) + KeyRow.id(account),
            body: key.encoded())
    }

    /// Those for an account, by version.
    static func boxes(
        for account: Int64, of group: String, _ zone: ZoneKey, _ reader: StorageReader
    ) throws -> [WrappedGroupKey] {
        try reader.keys(zone: zone, kind: .groupBox, subject: group).filter {
            $0.id.suffix(8).elementsEqual(KeyRow.id(account))
        }
        .map { try WrappedGroupKey(decoding: $0.body) }
    }

    /// Takes the key from an account.
    static func removeBoxes(
        of account: Int64, _ group: String, _ zone: ZoneKey, in transaction: StorageTransaction
    ) throws {
        for row in try transaction.keys(zone: zone, kind: .groupBox, subject: group)
        where row.id.suffix(8).elementsEqual(KeyRow.id(account)) {
            try transaction.removeKey(zone: zone, kind: .groupBox, subject: group, id: row.id)
        }
    }

    // MARK: Links

    /// That of the share's URL has no ID, that of a one-time URL the participant's.
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

    /// The lists of devices of the administrators who signed keys, as they were then.
    static func signers(
        of group: String, _ zone: ZoneKey, _ reader: StorageReader
    ) throws -> [GroupSigner] {
        try reader.keys(zone: zone, kind: .groupSigner, subject: group).map { try GroupSigner(decoding: $0.body) }
    }

    static func row(_ signer: GroupSigner, account: Int64, of group: String, _ zone: ZoneKey) -> KeyRow {
        KeyRow(zone: zone, kind: .groupSigner, subject: group, id: KeyRow.id(account), body: signer.encoded())
    }

    /// The group whose key a share has: a zone that is shared as a whole has its own.
    static func group(of share: ShareRow) -> String { share.isZoneWide ? "" : share.name }

    static func hasKey(_ share: ShareRow, _ reader: StorageReader) throws -> Bool {
        try !reader.keys(zone: share.zone, kind: .groupKey, subject: group(of: share)).isEmpty
    }
}

/// What an account is to a group.
enum KeyStanding: Equatable {
    case owner, administrator, participant
    /// It takes no part in the share, or there is none.
    case outsider

    init(_ zone: FoundZone, _ group: String) {
        guard let shared = zone.shared else {
            self = .owner
            return
        }
        let part = shared.participations.first { StoredGroupKeys.group(of: $0.share) == group }
        self = part.map { $0.role == .administrator ? .administrator : .participant } ?? .outsider
    }

    /// Whether its library does what others lack.
    var handsKeysOver: Bool { self == .owner || self == .administrator }
}

extension ShareParticipantRow {
    /// The account that takes part, or is invited; nil where that is not known.
    func invitedAccount(_ reader: StorageReader) throws -> AccountRow? {
        if account != 0 { return try reader.liveAccount(id: account) }
        return address.isEmpty ? nil : try reader.account(named: address)
    }
}

/// What happened to a group that its owner's library makes good at its next sync: a participant has not its key, or
/// has it and takes part no more.
struct GroupState: Equatable {
    /// Counts what happened; 0 is nothing that is not made good.
    var attention: Int64 = 0
    /// The version of the key that an account has which is not to have the next; 0 is none.
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

    /// Notes that something is to be made good.
    /// - Parameter endsAccess: whether an account that has the key is not to have the next one.
    static func note(
        _ group: String, _ zone: ZoneKey, endsAccess: Bool, in transaction: StorageTransaction
    ) throws {
        var state = try read(group, zone, transaction)
        // A number that never comes again: what is settled late settles nothing that came since.
        state.attention = try transaction.nextSequence()
        if endsAccess { state.stale = try StoredGroupKeys.currentVersion(of: group, zone, transaction) }
        try state.write(group, zone, in: transaction)
    }

    /// The same of a share, where it has a key.
    static func note(_ share: ShareRow, endsAccess: Bool, in transaction: StorageTransaction) throws {
        guard try StoredGroupKeys.hasKey(share, transaction) else { return }
        try note(StoredGroupKeys.group(of: share), share.zone, endsAccess: endsAccess, in: transaction)
    }
}
