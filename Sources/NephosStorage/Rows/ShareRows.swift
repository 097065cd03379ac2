/// A share of a zone, or of the hierarchy under a root record. The row of an ended share remains, so that change feeds
/// can report the departures.
package struct ShareRow: Hashable, Sendable {
    /// The share's ID. It is a change sequence, so no other share ever has it.
    package var id: Int64
    package var zone: ZoneKey
    /// The name of its share record.
    package var name: String
    /// The name of the root record of the shared hierarchy; empty if the whole zone is shared.
    package var root: String
    /// The last component of the share's URL. Successive shares of one root record have the same component.
    package var guid: String
    /// The change sequence at which the share ended; 0 while the share is live.
    package var endedAt: Int64
    /// The code for the permission of any account that has the URL, opaque to the storage layer.
    package var publicPermission: Int64
    /// Whether uninvited accounts may request access.
    package var allowsRequests: Bool
    /// The time at which the share ended, in milliseconds since 1970; 0 while the share is live, and again after
    /// `purgeShares` has purged its content.
    package var endedTime: Int64
    /// The change sequence up to which departed records were purged from the share's feed. Only a purge writes it.
    package var purgedUntil: Int64
    /// The largest change sequence of a departure that the share's feed no longer has because the record re-entered the
    /// share. Only `noteReentry` writes it.
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

/// A participant of a share other than its owner: an account that was invited or has joined. Accounts that request
/// access, or are blocked, also have rows.
package struct ShareParticipantRow: Hashable, Sendable {
    package var share: Int64
    /// The participant's identifier, unique in the share.
    package var id: String
    /// The participant's account; 0 until the account is known.
    package var account: Int64
    /// The address that was invited, in the service's own notation; empty if none was.
    package var address: String
    /// The code for the participant's role. The codes of this and the next two properties are opaque to the storage
    /// layer.
    package var role: Int64
    package var permission: Int64
    package var status: Int64
    /// The time at which the participant was added, in milliseconds since 1970.
    package var addedAt: Int64
    /// The last component of the participant's one-time URL; empty if the participant has none.
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

/// An account's current or former membership in a share. Each account and share has one row, for the latest membership.
package struct MembershipRow: Hashable, Sendable {
    package var account: Int64
    package var share: Int64
    package var zone: ZoneKey
    /// The change sequence at which the account joined the share.
    package var joined: Int64
    /// The change sequence at which the account left or the share ended; 0 for a current member.
    package var left: Int64

    package init(account: Int64, share: Int64, zone: ZoneKey, joined: Int64, left: Int64 = 0) {
        self.account = account
        self.share = share
        self.zone = zone
        self.joined = joined
        self.left = left
    }
}

/// The row of a record that is, or was, under the share of a hierarchy. These rows form the share's change feed. A
/// record is under at most one share at a time.
package struct SharedRecordRow: Hashable, Sendable {
    package var zone: ZoneKey
    package var share: Int64
    /// The record's name.
    package var name: String
    package var type: String
    /// The change sequence at which the record last entered the share.
    package var entered: Int64
    /// The change sequence of the record's last change, entry or departure, unique in the share.
    package var sequence: Int64
    /// The change sequence of the commit that deleted the record or moved it out of the share; 0 while the record is in
    /// the share. The row's `sequence` may be later.
    package var leftAt: Int64
    /// The time at which the record was deleted or moved out of the share, in milliseconds since 1970; 0 while the
    /// record is in the share.
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

/// A zone of another owner in which an account participates, with the rows that determine the account's access.
package struct ParticipantZone: Hashable, Sendable {
    /// The participation of the account in one share of the zone.
    package struct Part: Hashable, Sendable {
        package var membership: MembershipRow
        package var share: ShareRow
        /// The rows of the account among the share's participants.
        package var participants: [ShareParticipantRow]
    }

    package var owner: AccountRow
    package var zone: ZoneRow
    /// Whether the zone has a job of the requested kind.
    package var hasJob: Bool
    /// The account's participations, ordered by share. Shares without a row of the account are omitted.
    package var parts: [Part]
}
