import NephosStorage
import NephosWire

/// The change feed of a zone for an account that participates in shares of the zone. The feed is read share after
/// share:
///
/// - after joining a share, the account gets the whole share, regardless of sequences;
/// - a record that moved out of a share is reported as a deletion, and so is each record that was under a share when
///   the account left it: names of later records are never revealed;
/// - a record that moved between two shares of the account is not reported as a deletion.
struct SharedZoneFeed {
    let zone: SharedZone
    let reader: StorageReader
    /// The end of each share when the fetch began; nil for the first page of a fetch. A share that the account joined
    /// since then belongs to the next fetch.
    var fetchEnd: SharedZoneToken?

    /// A change that a page reports.
    enum Change {
        case changed(RecordRow)
        case deleted(name: String, type: String)
    }

    struct Page {
        var changes: [Change] = []
        var token: SharedZoneToken
        var hasMore = false
    }

    /// The change token of an account that has fetched all changes.
    func currentToken(_ strings: TokenCodec) throws -> String { try end().text(strings) }

    /// The position of the account at the end of the feed.
    func end() throws -> SharedZoneToken {
        let positions = try zone.participations.map { part -> SharedZoneToken.Position in
            let end = try end(of: part)
            return SharedZoneToken.Position(
                share: part.share.id, joined: part.joined, sequence: end, deletionsKnown: end)
        }
        return SharedZoneToken(zone: zone.zone.key.id, positions: positions)
    }

    /// The change sequence of the last change that the account can see.
    func lastChange() throws -> Int64 {
        try zone.participations.reduce(0) { max($0, $1.joined, try end(of: $1)) }
    }

    /// The change sequence up to which departures from the share were purged.
    private func purgedUntil(_ part: Participation) -> Int64 {
        part.share.isZoneWide ? zone.zone.purgedUntil : part.share.purgedUntil
    }

    private func end(of part: Participation) throws -> Int64 {
        let end =
            part.share.isZoneWide
            ? try reader.completeUpTo(zone: zone.zone.key)
            : try reader.lastSharedSequence(zone: zone.zone.key, share: part.share.id)
        return min(end, fetchEnd?.position(of: part)?.sequence ?? .max)
    }

    /// Reads a page of the feed.
    /// - Parameters:
    ///   - token: the end of the last page; nil for the beginning of the feed.
    ///   - memberships: the account's memberships in the zone, including ended ones.
    /// - Throws: `changeTokenExpired` for a token of another zone, for a token from before the account left and joined
    ///   again, and for a token older than purged departures.
    func page(
        after token: SharedZoneToken?, former memberships: [MembershipRow], limit: Int, budget answer: inout PageBudget
    ) throws -> Page {
        var token = token ?? SharedZoneToken(zone: zone.zone.key.id)
        guard token.zone == zone.zone.key.id else { throw ServiceError.changeTokenExpired }
        for position in token.positions {
            let part = zone.participation(in: position.share)
            if let part, part.joined != position.joined || position.deletionsKnown < purgedUntil(part) {
                throw ServiceError.changeTokenExpired
            }
        }
        answer.beginFeed()
        var budget = answer
        defer { answer = budget }
        var page = Page(token: token)
        let gone = token.positions.filter { zone.participation(in: $0.share) == nil }
        for position in gone {
            guard try readDeparture(position, memberships, limit, &page, &budget, &token) else {
                page.hasMore = true
                token.seen = try lastChange()
                page.token = token
                return page
            }
        }
        let parts = zone.participations.filter { fetchEnd == nil || fetchEnd?.position(of: $0) != nil }
        for part in parts.sorted(by: { $0.share.id < $1.share.id }) {
            guard try read(part, limit, &page, &budget, &token) else {
                page.hasMore = true
                break
            }
        }
        token.seen = page.hasMore ? try lastChange() : 0
        page.token = token
        return page
    }

    // MARK: - Shares in which the account participates

    /// Reads the next changes of a share.
    /// - Returns: whether the end of the share was reached.
    private func read(
        _ part: Participation, _ limit: Int, _ page: inout Page, _ budget: inout PageBudget,
        _ token: inout SharedZoneToken
    ) throws -> Bool {
        let end = try end(of: part)
        let index = position(of: part, end: end, in: &token)
        let known = token[index].deletionsKnown
        defer { token[index].deletionsKnown = max(known, token[index].sequence) }
        while token[index].sequence < end {
            let wanted = min(limit - page.changes.count, budget.rows)
            guard wanted > 0, budget.size > 0 else { return false }
            let sequence = token[index].sequence
            let rows =
                part.share.isZoneWide
                ? try zoneRows(after: sequence, wanted, budget.size, known: known)
                : try shareRows(after: sequence, wanted, part, known: known)
            for row in rows.rows {
                if row.sequence > end {
                    // The changes after the end are not complete yet.
                    token[index].sequence = end
                    break
                }
                budget.rows -= 1
                token[index].sequence = row.sequence
                guard let change = row.change else { continue }
                page.changes.append(change)
                if case .changed(let record) = change { budget.size -= record.fields.count }
                if budget.size <= 0 { break }
            }
            if rows.rows.isEmpty || rows.isAtEnd && token[index].sequence == rows.rows.last?.sequence {
                token[index].sequence = max(end, token[index].sequence)
            }
        }
        return true
    }

