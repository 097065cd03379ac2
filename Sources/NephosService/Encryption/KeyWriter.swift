import NephosCrypto
import NephosStorage
import NephosWire

/// Stores the keys of a `keys/group` request, if the caller has the right to bring them and has signed them:
///
/// - the owner may bring all keys; an administrator named by the owner's devices may bring the share's next key and its
///   boxes; other participants may bring the group's key for their own account;
/// - a group's key has the next version, is for the owner's current account key, and is signed by a device on the
///   caller's list;
/// - a key for another account requires that the account participates or is invited, and is for that account's current
///   account key.
struct KeyWriter {
    private let caller: Caller
    private let account: AccountRow
    private let zone: FoundZone
    private let changes: SharedChanges
    private let transaction: StorageTransaction
    private let lists: DeviceLists

    init(
        _ caller: Caller, _ account: AccountRow, _ zone: FoundZone, _ changes: SharedChanges,
        _ transaction: StorageTransaction
    ) {
        self.caller = caller
        self.account = account
        self.zone = zone
        self.changes = changes
        self.transaction = transaction
        lists = DeviceLists(caller, transaction)
    }

    func write(_ request: PutGroupKeyRequest) throws {
        let group = request.group
        let standing = KeyStanding(zone, group)
        try checkForm(request)
        try checkRight(request, standing)
        let devices = try lists.list(of: account)
        let signed = try request.participants.map { try check($0, request, standing) }
        // If another device signed the next list first, nothing is changed.
        if case .some(.none) = signed { return }
        guard let current = try putKey(request, standing, devices), current != 0 else { return }
        for box in request.boxes where box.key.version == current { try put(box, group, standing, devices) }
        if let signed = signed ?? nil { try StoredParticipants.put(signed, of: group, zone.key, in: transaction) }
        if standing == .administrator, request.key != nil || !request.boxes.isEmpty || request.participants != nil {
            try StoredGroupKeys.putSigner(account, of: group, zone.key, in: transaction)
        }
        try putLinks(request, current)
        try wrapRecords(request, current)
        try share(of: group).map { try OpenInvitations.close($0, in: transaction) }
        try settle(request, current)
    }

    /// Stores the group key that the request brings.
    /// - Returns: the group's current version, 0 if it has no key; nil if a concurrent request stored this version
    ///   first.
    private func putKey(
        _ request: PutGroupKeyRequest, _ standing: KeyStanding, _ devices: DeviceList
    ) throws -> Int64? {
        let group = request.group
        let current = try StoredGroupKeys.currentVersion(of: group, zone.key, transaction)
        guard let key = request.key else { return current }
        if key.version == current, try isNamedAnew(key, group, standing) {
            try checkSignature(key, group, devices)
            try transaction.put(StoredGroupKeys.row(key, of: group, zone.key))
            return current
        }
        if key.version <= current { return nil }
        try check(key, after: current, group, standing, devices)
        try transaction.put(StoredGroupKeys.row(key, of: group, zone.key))
        // Links hold the previous version, which opens no new values.
        for row in try transaction.keys(zone: zone.key, kind: .link, subject: group) {
            try transaction.removeKey(zone: zone.key, kind: .link, subject: group, id: row.id)
        }
        return key.version
    }

    private func wrapRecords(_ request: PutGroupKeyRequest, _ current: Int64) throws {
        if request.records.isEmpty { return }
        let group = request.group
        let present = try StoredGroupKeys.last(of: group, zone.key, transaction).map { GroupKeyID.of(box: $0.box) }
        var isNew = false
        for record in request.records {
            for key in record.keys where key.version == current {
                guard key.groupKeyID.isEmpty || key.groupKeyID == present else { continue }
                if try wrap(key, of: record.recordName) { isNew = true }
            }
        }
        // Participants that have the group's key may be waiting for the records' keys.
        if isNew, let share = try share(of: group) { changes.note(share: share.id) }
    }

    private func settle(_ request: PutGroupKeyRequest, _ current: Int64) throws {
        if !request.records.isEmpty || request.settled != nil {
            try FormerKeys.settleNoted(zone.key, in: transaction)
        }
        guard let settled = request.settled else { return }
        var state = try GroupState.read(request.group, zone.key, transaction)
        if state.attention == settled, state.stale != current {
            state.attention = 0
            try state.write(request.group, zone.key, in: transaction)
        }
    }

    // MARK: Keys of the group

