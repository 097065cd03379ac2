extension StorageReader {
    // MARK: Shares

    package final func share(id: Int64) throws -> ShareRow? {
        try row(.shareByID, bind: { try $0.bind(id) }, read: { ShareRow($0) })
    }

    /// The live share whose URL ends in `guid`; nil if there is none.
    package final func share(guid: String) throws -> ShareRow? {
        try row(.shareByGUID, bind: { try $0.bind(guid) }, read: { ShareRow($0) })
    }

    /// The live share whose share record has that name; nil if there is none.
    package final func share(zone: ZoneKey, named name: String) throws -> ShareRow? {
        try row(.shareByName, bind: { try $0.bind(zone).bind(name) }, read: { ShareRow($0) })
    }

    /// The newest share of a root record, live or ended; nil if there is none. An empty root stands for the whole zone.
    package final func lastShare(zone: ZoneKey, root: String) throws -> ShareRow? {
        try row(.lastShareOfRoot, bind: { try $0.bind(zone).bind(root) }, read: { ShareRow($0) })
    }

    /// The live shares of a zone, in the order of their creation: at most `limit`.
    package final func shares(zone: ZoneKey, limit: Int) throws -> [ShareRow] {
        try rows(.sharesOfZone, bind: { try $0.bind(zone).bind(limit: limit) }, read: { ShareRow($0) })
    }

    // MARK: Participants and memberships

    /// The participants of a share, ordered by the time at which they were added, then by ID.
    package final func participants(share: Int64) throws -> [ShareParticipantRow] {
        // A share has few participants, so sorting them costs less than an index in their order.
        try rows(.participantsOfShare, bind: { try $0.bind(share) }, read: { ShareParticipantRow($0) })
            .sorted { ($0.addedAt, $0.id) < ($1.addedAt, $1.id) }
    }

    /// The rows of an account among a share's participants. A member has one row.
    package final func participants(share: Int64, account: Int64) throws -> [ShareParticipantRow] {
        try rows(
            .participantsOfAccount, bind: { try $0.bind(share).bind(owner: account) }, read: { ShareParticipantRow($0) }
        )
    }

    /// The participant whose one-time URL ends in that GUID; nil if there is none.
    package final func participant(oneTimeGUID: String) throws -> ShareParticipantRow? {
        try row(.participantByGUID, bind: { try $0.bind(oneTimeGUID) }, read: { ShareParticipantRow($0) })
    }

    /// The memberships of an account, including former ones, ordered by share.
    package final func memberships(account: Int64) throws -> [MembershipRow] {
        try rows(.membershipsOfAccount, bind: { try $0.bind(owner: account) }, read: { MembershipRow($0) })
    }

    /// The memberships of an account in shares of one zone.
    package final func memberships(account: Int64, zone: ZoneKey) throws -> [MembershipRow] {
        try rows(.membershipsInZone, bind: { try $0.bind(owner: account).bind(zone) }, read: { MembershipRow($0) })
    }

    /// The membership of an account in a share, even a former one; nil if there is none.
    package final func membership(account: Int64, share: Int64) throws -> MembershipRow? {
        try row(.membershipInShare, bind: { try $0.bind(owner: account).bind(share) }, read: { MembershipRow($0) })
    }

    /// Whether an account is a current member of a share of the zone.
    package final func isMember(account: Int64, zone: ZoneKey) throws -> Bool {
        try row(.liveMembershipInZone, bind: { try $0.bind(owner: account).bind(zone) }, read: { _ in true }) ?? false
    }

    /// The number of shares of which an account is a current member.
    package final func membershipCount(account: Int64) throws -> Int {
        try row(.countMemberships, bind: { try $0.bind(owner: account) }, read: { Int($0.integer(0)) }) ?? 0
    }

    /// The accounts that are current members of a share.
    package final func members(share: Int64) throws -> [Int64] {
        try rows(.membersOfShare, bind: { try $0.bind(share) }, read: { $0.owner(0) })
    }

    /// The live zone with that name, owned by the live account with that user record name, and the rows that determine
    /// the caller's access to the zone. Nil if the zone does not exist or the account does not participate in it. Costs
    /// one round trip.
    package final func participantZone(
        named name: String, owner userRecordName: String, account: Int64, job kind: String
    ) throws -> ParticipantZone? {
        guard type(of: connection).isRemote else {
            return try participantZoneInSteps(named: name, owner: userRecordName, account: account, job: kind)
        }
        return try run(.participantZone) { statement in
            try statement.bind(kind).bind(userRecordName).bind(name).bind(owner: account)
            var found: ParticipantZone?
            while try statement.step() {
                let owner = AccountRow(statement)
                let zone = ZoneRow(owner: owner.owner, statement, at: 3)
                var result =
                    found ?? ParticipantZone(owner: owner, zone: zone, hasJob: statement.integer(11) != 0, parts: [])
                let membership = MembershipRow(statement, at: 12)
                let participant = ShareParticipantRow(statement, at: 30)
                if result.parts.last?.share.id == membership.share {
                    result.parts[result.parts.count - 1].participants.append(participant)
                } else {
                    result.parts.append(
                        ParticipantZone.Part(
                            membership: membership, share: ShareRow(statement, at: 18), participants: [participant]))
                }
                found = result
            }
            return found
        }
    }

    /// Returns the same result by several statements, for engines in which a statement costs no round trip.
    private final func participantZoneInSteps(
        named name: String, owner userRecordName: String, account: Int64, job kind: String
    ) throws -> ParticipantZone? {
        guard let owner = try self.account(userRecordName: userRecordName), !owner.isDeleted,
            let zone = try zone(owner: owner.owner, named: name)
        else { return nil }
        let parts = try memberships(account: account, zone: zone.key).compactMap { membership in
            try share(id: membership.share).map {
                ParticipantZone.Part(
                    membership: membership, share: $0, participants: try participants(share: $0.id, account: account))
            }
        }.filter { !$0.participants.isEmpty }
        if parts.isEmpty { return nil }
        return ParticipantZone(owner: owner, zone: zone, hasJob: try hasJob(kind, zone: zone.key), parts: parts)
    }

    // MARK: Shared records

    /// The maximum number of rows that `expectSharedRecords` reads.
    private static let sharedRowsExpected = 2000

    /// Announces that the rows of records with these names are looked up, under their current and former shares. A remote
    /// engine reads them in one round trip.
    package final func expectSharedRecords(zone: ZoneKey, named names: some Sequence<String>) throws {
        guard type(of: connection).isRemote else { return }
        let names = names.filter { knownSharedRows(zone: zone, named: $0) == nil }
        if names.isEmpty { return }
        let found = try rows(.sharedRecordsByNames) {
            try $0.bind(zone).bind(names).bind(limit: Self.sharedRowsExpected)
        } read: {
            SharedRecordRow($0)
        }
        // If the limit left out rows, they are looked up one by one.
        if found.count == Self.sharedRowsExpected { return }
        for name in names { sharedRows[RecordPlace(zone: zone, name: Array(name.utf8))] = [] }
        for row in found { sharedRows[RecordPlace(zone: zone, name: Array(row.name.utf8))]?.append(row) }
    }

    private final func knownSharedRows(zone: ZoneKey, named name: String) -> [SharedRecordRow]? {
        sharedRows.isEmpty ? nil : sharedRows[RecordPlace(zone: zone, name: Array(name.utf8))]
    }

    /// The row of a record under its current share; nil if the record is under no share.
    package final func sharedRecord(zone: ZoneKey, named name: String) throws -> SharedRecordRow? {
        if let rows = knownSharedRows(zone: zone, named: name) { return rows.first { $0.goneAt == 0 } }
        if let row = expectedShare(zone: zone, named: name) { return row }
        return try row(.sharedRecordByName, bind: { try $0.bind(zone).bind(name) }, read: { SharedRecordRow($0) })
    }

    /// The row of a record under one share, even if the record has left the share; nil if there is none.
    package final func sharedRecord(zone: ZoneKey, named name: String, share: Int64) throws -> SharedRecordRow? {
        if let rows = knownSharedRows(zone: zone, named: name) { return rows.first { $0.share == share } }
        return try row(
            .sharedRecordUnder, bind: { try $0.bind(zone).bind(name).bind(share) }, read: { SharedRecordRow($0) })
    }

    /// The current and departed records of a share that changed after `sequence`, ordered by sequence.
    package final func sharedRecords(
        zone: ZoneKey, share: Int64, after sequence: Int64, limit: Int
    ) throws -> [SharedRecordRow] {
        try rows(.sharedRecordsAfter) {
            try $0.bind(zone).bind(share).bind(sequence).bind(limit: limit)
        } read: {
            SharedRecordRow($0)
        }
    }

    /// The live records of one type under a share, with names after `name`, ordered by name. The page ends when their
    /// fields reach `size` bytes, but has at least one record.
    package final func liveSharedRecords(
        zone: ZoneKey, share: Int64, type: String, after name: String, limit: Int, size: Int
    ) throws -> [RecordRow] {
        try run(.liveSharedRecords) { statement in
            try statement.bind(zone).bind(share).bind(type).bind(name).bind(limit: limit)
            if Swift.type(of: connection).isRemote { try statement.bind(limit: size) }
            var records: [RecordRow] = []
            var left = size
            while left > 0, try statement.step() {
                let record = visited(zone, statement)
                left -= record.fields.count
                records.append(record.row)
            }
            return records
        }
    }

    /// The sequence of the last change under the share; 0 if there is none.
    package final func lastSharedSequence(zone: ZoneKey, share: Int64) throws -> Int64 {
        try row(.lastSharedSequence) {
            try $0.bind(zone).bind(share)
        } read: {
            $0.integer(0)
        } ?? 0
    }

    /// The live or deleted zone with that key; nil if there is none.
    package final func zone(_ key: ZoneKey) throws -> ZoneRow? {
        try row(.zoneByID, bind: { try $0.bind(key) }, read: { ZoneRow(owner: key.owner, $0) })
    }
}

