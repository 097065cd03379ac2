import NephosCrypto
import NephosStorage
import NephosWire

/// Asks the devices of a share's owner to renew or wrap the share's key. The share's state then says that it needs keys
/// (`GroupState`), the share's record changes in the owner's feed, and subscribers are notified.
///
/// A settled share is noted again when an account gets its first devices, and when an account looks up the share's key
/// in vain. It is noted once, until the owner's devices settle it.
enum KeyAttention {
    /// Whether an account has devices with keys, but no box that gives those devices the share's current key.
    static func lacksKey(
        _ account: AccountRow, _ share: ShareRow, _ devices: DeviceList, _ reader: StorageReader
    ) throws -> Bool {
        guard !devices.devices.isEmpty else { return false }
        let group = StoredGroupKeys.group(of: share)
        let current = try StoredGroupKeys.currentVersion(of: group, share.zone, reader)
        return try !StoredGroupKeys.boxes(for: account.id, of: group, share.zone, reader).contains {
            $0.version == current && devices.accountKeyVersion(of: $0.recipient) != nil
        }
    }

    /// - Parameter endsAccess: whether a device that has the key must not have the next one.
    /// - Returns: whether change events were stored, so that subscribers must be notified.
    static func note(
        share id: Int64, by account: Int64, _ origin: ChangeOrigin?, _ indexes: IndexWriter, _ notifier: Notifier,
        now: Int64, endsAccess: Bool = false, in transaction: StorageTransaction
    ) throws -> Bool {
        guard let share = try transaction.share(id: id), share.isLive, let zone = try transaction.zone(share.zone),
            !zone.isDeleted
        else { return false }
        let group = StoredGroupKeys.group(of: share)
        let isNoted = try GroupState.read(group, share.zone, transaction).attention != 0
        if isNoted && !endsAccess { return false }
        try GroupState.note(group, share.zone, endsAccess: endsAccess, in: transaction)
        return try ShareMembers.tell(share, in: zone, by: account, origin, indexes, notifier, now: now, in: transaction)
    }
}

/// The background job that notes shares whose keys are missing, in bounded steps:
///
/// - for an account with its first devices: each share in which the account participates without having the share's
///   key;
/// - for an account with a new account key, because a device was revoked: each share in which the account participates,
///   and in a job of its own each share of the account's own, as the participants go on writing under its key;
/// - for a container whose schema has its first sealed fields: each share that has no key.
struct KeyAttentionJob {
    enum Subject: Equatable {
        case account(Int64)
        case revocation(Int64)
        case ownShares(Int64)
        case container
    }

    private let about: Subject
    /// The ID of the share, or of the zone, up to which the job is done.
    private var last: Int64 = 0
    /// For an account's own shares: the ID of the share in the zone `last` up to which the job is done.
    private var lastShare: Int64 = 0

    init(about: Subject) { self.about = about }

    var row: JobRow {
        let (kind, id): (String, Int64) =
            switch about {
            case .account(let id): ("account", id)
            case .revocation(let id): ("revocation", id)
            case .ownShares(let id): ("own", id)
            case .container: ("container", 0)
            }
        return JobRow(
            kind: BackgroundJob.noteKeys.rawValue, zone: ZoneKey(owner: .everyone, id: 0),
            subject: "\(kind) \(id) \(last)" + (lastShare == 0 ? "" : " \(lastShare)"))
    }

    init?(_ job: JobRow) {
        let parts = job.subject.split(separator: " ")
        guard parts.count >= 3, let id = Int64(parts[1]), let last = Int64(parts[2]) else { return nil }
        about =
            switch parts[0] {
            case "account": .account(id)
            case "revocation": .revocation(id)
            case "own": .ownShares(id)
            default: .container
            }
        self.last = last
        lastShare = parts.dropFirst(3).first.flatMap { Int64($0) } ?? 0
    }

