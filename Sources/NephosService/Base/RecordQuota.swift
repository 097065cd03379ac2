import NephosStorage
import NephosWire
import Synchronization

/// The quotas of the bytes of records per database. A database is measured after a 64th of its quota was written to it, so
/// a save costs no statement for its quota. A database exceeds its quota by at most about a 64th per server and start.
final class RecordQuota: Sendable {
    /// The bytes that count for a record or tombstone besides its fields, and for a zone.
    static let rowOverhead: Int64 = 100
    /// The time in milliseconds after which a full database is measured again, as its user may have deleted records.
    private static let fullRecheck: Int64 = 10_000
    private static let knownDatabases = 10_000

    private struct Usage {
        /// The measured bytes; nil before the first measurement.
        var measured: Int64?
        var measuredAt = Int64.min / 2
        /// The bytes of the saves since the measurement began.
        var written: Int64 = 0
        var isMeasured = false
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

    /// Notes what committed saves wrote.
    /// - Parameter full: the owners of saves that were refused.
    /// - Returns: the owners whose databases are to be measured now, by the caller.
    func note(_ written: [OwnerID: Int64], full: Set<OwnerID>, at now: Int64) -> [OwnerID] {
        if privateLimit == nil, publicLimit == nil { return [] }
        return usages.withLock { usages in
            if usages.count > Self.knownDatabases {
                usages = usages.filter { $0.value.isMeasured || $0.value.measured ?? 0 >= limit(of: $0.key) ?? .max }
            }
            for (owner, bytes) in written { usages[owner, default: Usage()].written += bytes }
            return full.union(written.keys).filter { owner in
                guard let limit = limit(of: owner), var usage = usages[owner], !usage.isMeasured else { return false }
                let isDue = usage.written > limit / 64
                let isFull = full.contains(owner) && now - usage.measuredAt >= Self.fullRecheck
                guard isDue || isFull else { return false }
                (usage.isMeasured, usage.written, usage.measuredAt) = (true, 0, now)
                usages[owner] = usage
                return true
            }
        }
    }

    /// Ends a measurement.
    /// - Parameter bytes: what was measured; nil if the measurement failed.
    func measured(_ bytes: Int64?, of owner: OwnerID) {
        usages.withLock { usages in
            usages[owner]?.isMeasured = false
            if let bytes { usages[owner]?.measured = bytes }
        }
    }
}

extension ServiceError {
    static func recordQuotaExceeded(limit: Int64) -> ServiceError {
        ServiceError(
            .quotaExceeded, .quotaExceeded,
            "the database has no room for more: its records may have \(limit) bytes together; delete some")
    }
}