    /// The index of a share's position in the token. The position is added if the token has none.
    private func position(of part: Participation, end: Int64, in token: inout SharedZoneToken) -> Int {
        token.index(ofShare: part.share.id) {
            .init(
                share: part.share.id, joined: part.joined, sequence: 0,
                deletionsKnown: max(end, part.joined, purgedUntil(part)))
        }
    }

    private typealias Rows = (rows: [(sequence: Int64, change: Change?)], isAtEnd: Bool)

    private func zoneRows(after sequence: Int64, _ limit: Int, _ size: Int, known: Int64) throws -> Rows {
        let records = try reader.records(zone: zone.zone.key, after: sequence, limit: limit, size: size)
        let rows = records.map { record -> (sequence: Int64, change: Change?) in
            if !record.isDeleted { return (record.sequence, .changed(record)) }
            // Deletions from before the device's first fetch are omitted, because the device never had these records.
            let isNews = record.sequence > known
            return (record.sequence, isNews ? .deleted(name: record.name, type: record.type) : nil)
        }
        return (rows, false)
    }

    private func shareRows(
        after sequence: Int64, _ limit: Int, _ part: Participation, known: Int64
    ) throws -> Rows {
        let shared = try reader.sharedRecords(
            zone: zone.zone.key, share: part.share.id, after: sequence, limit: limit)
        let rows = try shared.map { row -> (sequence: Int64, change: Change?) in
            if row.isGone {
                guard row.sequence > known, row.leftAt > part.joined, try !mayFetch(row.name) else {
                    return (row.sequence, nil)
                }
                return (row.sequence, .deleted(name: row.name, type: row.type))
            }
            // A running move has taken the record out of the share but has not reached it. It becomes a deletion later.
            guard let record = try reader.record(zone: zone.zone.key, named: row.name), !record.isDeleted,
                try !zone.hasMoves || zone.mayRead(row.name, reader)
            else { return (row.sequence, nil) }
            return (row.sequence, .changed(record))
        }
        return (rows, shared.count < limit)
    }

    /// Whether the account reads the record by any share. A zone-wide share includes every name, deleted records' too.
    private func mayFetch(_ name: String) throws -> Bool {
        guard try zone.mayRead(name, reader) else { return false }
        return try zone.zoneWide == nil || reader.record(zone: zone.zone.key, named: name)?.isDeleted == false
    }

    // MARK: - Shares that the account left

    /// Whether a device may have a record of a share that the device's account left.
    private func isNews(_ row: SharedRecordRow, _ position: SharedZoneToken.Position) -> Bool {
        !row.isGone || row.sequence > position.deletionsKnown && row.leftAt > position.joined
    }

    /// Reports the records that were under a share when the account left it as deletions.
    /// - Returns: whether all were reported. The token then no longer has the share.
    private func readDeparture(
        _ position: SharedZoneToken.Position, _ memberships: [MembershipRow], _ limit: Int, _ page: inout Page,
        _ budget: inout PageBudget, _ token: inout SharedZoneToken
    ) throws -> Bool {
        guard let membership = memberships.first(where: { $0.share == position.share }),
            membership.joined == position.joined, membership.left > 0, let share = try reader.share(id: position.share),
            !share.isZoneWide, position.deletionsKnown >= max(share.purgedUntil, share.reenteredAt),
            let index = token.positions.firstIndex(of: position)
        else {
            // Without the membership and all later departures, the records that the account saw are unknown.
            throw ServiceError.changeTokenExpired
        }
        // While a departure is read, the position in the token is the negated sequence of the last row read.
        var sequence = min(0, position.sequence)
        while true {
            let wanted = min(limit - page.changes.count, budget.rows)
            guard wanted > 0 else {
                token[index].sequence = sequence == 0 ? -1 : sequence
                return false
            }
            let rows = try reader.sharedRecords(
                zone: zone.zone.key, share: position.share, after: -sequence, limit: wanted)
            for row in rows {
                budget.rows -= 1
                sequence = -row.sequence
                guard row.entered <= membership.left, isNews(row, position), try !mayFetch(row.name) else { continue }
                page.changes.append(.deleted(name: row.name, type: row.type))
            }
            if rows.count < wanted {
                token.remove(token[index])
                return true
            }
        }
    }
}