extension StorageTransaction {
    /// Inserts the share, or replaces the share with the same ID.
    package func put(_ share: ShareRow) throws {
        try change(.putShare) {
            try $0.bind(share.id).bind(share.zone).bind(share.name).bind(share.root).bind(share.guid)
                .bind(share.endedAt).bind(share.publicPermission).bind(share.allowsRequests ? 1 : 0)
                .bind(share.endedTime).bind(share.purgedUntil).bind(share.reenteredAt)
        }
    }

    /// Inserts the participant, or replaces the one with the same share and ID.
    package func put(_ participant: ShareParticipantRow) throws {
        try change(.putParticipant) {
            try $0.bind(participant.share).bind(participant.id).bind(account: participant.account)
                .bind(participant.address)
                .bind(participant.role).bind(participant.permission).bind(participant.status)
                .bind(participant.addedAt).bind(participant.oneTimeGUID)
                .bind(participant.isApprovedRequester ? 1 : 0)
        }
    }

    package func removeParticipant(share: Int64, id: String) throws {
        try change(.removeParticipant) { try $0.bind(share).bind(id) }
    }

    /// Inserts the membership, or replaces the one of the same account and share.
    package func put(_ membership: MembershipRow) throws {
        try change(.putMembership) {
            try $0.bind(owner: membership.account).bind(membership.share).bind(membership.zone).bind(membership.joined)
                .bind(membership.left)
        }
    }

