extension SQL {
    /// The statements that purge ended shares and the departed records of shares.
    var shareExpiryText: String? {
        switch self {
        case .expiredSharedRecords:
            """
            SELECT owner, zone, name, share, sequence FROM shared_record
            WHERE \(Self.ofStore()) AND gone_at > 0 AND gone_at < $1 ORDER BY gone_at LIMIT $2
            """
        case .removeSharedRecord:
            """
            DELETE FROM shared_record WHERE owner = $1 AND zone = $2 AND name = $3 AND share = $4 AND sequence = $5
                AND gone_at > 0
            """
        case .noteSharePurge:
            """
            UPDATE share SET purged_until = $1 WHERE \(Self.ofStore()) AND id = $2 AND purged_until < $3
            """
        case .noteReentry:
            """
            UPDATE share SET reentered_at = $1 WHERE \(Self.ofStore()) AND id = $2 AND reentered_at < $3
            """

        case .expiredShares:
            """
            SELECT id, owner, zone, root, ended_at FROM share
            WHERE \(Self.ofStore()) AND ended_time > 0 AND ended_time < $1 ORDER BY ended_time LIMIT 1
            """
        case .removeSharedRecords:
            """
            DELETE FROM shared_record WHERE owner = $1 AND zone = $2 AND share = $3 AND name IN (
                SELECT name FROM shared_record WHERE owner = $1 AND zone = $2 AND share = $3 ORDER BY sequence LIMIT $4)
            """
        case .removeParticipants: "DELETE FROM share_participant WHERE \(Self.ofStore("store")) AND share = $1"
        case .forgetMembershipsOfShare:
            """
            INSERT INTO forgotten_membership (account, sequence) SELECT account, $1 FROM membership
            WHERE \(Self.ofStore("account")) AND share = $2
            ON CONFLICT (account) DO UPDATE SET sequence = excluded.sequence
            WHERE forgotten_membership.sequence < excluded.sequence
            """
        case .removeMemberships: "DELETE FROM membership WHERE \(Self.ofStore("account")) AND share = $1"
        case .removeShare: "DELETE FROM share WHERE \(Self.ofStore()) AND id = $1"
        case .keepShare: "UPDATE share SET ended_time = 0, purged_until = ended_at WHERE \(Self.ofStore()) AND id = $1"
        case .forgottenMemberships: "SELECT sequence FROM forgotten_membership WHERE account = $1"
        default: nil
        }
    }
}

extension StorageReader {
    /// The change sequence of the account's last purged membership; 0 if none was purged.
    package final func membershipsForgotten(account: Int64) throws -> Int64 {
        try row(.forgottenMemberships, bind: { try $0.bind(owner: account) }, read: { $0.integer(0) }) ?? 0
    }

    /// Whether `purgeSharedRecords` has rows to remove. The next method answers the same for `purgeShares`.
    package final func hasSharedRecord(goneBefore time: Int64) throws -> Bool {
        try row(.expiredSharedRecords, bind: { try $0.bind(time).bind(limit: 1) }, read: { _ in true }) ?? false
    }

    package final func hasShare(endedBefore time: Int64) throws -> Bool {
        try row(.expiredShares, bind: { try $0.bind(time) }, read: { _ in true }) ?? false
    }

    /// Whether the zone has a job of that kind.
    package final func hasJob(_ kind: String, zone: ZoneKey) throws -> Bool {
        try row(.anyJob, bind: { try $0.bind(zone).bind(kind) }, read: { _ in true }) ?? false
    }
}

extension StorageTransaction {
    /// Records that a record which left the share at `sequence` has re-entered it.
    package func noteReentry(share: Int64, leftAt sequence: Int64) throws {
        try change(.noteReentry) { try $0.bind(sequence).bind(share).bind(sequence) }
    }

    /// Removes up to `limit` rows of records that left their shares before `time` (in milliseconds since 1970), the
    /// oldest first. Stores the last purged sequence in each share.
    /// - Returns: the number of examined rows.
    package func purgeSharedRecords(goneBefore time: Int64, limit: Int) throws -> Int {
        let expired = try rows(.expiredSharedRecords) {
            try $0.bind(time).bind(limit: limit)
        } read: { row in
            (
                zone: ZoneKey(row, at: 0), name: row.text(2),
                share: row.integer(3), sequence: row.integer(4)
            )
        }
        let own = ofOneOwner(expired, \.zone)
        sharedRows.removeAll()
        var ends: [Int64: Int64] = [:]
        for row in own {
            ends[row.share] = max(ends[row.share] ?? 0, row.sequence)
            try change(.removeSharedRecord) {
                try $0.bind(row.zone).bind(row.name).bind(row.share).bind(row.sequence)
            }
        }
        for (share, end) in ends { try change(.noteSharePurge) { try $0.bind(end).bind(share).bind(end) } }
        return own.count
    }

    /// Removes up to `limit` rows of records under shares that ended before `time` (in milliseconds since 1970). Once a
    /// share has no such rows left, its participants and memberships are removed too. The share's own row stays if it
    /// is the last share of an existing root record, because the root keeps the share's URL.
    /// - Returns: the number of removed rows.
    package func purgeShares(endedBefore time: Int64, limit: Int) throws -> Int {
        let expired = try row(.expiredShares) {
            try $0.bind(time)
        } read: { row in
            (
                id: row.integer(0), zone: ZoneKey(row, at: 1),
                root: row.text(3), endedAt: row.integer(4)
            )
        }
        guard let share = expired else { return 0 }
        sharedRows.removeAll()
        let removed = try change(.removeSharedRecords) {
            try $0.bind(share.zone).bind(share.id).bind(limit: limit)
        }
        if removed >= limit { return removed }
        try change(.removeParticipants) { try $0.bind(share.id) }
        try change(.forgetMembershipsOfShare) { try $0.bind(share.endedAt).bind(share.id) }
        try change(.removeMemberships) { try $0.bind(share.id) }
        // The root record keeps the URL of its last share.
        let isLast = try lastShare(zone: share.zone, root: share.root)?.id == share.id
        let hasRoot =
            try share.root.isEmpty || record(zone: share.zone, named: share.root).map { !$0.isDeleted } ?? false
        try change(isLast && hasRoot ? .keepShare : .removeShare) { try $0.bind(share.id) }
        return removed
    }
}