    private func check(
        _ key: WrappedGroupKey, after current: Int64, _ group: String, _ standing: KeyStanding, _ devices: DeviceList
    ) throws {
        guard key.version == current + 1 else {
            throw ServiceError.invalid("the group's next key has the version \(current + 1), not \(key.version)")
        }
        guard current < Limits.groupKeyVersions else {
            throw ServiceError.limitExceeded("a group has at most \(Limits.groupKeyVersions) keys")
        }
        let owner = try lists.list(of: owner)
        guard key.recipient == owner.accountKey else {
            throw ServiceError.invalid("the group's key is not for its owner's present account key")
        }
        try checkSignature(key, group, devices)
        guard standing == .administrator else { return }
        guard key.administrators.isEmpty else {
            throw ServiceError.shareRefusal("only a device of the owner's names administrators")
        }
        try StoredGroupKeys.checkNamed(devices, of: group, zone.key, owner, transaction)
    }

    /// Whether the owner signs the current version again to name other administrators. This is allowed while no other
    /// account has that version.
    private func isNamedAnew(_ key: WrappedGroupKey, _ group: String, _ standing: KeyStanding) throws -> Bool {
        guard standing == .owner, !group.isEmpty,
            let last = try StoredGroupKeys.last(of: group, zone.key, transaction), last.version == key.version,
            last.recipient == key.recipient, last.previous == key.previous, last.administrators != key.administrators
        else { return false }
        let version = KeyRow.id(key.version)
        return try !transaction.keys(zone: zone.key, kind: .groupBox, subject: group).contains {
            $0.id.starts(with: version)
        }
    }

    private func checkSignature(_ key: WrappedGroupKey, _ group: String, _ devices: DeviceList) throws {
        guard devices.isListed(key.signer),
            SigningKeyPair.isValid(key.signature, of: signedBytes(key, group), by: key.signer)
        else { throw ServiceError.unlistedDevice }
    }

    private func place(of group: String) -> GroupPlace {
        GroupPlace(zone: ZonePlace(account: caller.keyPlace(of: owner), zoneName: zone.name), group: group)
    }

    private func signedBytes(_ key: WrappedGroupKey, _ group: String) -> [UInt8] {
        place(of: group).signedBytes(
            version: key.version, recipient: key.recipient, box: key.box, previous: key.previous,
            administrators: key.administrators)
    }

    private var owner: AccountRow { zone.shared?.owner ?? account }

    // MARK: Who takes part

    /// Returns the signed list of participants; nil if another device signed the next one first, or if the share has
    /// changed since. The list names only participants of now, whose identifiers the service made, or took with a list or
    /// before the share had a key.
    private func check(
        _ bytes: [UInt8], _ request: PutGroupKeyRequest, _ standing: KeyStanding
    ) throws -> SignedParticipants? {
        guard let share = try share(of: request.group) else { return nil }
        let check = ParticipantListCheck(
            group: place(of: request.group), zone: zone.key, standing: standing, account: account, owner: owner,
            lists: lists, reader: transaction)
        guard let signed = try check.check(bytes, first: request.key) else { return nil }
        let present = Set(try transaction.participants(share: share.id).filter(\.isParticipant).map(\.id))
        guard signed.list.participants.isSubset(of: present), !signed.list.isOpen || share.openPermission != .none
        else { return nil }
        return signed
    }

    // MARK: The key for other accounts

    private func put(
        _ box: GroupBox, _ group: String, _ standing: KeyStanding, _ devices: DeviceList
    ) throws {
        let isOwn = box.userRecordName.isEmpty
        let recipient = isOwn ? account : try transaction.liveAccount(userRecordName: box.userRecordName)
        guard let recipient, recipient.id != zone.key.owner.rawValue, let row = try participant(recipient, group) else {
            throw ServiceError.shareRefusal("'\(box.userRecordName)' takes no part in what the key is for")
        }
        let list = try lists.list(of: recipient)
        guard box.key.recipient == list.accountKey else {
            throw ServiceError.invalid("the key is not for the present account key of '\(recipient.userRecordName)'")
        }
        try checkSignature(box.key, group, devices)
        try transaction.put(StoredGroupKeys.box(box.key, for: recipient.id, of: group, zone.key))
        // The account has used its one-time URL, so the URL's secret is removed.
        try transaction.removeKey(zone: zone.key, kind: .link, subject: group, id: Array(row.id.utf8))
        // The notification also reaches the account's own other devices, which may be waiting for the key.
        changes.note(account: recipient.id)
    }

    private func participant(_ account: AccountRow, _ group: String) throws -> ShareParticipantRow? {
        guard let share = try share(of: group) else { return nil }
        return try transaction.participants(share: share.id).first {
            $0.isParticipant && $0.isOf(account) && $0.permission(in: share) != .none
        }
    }

