import NephosCrypto
import NephosStorage
import NephosWire

/// `records/resolve` and `records/accept`: returns the metadata of a share to a caller that has the share's URL, and
/// accepts the share for the caller's account. Both depend only on the short GUID and the caller, never on metadata
/// that a client sends (`CKShare.Metadata`, Apple's documentation):
///
/// - the owner, participants and invitees get the metadata of a share, and every account gets that of a public share;
/// - other accounts get the error of an unknown URL, or `participantMayNeedVerification` if an invitation waits for an
///   address to be verified;
/// - accepting is idempotent; an owner cannot accept their own share; after a removal the account needs a new invitation;
/// - the first acceptance uses up a one-time URL; for that account it remains the share's URL.
struct ResolveShare {
    let caller: Caller
    let account: AccountRow
    let container: String
    let containerEnvironment: ContainerEnvironment
    let accounts: Accounts
    let reader: StorageReader

    /// A share that the caller may see.
    struct Found {
        var share: ShareRow
        var zone: ZoneRow
        /// The caller's row; nil for the owner, and for an account that has not joined a public share.
        var row: ShareParticipantRow?
    }

    static let unknown = ServiceError(
        .notFound, .unknownItem, "There is no share of that URL, or it is not the caller's to see")
    /// Apps recognise the error by these words of Apple's.
    static let isOwn = ServiceError.invalid("Error accepting share: owner participant tried to accept share")
    static let needsVerification = ServiceError(
        .accessDenied, .participantMayNeedVerification,
        "The account is not among the share's participants; an invitation waits for an address to be verified")

    func find(_ guid: String) throws -> Found {
        guard guid.isStorable else { throw Self.unknown }
        var oneTime: ShareParticipantRow?
        var share = try reader.share(guid: guid)
        if share == nil, let row = try reader.participant(oneTimeGUID: guid) {
            oneTime = row
            share = try reader.share(id: row.share)
        }
        guard let share, share.isLive, let zone = try reader.zone(share.zone), !zone.isDeleted,
            try reader.liveAccount(id: share.zone.owner.rawValue) != nil
        else { throw Self.unknown }
        if share.zone.owner == account.owner { return Found(share: share, zone: zone, row: nil) }
        let rows = try reader.participants(share: share.id)
        if rows.contains(where: { $0.isBlocked && $0.account == account.id }) { throw Self.unknown }
        if let row = rows.first(where: { $0.isParticipant && $0.isOf(account) }) {
            return Found(share: share, zone: zone, row: row)
        }
        if let oneTime, !oneTime.hasAccepted, share.openPermission == .none {
            return Found(share: share, zone: zone, row: oneTime)
        }
        if share.openPermission != .none { return Found(share: share, zone: zone, row: nil) }
        let waits = rows.contains { $0.isParticipant && $0.account == 0 && !$0.address.isEmpty }
        throw waits ? Self.needsVerification : Self.unknown
    }

    // MARK: - Response

    /// - Parameter room: the number of bytes of shares' records and root records that the response can still hold.
    func info(_ found: Found, _ item: ShortGUIDsRequest.Item, room: inout Int) throws -> RecordInfo {
        let share = found.share
        if room <= 0 {
            throw ServiceError.limitExceeded(
                "the answer holds \(Limits.lookupSize) bytes of records before this one; ask for fewer at a time")
        }
        guard let record = try reader.record(zone: share.zone, named: share.name), !record.isDeleted else {
            throw Self.unknown
        }
        room -= record.fields.count
        let isOwner = share.zone.owner == account.owner
        let details = ShareDetails(account: account, accounts: accounts, reader: reader)
        let ownerName = try accounts.userRecordName(id: share.zone.owner.rawValue, reader)
        let zoneID = ZoneIDDictionary(zoneName: found.zone.name, ownerRecordName: ownerName)
        let answer = RecordProjection(
            desiredKeys: nil, numbersAsStrings: false, zoneID: zoneID, isShared: !isOwner, assets: caller.assets)
        var dictionary = answer.dictionary(record, users: try users(of: record))
        dictionary.shareDetails = try details.dictionary(share)
        let part = part(found, isOwner)
        // The permission `.none` gives no access, not even to the root.
        let mayRead = part.permission == .readOnly || part.permission == .readWrite
        let root =
            item.shouldFetchRootRecord && mayRead ? try root(share, item, zoneID, isOwner, room: &room) : nil
        return RecordInfo(
            shortGUID: item, containerIdentifier: container,
            environment: containerEnvironment == .production ? "PRODUCTION" : "DEVELOPMENT",
            databaseScope: isOwner ? "PRIVATE" : "SHARED", zoneID: zoneID, share: dictionary,
            rootRecordName: share.isZoneWide ? nil : share.root,
            rootRecord: root, ownerIdentity: try details.identity(share.zone.owner.rawValue),
            participantRole: part.role,
            participantStatus: part.status, participantPermission: part.permission)
    }

    private typealias Part = (role: ParticipantRole, status: AcceptanceStatus, permission: SharePermission)

    private func part(_ found: Found, _ isOwner: Bool) -> Part {
        if isOwner { return (.owner, .accepted, .readWrite) }
        guard let row = found.row else { return (.publicUser, .pending, found.share.openPermission) }
        return (
            ParticipantRole(number: row.role), AcceptanceStatus(number: row.status), row.permission(in: found.share)
        )
    }

