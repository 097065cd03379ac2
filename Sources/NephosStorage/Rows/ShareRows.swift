/// A share of a zone, or of the hierarchy under one of its records. A share that ended stays, so that feeds can say what went.
package struct ShareRow: Hashable, Sendable {
    /// A change sequence, so it is never given again.
    package var id: Int64
    package var zone: ZoneKey
    /// The name of its share record.
    package var name: String
    /// The name of the record at the top of the hierarchy; empty where the whole zone is shared.
    package var root: String
    /// What its URL ends in. Shares of one root have the same.
    package var guid: String
    /// The change sequence at which it ended; 0 while it lives.
    package var endedAt: Int64
    /// What an account that has the URL may do, opaque here.
    package var publicPermission: Int64
    /// Whether accounts that were not invited may ask for access.
    package var allowsRequests: Bool
    /// When it ended, milliseconds since 1970; 0 while it lives, and once `purgeShares` purged what it held.
    package var endedTime: Int64
    /// The change sequence up to which records that left it were purged from its feed. Only a purge writes it.
    package var purgedUntil: Int64
    /// The largest change sequence at which a record left that came back later: its feed does not have that departure any
    /// more. Only `noteReentry` writes it.
    package var reenteredAt: Int64

    package init(
        id: Int64, zone: ZoneKey, name: String, root: String, guid: String, endedAt: Int64 = 0,
        publicPermission: Int64, allowsRequests: Bool = false, endedTime: Int64 = 0, purgedUntil: Int64 = 0,
        reenteredAt: Int64 = 0
    ) {
        self.id = id
        self.zone = zone
        self.name = name
        self.root = root
        self.guid = guid
        self.endedAt = endedAt
        self.publicPermission = publicPermission
        self.allowsRequests = allowsRequests
        self.endedTime = endedTime
        self.purgedUntil = purgedUntil
        self.reenteredAt = reenteredAt
    }
}

/// A participant of a share besides its owner: invited or joined. Accounts that ask for access, or may not, are rows of it too.
package struct ShareParticipantRow: Hashable, Sendable {
    package var share: Int64
    /// Unique in the share.
    package var id: String
    /// The participant's account; 0 where it is not known yet.
    package var account: Int64
    /// The address that was invited, in the service's own terms; empty for none.
    package var address: String
    /// These three are opaque here.
    package var role: Int64
    package var permission: Int64
    package var status: Int64
    /// Milliseconds since 1970.
    package var addedAt: Int64
    /// What a URL that one account may use ends in; empty where there is none.
    package var oneTimeGUID: String
    /// Whether the participant asked for access and was let in.
    package var isApprovedRequester: Bool

    package init(
        share: Int64, id: String, account: Int64, address: String, role: Int64, permission: Int64, status: Int64,
        addedAt: Int64, oneTimeGUID: String = "", isApprovedRequester: Bool = false
    ) {
        self.share = share
        self.id = id
        self.account = account
        self.address = address
        self.role = role
        self.permission = permission
        self.status = status
        self.addedAt = addedAt
        self.oneTimeGUID = oneTimeGUID
        self.isApprovedRequester = isApprovedRequester
    }
}

/// That an account takes part in a share, or did. An account has one row for a share, of the last time.
package struct MembershipRow: Hashable, Sendable {
    package var account: Int64
    package var share: Int64
    package var zone: ZoneKey
    /// The change sequence at which the account joined.
    package var joined: Int64
    /// The change sequence at which it left, or the share ended; 0 while it takes part.
    package var left: Int64

    package init(account: Int64, share: Int64, zone: ZoneKey, joined: Int64, left: Int64 = 0) {
        self.account = account
        self.share = share
        self.zone = zone
        self.joined = joined
        self.left = left
    }
}

/// That a record is under a hierarchy's share, or was: the share's change feed. A record is under one share at most.
package struct SharedRecordRow: Hashable, Sendable {
    package var zone: ZoneKey
    package var share: Int64
    /// The record's name.
    package var name: String
    package var type: String
    /// The change sequence at which it came under the share, the last time.
    package var entered: Int64
    /// The change sequence at which it last changed, or came or went; unique in the share.
    package var sequence: Int64
    /// The change sequence of the commit that deleted it, or moved it away: the feed may have it later. 0 while it is there.
    package var leftAt: Int64
    /// When it was deleted, or moved away, milliseconds since 1970; 0 while it is there.
    package var goneAt: Int64

    package var isGone: Bool { goneAt != 0 }

    package init(
        zone: ZoneKey, share: Int64, name: String, type: String, entered: Int64, sequence: Int64, leftAt: Int64 = 0,
        goneAt: Int64 = 0
    ) {
        self.zone = zone
        self.share = share
        self.name = name
        self.type = type
        self.entered = entered
        self.sequence = sequence
        self.leftAt = leftAt
        self.goneAt = goneAt
    }
}

/// A zone of another's that an account takes part in, as it is stored.
package struct ParticipantZone: Hashable, Sendable {
    /// The account's part in one share of the zone.
    package struct Part: Hashable, Sendable {
        package var membership: MembershipRow
        package var share: ShareRow
        /// The account's rows in the share.
        package var participants: [ShareParticipantRow]
    }

    package var owner: AccountRow
    package var zone: ZoneRow
    /// Whether there is a job of the kind that was asked for in the zone.
    package var hasJob: Bool
    /// Ordered by share. Shares that have no row of the account are left out.
    package var parts: [Part]
}
