import NephosStorage
import NephosWire
import Synchronization

/// The quotas of the bytes of records per database. A database is measured after a 64th of its quota was written to it, so
/// a save costs no statement for its quota. A database exceeds its quota by at most about a 64th per server and start. A
/// full database is measured again after a deletion, and after a refusal, every `fullRecheck` at most.
///
/// Times are those of the store's clock, which over PostgreSQL is the database's.
final class RecordQuota: Sendable {
    /// The bytes that count for a record or tombstone besides its fields and name, for a zone besides its name and change
    /// token, and for a key besides its content.
    static let rowOverhead: Int64 = 100
    /// The time in milliseconds after which a full database is measured again, as its user may have deleted records.
    static let fullRecheck: Int64 = 10_000
    private static let knownDatabases = 10_000

    private struct Usage {
        /// The measured bytes; nil before the first measurement.
        var measured: Int64?
        var measuredAt = Int64.min / 2
        /// The bytes of the saves since the measurement began.
        var written: Int64 = 0
        var isMeasured = false
        /// Whether a full database may have become smaller since the last measurement began.
        var isStale = false
    }

    /// What a caller does after it noted saves.
    struct Due {
        /// The owners whose databases are to be measured now.
        var owners: [OwnerID] = []
        /// When to call `recheck`; nil for not.
        var recheckAt: Int64?
    }

    private let privateLimit: Int64?
    private let publicLimit: Int64?
    private let usages = Mutex<[OwnerID: Usage]>([:])

    /// - Parameters:
    ///   - privateLimit: the bytes of a private database; nil for no limit.
    ///   - publicLimit: the bytes of the public database; nil for no limit.
    init(privateLimit: Int64?, publicLimit: Int64?) {
        self.privateLimit = privateLimit
        self.publicLimit = publicLimit
    }

    private func limit(of owner: OwnerID) -> Int64? { owner == .everyone ? publicLimit : privateLimit }

    /// The refusal of saves that make a database larger; nil while it has quota left.
    func refusal(of owner: OwnerID) -> ServiceError? {
        guard let limit = limit(of: owner), usages.withLock({ $0[owner]?.measured ?? 0 }) >= limit else { return nil }
        return .recordQuotaExceeded(limit: limit)
    }

    /// Notes what committed requests wrote and deleted.
    /// - Parameters:
    ///   - freed: the owners of databases that were made smaller.
    ///   - full: the owners of saves that were refused.
    func note(_ written: [OwnerID: Int64], freed: Set<OwnerID>, full: Set<OwnerID>, at now: Int64) -> Due {
        if privateLimit == nil, publicLimit == nil { return Due() }
        return usages.withLock { usages in
            if usages.count > Self.knownDatabases {
                usages = usages.filter { $0.value.isMeasured || $0.value.measured ?? 0 >= limit(of: $0.key) ?? .max }
            }
            for (owner, bytes) in written { usages[owner, default: Usage()].written += bytes }
            for owner in freed where usages[owner]?.measured ?? 0 >= limit(of: owner) ?? .max {
                usages[owner]?.isStale = true
            }
            return due(full.union(written.keys).union(freed), full: full, at: now, &usages)
        }
    }

    /// Returns what is due of databases from which something was deleted.
    func recheck(at now: Int64) -> Due {
        usages.withLock { usages in
            due(Set(usages.filter(\.value.isStale).keys), full: [], at: now, &usages)
        }
    }

    private func due(
        _ owners: Set<OwnerID>, full: Set<OwnerID>, at now: Int64, _ usages: inout [OwnerID: Usage]
    ) -> Due {
        var due = Due()
        for owner in owners {
            guard let limit = limit(of: owner), var usage = usages[owner], !usage.isMeasured else { continue }
            let recheckAt = usage.measuredAt + Self.fullRecheck
            let isDue = usage.written > limit / 64 || (usage.isStale || full.contains(owner)) && recheckAt <= now
            if isDue {
                (usage.isMeasured, usage.isStale, usage.written, usage.measuredAt) = (true, false, 0, now)
                usages[owner] = usage
                due.owners.append(owner)
            } else if usage.isStale {
                due.recheckAt = min(due.recheckAt ?? .max, recheckAt)
            }
        }
        return due
    }

    /// Ends a measurement.
    /// - Parameter bytes: what was measured; nil if the measurement failed.
    func measured(_ bytes: Int64?, of owner: OwnerID) {
        usages.withLock { usages in
            usages[owner]?.isMeasured = false
            if let bytes { usages[owner]?.measured = bytes }
        }
    }

    /// The bytes of the keys that a request brings, about.
    static func size(of request: PutGroupKeyRequest) -> Int64 {
        let keys = request.records.reduce(request.boxes.count + 1) { $0 + $1.keys.count }
        return Int64(keys) * (rowOverhead + Int64(Limits.wrappedRecordKeySize))
    }

    static func size(of zone: ZoneRow) -> Int64 {
        rowOverhead + Int64(zone.name.utf8.count + (zone.clientChangeToken?.utf8.count ?? 0))
    }
}

extension ServiceError {
    static func recordQuotaExceeded(limit: Int64) -> ServiceError {
        ServiceError(
            .quotaExceeded, .quotaExceeded,
            "the database has no room for more: its records may have \(limit) bytes together; delete some")
    }
}
