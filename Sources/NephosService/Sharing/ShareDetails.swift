import NephosStorage
import NephosWire

/// Adds the details that a share has besides its record to responses, as far as the caller may see them. Participants
/// see themselves and participants that accepted. The owner and administrators also see addresses, pending invitations,
/// requests and blocked accounts.
struct ShareDetails {
    let account: AccountRow?
    let accounts: Accounts
    let reader: StorageReader

    /// The details of the share with this record name; nil if the share has ended.
    func dictionary(zone: ZoneKey, named name: String) throws -> ShareDictionary? {
        guard let share = try reader.share(zone: zone, named: name) else { return nil }
        return try dictionary(share)
    }

    func dictionary(_ share: ShareRow) throws -> ShareDictionary {
        let rows = try reader.participants(share: share.id)
        let isOwner = account?.id == share.zone.owner.rawValue
        let own = account.flatMap { account in rows.first { $0.isOf(account) } }
        let seesAll = isOwner || own.map { $0.isAdministrator(of: share) } ?? false
        let owner = try ownerDictionary(share)
        var dictionary = ShareDictionary(
            shortGUID: share.guid, publicPermission: share.openPermission, participants: [owner], owner: owner,
            deniesAccessRequests: !share.allowsRequests,
            rootRecordName: share.isZoneWide ? nil : share.root)
        for row in rows where row.isParticipant && (seesAll || row.hasAccepted || row.id == own?.id) {
            let participant = try participant(row, share, withAddress: seesAll)
            dictionary.participants.append(participant)
            if row.id == own?.id { dictionary.currentUserParticipant = participant }
        }
        if isOwner { dictionary.currentUserParticipant = owner }
        dictionary.hasKeys = try StoredGroupKeys.hasKey(share, reader)
        if seesAll {
            dictionary.wantsKeys =
                try GroupState.read(StoredGroupKeys.group(of: share), share.zone, reader).attention > 0
        }
        if seesAll {
            dictionary.requesters = try rows.filter(\.isRequester).map { try identity($0, withAddress: true) }
            dictionary.blocked = try rows.filter(\.isBlocked).map { try identity($0, withAddress: true) }
        }
        return dictionary
    }

    /// The identity of an account as other accounts see it.
    /// - Parameter isNamed: whether the identity includes the account's name.
    func identity(_ account: Int64, isNamed: Bool = true) throws -> UserIdentityDictionary {
        var identity = UserIdentityDictionary(
            userRecordName: try accounts.userRecordName(id: account, reader), hasAccount: true)
        if isNamed, let name = try reader.liveAccount(id: account)?.name { identity.givenName = Self.givenName(name) }
        return identity
    }

    /// The given name of an account, which is the account's name: the service has no other names. Nil for an address,
    /// which not every caller may see.
    static func givenName(_ accountName: String) -> String? {
        accountName.contains("@") || accountName.first == "+" || AccountID.isOne(accountName) ? nil : accountName
    }

    private func ownerDictionary(_ share: ShareRow) throws -> ParticipantDictionary {
        ParticipantDictionary(
            participantID: "owner-\(share.id)", userIdentity: try identity(share.zone.owner.rawValue), role: .owner,
            permission: .readWrite, acceptanceStatus: .accepted)
    }

    private func participant(
        _ row: ShareParticipantRow, _ share: ShareRow, withAddress: Bool
    ) throws -> ParticipantDictionary {
        ParticipantDictionary(
            participantID: row.id, userIdentity: try identity(row, withAddress: withAddress),
            role: ParticipantRole(number: row.role), permission: row.permission(in: share),
            acceptanceStatus: AcceptanceStatus(number: row.status), isApprovedRequester: row.isApprovedRequester,
            dateAdded: row.addedAt,
            oneTimeGUID: withAddress && !row.hasAccepted && !row.oneTimeGUID.isEmpty ? row.oneTimeGUID : nil)
    }

    private func identity(_ row: ShareParticipantRow, withAddress: Bool) throws -> UserIdentityDictionary {
        var identity =
            row.account == 0
            ? UserIdentityDictionary(hasAccount: false)
            // By accepting or by requesting access, an account reveals its name.
            : try self.identity(row.account, isNamed: row.hasAccepted || !row.isParticipant)
        if withAddress { identity.lookupInfo = InvitationAddress.lookupInfo(row.address) }
        return identity
    }
}