    /// Inserts the row, or replaces the row of the same record and share.
    package func put(_ record: SharedRecordRow) throws {
        sharedRows[RecordPlace(zone: record.zone, name: Array(record.name.utf8))] = nil
        try change(.putSharedRecord) {
            try $0.bind(record.zone).bind(record.name).bind(record.share).bind(record.type).bind(record.entered)
                .bind(record.sequence).bind(record.goneAt).bind(record.leftAt)
        }
    }
}

extension StorageTransaction {
    /// Removes up to `limit` rows of shared records in a deleted zone.
    /// - Returns: the number of removed rows.
    func purgeSharedRecords(zone: ZoneKey, limit: Int) throws -> Int {
        sharedRows.removeAll()
        return try change(.purgeSharedRecords) { try $0.bind(zone).bind(limit: limit) }
    }

    /// Removes the shares of an expired zone, and their participants. The zone was deleted at `sequence`.
    func purgeShares(zone: ZoneKey, deletedAt sequence: Int64) throws {
        try change(.forgetMemberships) { try $0.bind(sequence).bind(zone) }
        for statement in [SQL.purgeParticipants, .purgeMemberships, .purgeShares] {
            try change(statement) { try $0.bind(zone) }
        }
    }
}

extension ShareRow {
    init(_ row: any SQLStatement, at start: Int = 0) {
        self.init(
            id: row.integer(start + 0), zone: ZoneKey(row, at: start + 1), name: row.text(start + 3),
            root: row.text(start + 4), guid: row.text(start + 5),
            endedAt: row.integer(start + 6), publicPermission: row.integer(start + 7),
            allowsRequests: row.integer(start + 8) != 0,
            endedTime: row.integer(start + 9), purgedUntil: row.integer(start + 10),
            reenteredAt: row.integer(start + 11))
    }
}

extension ShareParticipantRow {
    init(_ row: any SQLStatement, at start: Int = 0) {
        self.init(
            share: row.integer(start + 0), id: row.text(start + 1), account: row.owner(start + 2),
            address: row.text(start + 3),
            role: row.integer(start + 4), permission: row.integer(start + 5), status: row.integer(start + 6),
            addedAt: row.integer(start + 7),
            oneTimeGUID: row.text(start + 8), isApprovedRequester: row.integer(start + 9) != 0)
    }
}

extension MembershipRow {
    init(_ row: any SQLStatement, at start: Int = 0) {
        self.init(
            account: row.owner(start + 0), share: row.integer(start + 1), zone: ZoneKey(row, at: start + 2),
            joined: row.integer(start + 4),
            left: row.integer(start + 5))
    }
}

extension SharedRecordRow {
    init(_ row: any SQLStatement, at start: Int = 0) {
        self.init(
            zone: ZoneKey(row, at: start + 0), share: row.integer(start + 3), name: row.text(start + 2),
            type: row.text(start + 4),
            entered: row.integer(start + 5), sequence: row.integer(start + 6), leftAt: row.integer(start + 8),
            goneAt: row.integer(start + 7))
    }
}

extension ZoneKey {
    /// Reads the owner from the column `column`, and the zone's ID from the next one.
    init(_ row: any SQLStatement, at column: Int) {
        self.init(owner: OwnerID(rawValue: row.owner(column)), id: row.integer(column + 1))
    }
}