    /// Notes at most a number of shares derived from `limit`, and inserts a job for the remaining shares.
    /// - Parameter now: the present time, in milliseconds since 1970.
    /// - Returns: whether change events were stored, so that subscribers must be notified.
    func step(
        limit: Int, _ indexes: IndexWriter, _ notifier: Notifier, now: Int64, in transaction: StorageTransaction
    ) throws -> Bool {
        // Noting a share writes several rows: its record, its state and its notifications.
        let count = max(1, limit / 8)
        let (shares, rest) =
            switch about {
            case .account(let account):
                try sharesJoined(by: account, count, transaction) { try Self.lacksBox(account, $0, transaction) }
            case .revocation(let account):
                try sharesJoined(by: account, count, transaction) { try StoredGroupKeys.hasKey($0, transaction) }
            case .ownShares(let account): try sharesOwned(by: account, count, transaction)
            case .container: try sharesWithoutKey(count, transaction)
            }
        var leftEvents = false
        for share in shares {
            let (account, endsAccess) =
                switch about {
                case .account(let id): (id, false)
                case .revocation(let id), .ownShares(let id): (id, true)
                case .container: (share.zone.owner.rawValue, false)
                }
            if try KeyAttention.note(
                share: share.id, by: account, nil, indexes, notifier, now: now, endsAccess: endsAccess, in: transaction)
            {
                leftEvents = true
            }
        }
        if let rest { try transaction.insert(rest.row) }
        return leftEvents
    }

    /// The next shares of others that the account has joined and that are to be noted, and the job for the remaining
    /// shares; nil if none remain.
    private func sharesJoined(
        by account: Int64, _ count: Int, _ reader: StorageReader, isNoted: (ShareRow) throws -> Bool
    ) throws -> (shares: [ShareRow], rest: KeyAttentionJob?) {
        let joined = try reader.memberships(account: account).filter { $0.left == 0 && $0.share > last }
            .map(\.share).sorted()
        let shares = try joined.prefix(count).compactMap { try reader.share(id: $0) }.filter(isNoted)
        var rest = self
        rest.last = joined.prefix(count).last ?? last
        return (shares, joined.count <= count ? nil : rest)
    }

    /// The next live shares of the account's own zones that have a key, and the job for the remaining shares; nil if none
    /// remain.
    private func sharesOwned(
        by account: Int64, _ count: Int, _ reader: StorageReader
    ) throws -> (shares: [ShareRow], rest: KeyAttentionJob?) {
        let zones = try reader.zones(owner: OwnerID(rawValue: account)).filter { $0.key.id >= last }
            .sorted { $0.key.id < $1.key.id }
        var rest = self
        var found: [ShareRow] = []
        // The first zone may be done already.
        for zone in zones.prefix(count + 1) {
            if zone.key.id != rest.last { (rest.last, rest.lastShare) = (zone.key.id, 0) }
            let page = try reader.shares(zone: zone.key, limit: .max).filter { $0.id > rest.lastShare }
                .prefix(count - found.count)
            found += page
            rest.lastShare = page.last?.id ?? rest.lastShare
            if found.count == count { break }
        }
        let isDone = found.count < count && zones.count <= count + 1
        return (try found.filter { try StoredGroupKeys.hasKey($0, reader) }, isDone ? nil : rest)
    }

    /// The container's next shares without a key, and the job for the remaining shares; nil if none remain.
    private func sharesWithoutKey(
        _ count: Int, _ reader: StorageReader
    ) throws -> (shares: [ShareRow], rest: KeyAttentionJob?) {
        let zones = try reader.zones(after: last, limit: count)
        var rest = self
        var found: [ShareRow] = []
        for zone in zones where found.count < count {
            if ZoneRules.hasChangeFeed(zone.name), !zone.isDeleted {
                found += try reader.shares(zone: zone.key, limit: Limits.sharesPerNotification).filter {
                    try $0.isLive && Self.isWithoutKey($0, reader)
                }
            }
            // If a zone has more shares than fit in this step, the next step scans the zone again.
            if found.count <= count { rest.last = zone.key.id }
        }
        let isDone = zones.count < count && rest.last == zones.last?.key.id || zones.isEmpty
        return (Array(found.prefix(count)), isDone ? nil : rest)
    }

    private static func isWithoutKey(_ share: ShareRow, _ reader: StorageReader) throws -> Bool {
        try !StoredGroupKeys.hasKey(share, reader)
            && GroupState.read(StoredGroupKeys.group(of: share), share.zone, reader).attention == 0
    }

    /// Whether a share has a current key, and the account has no box with that key.
    private static func lacksBox(_ account: Int64, _ share: ShareRow, _ reader: StorageReader) throws -> Bool {
        let group = StoredGroupKeys.group(of: share)
        let current = try StoredGroupKeys.currentVersion(of: group, share.zone, reader)
        return try current > 0
            && !StoredGroupKeys.boxes(for: account, of: group, share.zone, reader).contains { $0.version == current }
    }
}