    /// The group's share, if a participating account has devices with keys but lacks the group's current key; otherwise
    /// nil. Such an account enrolled its first device while the key was being made.
    func shareWithMembersLeftOut(of group: String) throws -> ShareRow? {
        guard let share = try share(of: group) else { return nil }
        let unsigned = try StoredParticipants.unsigned(of: group, zone.key, transaction)
        for row in try transaction.participants(share: share.id)
        where row.isParticipant && row.hasAccepted && row.mayHaveKey(of: share, unsigned) {
            if let account = try row.invitedAccount(transaction),
                try KeyAttention.lacksKey(account, share, try lists.list(of: account), transaction)
            {
                return share
            }
        }
        return nil
    }

    private func share(of group: String) throws -> ShareRow? {
        let name = group.isEmpty ? SystemRecordName.zoneWideShare : group
        return try transaction.share(zone: zone.key, named: name).flatMap { $0.isLive ? $0 : nil }
    }

    private func putLinks(_ request: PutGroupKeyRequest, _ current: Int64) throws {
        if let link = request.link, link.version == current {
            try transaction.put(StoredGroupKeys.row(link, of: request.group, zone.key))
        }
        if request.oneTimeLinks.isEmpty { return }
        guard let share = try share(of: request.group) else { return }
        let open = Set(
            try transaction.participants(share: share.id).filter { !$0.oneTimeGUID.isEmpty && !$0.hasAccepted }.map(
                \.id))
        for link in request.oneTimeLinks where link.link.version == current && open.contains(link.participantID) {
            try transaction.put(
                StoredGroupKeys.row(link.link, participantID: link.participantID, of: request.group, zone.key))
        }
    }

    // MARK: Keys of records

    /// Stores a record key that is wrapped for the group, if the record has the key and the key is not wrapped for the
    /// group yet.
    /// - Returns: whether the wrapped key was stored.
    private func wrap(_ key: WrappedRecordKey, of name: String) throws -> Bool {
        let rows = try transaction.keys(zone: zone.key, kind: .recordKey, subject: name)
        let row = key.row(zone: zone.key, recordName: name)
        guard rows.contains(where: { $0.recordKeyID.elementsEqual(key.id) }),
            !rows.contains(where: { $0.id == row.id }), rows.count < 4 * Limits.keysPerRecord
        else { return false }
        try transaction.put(row)
        if !key.group.isEmpty {
            try FormerKeys.spend(rows.filter { $0.recordKeyID.elementsEqual(key.id) }, in: transaction)
        }
        return true
    }

    // MARK: Form and authorisation

    private func checkRight(_ request: PutGroupKeyRequest, _ standing: KeyStanding) throws(ServiceError) {
        switch standing {
        case .owner: return
        case .administrator:
            guard request.records.isEmpty else {
                throw .shareRefusal("only the owner of records gives them keys")
            }
        case .participant, .outsider:
            guard standing == .participant, request.key == nil, request.participants == nil, request.link == nil,
                request.oneTimeLinks.isEmpty,
                request.records.isEmpty, request.settled == nil, request.boxes.allSatisfy(\.userRecordName.isEmpty),
                request.boxes.count <= 1
            else { throw .shareRefusal("only the owner of what is shared, and administrators, hand its keys over") }
        }
    }

    private func checkForm(_ request: PutGroupKeyRequest) throws(ServiceError) {
        guard request.boxes.count <= Limits.shareParticipants, request.records.count <= Limits.recordsToWrap,
            request.oneTimeLinks.count <= Limits.shareParticipants,
            request.key?.administrators.count ?? 0 <= Limits.shareParticipants,
            request.group.utf8.count <= Limits.recordNameLength
        else { throw .limitExceeded("keys/group brings too much at once") }
        if let key = request.key {
            guard key.hasForm(previous: key.version == 1 ? 0 : Limits.wrappedGroupKeySize) else {
                throw .invalid("the zone's key has not the form of one")
            }
        }
        guard request.boxes.allSatisfy({ $0.key.hasForm(previous: 0) && $0.key.administrators.isEmpty }),
            request.records.allSatisfy({
                $0.keys.allSatisfy { $0.hasForm && $0.isInherited && $0.group == request.group }
            }),
            request.link?.hasForm ?? true, request.oneTimeLinks.allSatisfy(\.link.hasForm)
        else { throw .invalid("a key has not the form of one") }
    }
}

extension ServiceError {
    /// The error for an unlisted signer. The library enrols its device again on this error.
    static let unlistedDevice = ServiceError(
        .accessDenied, .permissionFailure, "the key is not signed by a device on the account's list")
}

extension WrappedGroupKey {
    fileprivate func hasForm(previous: Int) -> Bool {
        recipient.count == 32 && box.count == Limits.groupKeyBoxSize && signer.count == 32 && signature.count == 64
            && self.previous.count == previous && administrators.allSatisfy { $0.count == 32 }
    }
}

extension WrappedLink {
    fileprivate var hasForm: Bool {
        (key.isEmpty || key.count == Limits.wrappedGroupKeySize) && secret.count == Limits.wrappedLinkSize
    }
}
