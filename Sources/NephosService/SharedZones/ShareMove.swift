import NephosStorage
import NephosWire

/// The move of a subtree that is too large for a commit. A background job places each record of the subtree under the
/// share that is current by then.
///
/// Meanwhile no participant gets excess access: while a zone has such a job, the records' parents decide an account's
/// access (`SharedZone.participation(of:)`), not their placement. So access ends with the commit that moves the
/// subtree; the feeds follow with the job.
struct ShareMove {
    let zone: ZoneKey
    /// The change sequence of the commit that moved the subtree.
    let sequence: Int64
    /// The names from the moved record down to the record whose children are being placed.
    private var path: [String]
    /// The name of the last placed child; nil before the first child.
    private var last: String?

    init(below name: String, in zone: ZoneKey, at sequence: Int64) {
        self.zone = zone
        self.sequence = sequence
        path = [name]
    }

    static func isUnderWay(in zone: ZoneKey, _ reader: StorageReader) throws -> Bool {
        try reader.hasJob(BackgroundJob.moveShared.rawValue, zone: zone)
    }

    // MARK: Encoding as a job

    /// The job that continues the move. In its subject each name follows its length, because names may contain any
    /// character.
    var job: JobRow {
        JobRow(
            kind: BackgroundJob.moveShared.rawValue, zone: zone,
            subject: "\(sequence):" + ([last ?? ""] + path).map { "\($0.utf8.count):\($0)" }.joined())
    }

    init?(_ job: JobRow) {
        var names: [String] = []
        var rest = Substring(job.subject)
        guard let end = rest.firstIndex(of: ":"), let sequence = Int64(rest[..<end]) else { return nil }
        rest = rest[rest.index(after: end)...]
        while let colon = rest.firstIndex(of: ":") {
            guard let count = Int(rest[..<colon]) else { return nil }
            let text = rest[rest.index(after: colon)...]
            guard count >= 0, let end = text.utf8.index(text.startIndex, offsetBy: count, limitedBy: text.endIndex)
            else {
                return nil
            }
            names.append(String(text[..<end]))
            rest = text[end...]
        }
        guard names.count > 1 else { return nil }
        zone = job.zone
        self.sequence = sequence
        last = names[0].isEmpty ? nil : names[0]
        path = Array(names.dropFirst())
    }

    // MARK: A step

    /// Examines at most `limit` records, and inserts a job for the remaining ones.
    /// - Parameter now: the present time, in milliseconds since 1970.
    func step(
        limit: Int, now: Int64, _ changes: SharedChanges, in transaction: StorageTransaction
    ) throws {
        var rest = self
        let hierarchy = StoredHierarchy(zone: zone, reader: transaction)
        // The share of each record in `path`.
        var shares = try rest.resume(hierarchy)
        for _ in 0..<limit {
            guard let parent = rest.path.last, let share = shares.last else { break }
            let child = try transaction.references(
                zone: zone, to: parent, kinds: [.parent], after: rest.last, limit: 1
            ).first?.source
            guard let child else {
                rest.last = rest.path.removeLast()
                shares.removeLast()
                continue
            }
            rest.last = child
            guard let row = try hierarchy.record(child), row.parent == parent else { continue }
            // Records below the root of another share belong to that share.
            if let own = try hierarchy.share(ofRoot: row), own.id != share { continue }
            if try transaction.sharedRecord(zone: zone, named: child)?.share != share {
                try SharedRecords.put(
                    child, under: share, zone: zone, at: now, leftAt: sequence, changes, in: transaction)
            }
            rest.path.append(child)
            rest.last = nil
            shares.append(share)
        }
        if !rest.path.isEmpty { try transaction.insert(rest.job) }
    }

    /// Shortens the path to before a subtree that was moved or shared meanwhile: the commit that did so places that
    /// subtree.
    /// - Returns: the share of each record in `path`.
    private mutating func resume(_ hierarchy: StoredHierarchy) throws -> [Int64?] {
        var shares: [Int64?] = [try hierarchy.share(over: path[0])]
        for index in path.indices.dropFirst() {
            let row = try hierarchy.record(path[index])
            let own = try row.flatMap { try hierarchy.share(ofRoot: $0) }
            guard row?.parent == path[index - 1], own == nil || own?.id == shares[index - 1] else {
                last = path[index]
                path.removeSubrange(index...)
                break
            }
            shares.append(shares[index - 1])
        }
        return shares
    }
}
