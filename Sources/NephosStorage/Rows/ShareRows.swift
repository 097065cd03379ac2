/// A share of a zone, or of the hierarchy under a record. An ended share remains, so that feeds can report departures.
package struct ShareRow: Hashable, Sendable {
    /// A change sequence, so it is never given again.
    package var id: Int64
    package var zone: ZoneKey
    /// The name of its share record.
    package var name: String
    /// The name of the root record of the hierarchy; empty if the whole zone is shared.
    package var root: String
    /// The last component of its URL. Successive shares of one root have the same.
    package var guid: String
    /// The change sequence at which it ended; 0 while it is live.
    package var endedAt: Int64
    /// The permission of any account with the URL, opaque here.
    package var publicPermission: Int64
    /// Whether uninvited accounts may request access.
    package var allowsRequests: Bool
    /// When it ended, milliseconds since 1970; 0 while it is live, and after `purgeShares` has purged its content.
    package var endedTime: Int64
    /// The change sequence up to which departed records were purged from its feed. Only a purge writes it.
    package var purgedUntil: Int64
    /// The largest change sequence at which a record left that has since re-entered: its feed no longer has that
    /// departure. Only `noteReentry` writes it.
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

/// A participant of a share besides its owner: invited or joined. Accounts that request access, or are blocked, have
/// rows too.
package struct ShareParticipantRow: Hashable, Sendable {
    package var share: Int64
    /// Unique in the share.
    package var id: String
    /// The participant's account; 0 until it is known.
    package var account: Int64
    /// The invited address, in the service's own terms; empty for none.
    package var address: String
    /// This and the next two are opaque here.
    package var role: Int64
    package var permission: Int64
    package var status: Int64
    /// Milliseconds since 1970.
    package var addedAt: Int64
    /// The last component of a one-time URL; empty if there is none.
    package var oneTimeGUID: String
    /// Whether the participant requested access and was approved.
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

/// An account's current or former membership in a share. There is one row per account and share, of the last time.
package struct MembershipRow: Hashable, Sendable {
    package var account: Int64
    package var share: Int64
    package var zone: ZoneKey
    /// The change sequence at which the account joined.
    package var joined: Int64
    /// The change sequence at which it left, or the share ended; 0 for a current member.
    package var left: Int64

    package init(account: Int64, share: Int64, zone: ZoneKey, joined: Int64, left: Int64 = 0) {
        self.account = account
        self.share = share
        self.zone = zone
        self.joined = joined
        self.left = left
    }
}

/// A record's current or former row under a hierarchy's share: the share's change feed. A record is under at most one
/// share.
package struct SharedRecordRow: Hashable, Sendable {
    package var zone: ZoneKey
    package var share: Int64
    /// The record's name.
    package var name: String
    package var type: String
    /// The change sequence at which it last came under the share.
    package var entered: Int64
    /// The change sequence of its last change, arrival or departure; unique in the share.
    package var sequence: Int64
    /// The change sequence of the commit that deleted it or moved it away: its feed sequence may be later. 0 while it
    /// is present.
    package var leftAt: Int64
    /// When it was deleted or moved away, milliseconds since 1970; 0 while it is present.
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

/// Another owner's zone in which an account participates, as stored.
package struct ParticipantZone: Hashable, Sendable {
    /// The account's participation in one share of the zone.
    package struct Part: Hashable, Sendable {
        package var membership: MembershipRow
        package var share: ShareRow
        /// The account's rows in the share.
        package var participants: [ShareParticipantRow]
    }

    package var owner: AccountRow
    package var zone: ZoneRow
    /// Whether the zone has a job of the requested kind.
    package var hasJob: Bool
    /// Ordered by share. Shares without a row of the account are left out.
    package var parts: [Part]
}
