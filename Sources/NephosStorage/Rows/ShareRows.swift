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

/// What a storage engine reads of shares.
package protocol ShareReader {
    /// The live zone of that name of the live account with that user record name, with all that says what an account may see
    /// of it; nil where there is none, or the account has no part in it. Costs one way to the database.
    func participantZone(
        named name: String, owner userRecordName: String, account: Int64, job kind: String
    ) throws -> ParticipantZone?
    func share(id: Int64) throws -> ShareRow?
    /// The live share whose URL ends in `guid`.
    func share(guid: String) throws -> ShareRow?
    /// The live share whose record has that name.
    func share(zone: ZoneKey, named name: String) throws -> ShareRow?
    /// The share of a root that was made last, whether or not it lives. An empty root is the whole zone.
    func lastShare(zone: ZoneKey, root: String) throws -> ShareRow?
    /// The live shares of a zone, in the order in which they were made.
    func shares(zone: ZoneKey, limit: Int) throws -> [ShareRow]

    /// A share's participants, ordered by when they were added and id.
    func participants(share: Int64) throws -> [ShareParticipantRow]
    /// The rows of an account: one that takes part has one.
    func participants(share: Int64, account: Int64) throws -> [ShareParticipantRow]
    /// The rows of an account in all shares, those that ended too, ordered by share and id.
    func participations(account: Int64, limit: Int) throws -> [ShareParticipantRow]
    /// The participant with that one-time GUID.
    func participant(oneTimeGUID: String) throws -> ShareParticipantRow?

    /// An account's memberships, former ones too, ordered by share.
    func memberships(account: Int64) throws -> [MembershipRow]
    /// The same in one zone.
    func memberships(account: Int64, zone: ZoneKey) throws -> [MembershipRow]
    /// The accounts that take part in a share.
    func members(share: Int64) throws -> [Int64]

    /// The change sequence of the last of an account's memberships that were purged; 0 if none was.
    func membershipsForgotten(account: Int64) throws -> Int64
    /// Whether `purgeSharedRecords` has something to remove, and `purgeShares`.
    func hasSharedRecord(goneBefore time: Int64) throws -> Bool
    func hasShare(endedBefore time: Int64) throws -> Bool

    /// Under which share a record is; nil for none.
    func sharedRecord(zone: ZoneKey, named name: String) throws -> SharedRecordRow?
    /// The record's row under one share, whether or not it is gone.
    func sharedRecord(zone: ZoneKey, named name: String, share: Int64) throws -> SharedRecordRow?
    /// The share's records, those that are gone too, that changed after `sequence`, in the order of their sequences.
    func sharedRecords(zone: ZoneKey, share: Int64, after sequence: Int64, limit: Int) throws -> [SharedRecordRow]
    /// The live records of a type under the share behind `name`, by name; those that make `size` bytes of fields, one at
    /// least.
    func liveSharedRecords(
        zone: ZoneKey, share: Int64, type: String, after name: String, limit: Int, size: Int
    ) throws -> [RecordRow]
    /// The sequence at which something under the share last changed; 0 if nothing ever did.
    func lastSharedSequence(zone: ZoneKey, share: Int64) throws -> Int64

    /// The zone with that key, whether or not it lives.
    func zone(_ key: ZoneKey) throws -> ZoneRow?
}

/// What a storage engine writes of shares.
package protocol ShareTransaction: ShareReader {
    /// Writes the share of that id, whether or not one exists.
    func put(_ share: ShareRow) throws
    /// Writes the participant of that share and id, whether or not one exists.
    func put(_ participant: ShareParticipantRow) throws
    func removeParticipant(share: Int64, id: String) throws
    /// Writes the membership of that account in that share, whether or not there is one.
    func put(_ membership: MembershipRow) throws
    /// Removes up to `limit` of an account's memberships, former ones too, and with the last of them what is kept of those
    /// that were purged. Returns how many it removed.
    func purgeMemberships(account: Int64, limit: Int) throws -> Int
    /// Writes the record's row under that share, whether or not there is one.
    func put(_ record: SharedRecordRow) throws
    /// Keeps that a record which left the share at `sequence` is under it again.
    func noteReentry(share: Int64, leftAt sequence: Int64) throws
    /// Removes up to `limit` rows of records that left their shares before `time` (milliseconds since 1970), the oldest
    /// first, and keeps in the shares up to which sequence it did. Returns how many it looked at.
    func purgeSharedRecords(goneBefore time: Int64, limit: Int) throws -> Int
    /// Removes up to `limit` rows of what a share held that ended before `time` (milliseconds since 1970); with the last of
    /// them its participants and memberships. The share itself stays if it is the last of a root that is there, as its URL does. Returns how
    /// many records' rows it removed.
    func purgeShares(endedBefore time: Int64, limit: Int) throws -> Int
}