    private func root(
        _ share: ShareRow, _ item: ShortGUIDsRequest.Item, _ zoneID: ZoneIDDictionary, _ isOwner: Bool, room: inout Int
    ) throws -> RecordDictionary? {
        guard !share.isZoneWide, let row = try reader.record(zone: share.zone, named: share.root), !row.isDeleted
        else { return nil }
        room -= row.fields.count
        return RecordProjection(
            desiredKeys: item.rootRecordDesiredKeys, numbersAsStrings: false, zoneID: zoneID, isShared: !isOwner,
            assets: caller.assets
        ).dictionary(row, users: try users(of: row))
    }

    private func users(of row: RecordRow) throws -> [Int64: String] {
        var users: [Int64: String] = [:]
        for id in [row.createdBy, row.modifiedBy] { users[id] = try accounts.userRecordName(id: id, reader) }
        return users
    }
}

/// The acceptance of a share (`records/accept`) in a transaction.
struct AcceptShare {
    let visit: ShareVisit

    private var account: AccountRow { visit.resolve.account }
    private var transaction: StorageTransaction { visit.transaction }

    /// Makes the caller a participant of the share whose URL ends in `guid`.
    /// - Returns: the share after the acceptance.
    func accept(_ guid: String) throws -> ResolveShare.Found {
        var found = try visit.resolve.find(guid)
        if found.share.zone.owner == account.owner { throw ResolveShare.isOwn }
        if found.row?.hasAccepted == true { return found }
        let rows = try transaction.participants(share: found.share.id)
        var row: ShareParticipantRow
        if let invited = found.row {
            row = invited
        } else {
            if rows.filter(\.isParticipant).count >= Limits.shareParticipants { throw ServiceError.tooManyParticipants }
            row = ShareParticipantRow(
                share: found.share.id, id: visit.environment.makeUUID(), account: account.id, address: "",
                role: ParticipantRole.publicUser.number, permission: found.share.publicPermission,
                status: AcceptanceStatus.pending.number, addedAt: visit.environment.now())
        }
        if try visit.membershipCount() >= Limits.membershipsPerAccount {
            throw ServiceError.limitExceeded(
                "an account takes part in \(Limits.membershipsPerAccount) shares at most; leave some first")
        }
        row.account = account.id
        row.status = AcceptanceStatus.accepted.number
        try transaction.put(row)
        for request in rows where request.isRequester && request.account == account.id {
            try transaction.removeParticipant(share: request.share, id: request.id)
        }
        found.row = row
        try join(found)
        return found
    }

    private func join(_ found: ResolveShare.Found) throws {
        guard let record = try transaction.record(zone: found.share.zone, named: found.share.name) else {
            throw ResolveShare.unknown
        }
        let keys = try StoredGroupKeys.boxes(
            for: account.id, of: StoredGroupKeys.group(of: found.share), found.share.zone, transaction)
        let devices = try visit.deviceLists.list(of: account)
        if !keys.contains(where: { devices.accountKeyVersion(of: $0.recipient) != nil }) {
            try GroupState.note(found.share, endsAccess: false, in: transaction)
        }
        try visit.touch(record, of: found.share, in: found.zone, by: account.id) { sequence in
            if found.row?.permission(in: found.share) != SharePermission.none {
                try transaction.put(
                    MembershipRow(
                        account: account.id, share: found.share.id, zone: found.share.zone, joined: sequence))
                visit.noteMembership()
            }
        }
    }
}

/// A transaction that accepts shares by their URLs, or requests access to them, for one account.
final class ShareVisit {
    let resolve: ResolveShare
    let environment: ServiceEnvironment
    let transaction: StorageTransaction
    let deviceLists: DeviceLists
    private let indexes: IndexWriter
    private let notifier: Notifier
    /// Whether change events were stored, so that subscribers must be notified.
    private(set) var leftEvents = false
    /// The number of the account's memberships; nil until it is read. A request that accepts many shares counts once.
    private var memberships: Int?

    init(
        resolve: ResolveShare, environment: ServiceEnvironment, indexes: IndexWriter, notifier: Notifier,
        transaction: StorageTransaction
    ) {
        self.resolve = resolve
        self.environment = environment
        self.indexes = indexes
        self.notifier = notifier
        self.transaction = transaction
        deviceLists = DeviceLists(resolve.caller, transaction)
    }

    /// The number of shares of which the account is a member.
    func membershipCount() throws -> Int {
        if let memberships { return memberships }
        let count = try transaction.membershipCount(account: resolve.account.id)
        memberships = count
        return count
    }

    /// Counts a membership that was inserted.
    func noteMembership() { memberships = memberships.map { $0 + 1 } }

    /// Rewrites the record of a share as changed by an account, and inserts the change events.
    /// - Parameter body: makes further writes; it receives the record's new change sequence.
    func touch(
        _ record: RecordRow, of share: ShareRow, in zone: ZoneRow, by account: Int64, _ body: (Int64) throws -> Void
    ) throws {
        let changes = notifier.changes(in: share.zone)
        let sharedChanges = SharedChanges(notifier.watched)
        let merge = FieldMerge(zone: share.zone, now: environment.now(), account: account)
        try body(try ShareMembers.touch(record, merge, indexes, changes, sharedChanges, in: transaction))
        try transaction.noteChange(zone: share.zone)
        sharedChanges.note(share: share.id)
        _ = try sharedChanges.leaveJobs(zone: share.zone, by: resolve.caller.origin, in: transaction)
        if try notifier.notify(of: changes, in: zone, by: resolve.caller.origin, transaction) { leftEvents = true }
    }
}
