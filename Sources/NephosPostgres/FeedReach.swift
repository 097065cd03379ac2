import NephosStorage

/// How far a feed reaches in a snapshot.
struct FeedReach {
    /// Its last change up to which no other commit will show one any more.
    var complete: Int64
    /// Its last change that is committed.
    var newest: Int64
    /// The first sequence that a commit may still show.
    var below: Int64

    /// - Parameter column: the first of three.
    init(_ result: PostgresLink.Result, from column: Int) {
        complete = PostgresStatement.integer(result, 0, column)
        newest = PostgresStatement.integer(result, 0, column + 1)
        below = PostgresStatement.integer(result, 0, column + 2)
    }
}

/// What a read waits for: that its feeds are complete up to what was committed when it began, whichever server wrote it.
///
/// A feed without a change beyond the horizon is complete, and waits for nothing. Others wait for the changes that their
/// first snapshot shows, not for those that come while they do.
struct HorizonWait: Sendable {
    /// Whether it took long enough: feeds then end where they are complete.
    var isOver = false
    /// The change up to which each feed has to be complete.
    private var goals: [[Int64]: Int64] = [:]

    /// - Parameter feed: tells feeds apart.
    mutating func wants(more reach: FeedReach, of feed: [Int64]) -> Bool {
        if isOver { return false }
        if let goal = goals[feed] { return goal >= reach.below }
        guard reach.newest > 0, reach.newest >= reach.below else { return false }
        goals[feed] = reach.newest
        return true
    }
}

extension PostgresConnection {
    func knownCompletion(of zone: ZoneKey) throws -> Int64? {
        guard let reach = reaches[zone] else { return nil }
        try check(reach, of: [Int64(SQL.lastSequenceOfZone.rawValue), zone.owner.rawValue, zone.id, .max])
        return reach.complete
    }

    /// Keeps how far a zone is complete that was looked up for its feed, and has the read wait where it asks for a feed that is
    /// not complete.
    func noteReach(_ result: PostgresLink.Result, of statement: PostgresStatement) throws {
        guard result.rows > 0 else { return }
        if statement.sql == .zoneByName, expectsFeeds, let owner = statement.integers.first {
            let zone = ZoneKey(owner: OwnerID(rawValue: owner), id: PostgresStatement.integer(result, 0, 0))
            reaches[zone] = FeedReach(result, from: PostgresSQL.zoneColumnCount)
        } else if PostgresSQL.reaches.contains(statement.sql) {
            try check(
                FeedReach(result, from: 0), of: [Int64(statement.sql.rawValue)] + statement.integers)
        }
    }

    private func check(_ reach: FeedReach, of feed: [Int64]) throws {
        guard mode == .reading, horizonWait.wants(more: reach, of: feed) else { return }
        again = .horizon
        throw StorageError(.busy, "a feed is not complete yet")
    }

    /// Events of changes that feeds do not show yet are left out; a read waits for those of writes that were answered here.
    func runEvents(_ statement: Queued) throws -> PostgresLink.Result? {
        guard answered > 0, mode == .reading, !horizonWait.isOver else { return try perform([statement]).last }
        let results = try perform([query("horizon", PostgresSQL.horizon, needsStore: true), statement])
        if let first = results.first, PostgresStatement.integer(first, 0, 0) <= answered {
            again = .horizon
            throw StorageError(.busy, "what was answered before is not complete yet")
        }
        return results.last
    }
}
