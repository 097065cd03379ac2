import NephosStorage
import NephosWire

/// Collects the shares that a transaction changes and the accounts that lose access to a share, if any account
/// subscribed to its shared database. The transaction inserts a job for each of them, and the job finds the
/// participants.
final class SharedChanges {
    private(set) var shares: Set<Int64> = []
    /// The accounts that lose access to a share.
    private(set) var accounts: Set<Int64> = []
    private let isWatched: Bool

    init(_ watched: SubscriptionIndex) { isWatched = watched.containsSharedDatabases }

    func note(share: Int64) { if isWatched { shares.insert(share) } }

    func note(account: Int64) { if isWatched { accounts.insert(account) } }

    /// Inserts the notification jobs.
    /// - Returns: whether any job was inserted.
    func leaveJobs(
        zone: ZoneKey, by origin: ChangeOrigin?, in transaction: StorageTransaction
    ) throws -> Bool {
        for share in shares.sorted() {
            try transaction.insert(ShareNotification(about: .share(share), origin: origin).job(zone))
        }
        for account in accounts.sorted() {
            try transaction.insert(ShareNotification(about: .account(account), origin: origin).job(zone))
        }
        return !shares.isEmpty || !accounts.isEmpty
    }
}

/// The notification of accounts with subscriptions to their shared databases that there are changes to fetch
/// (`CKDatabaseSubscription`).
struct ShareNotification {
    enum Subject: Equatable {
        /// All participants of one share.
        case share(Int64)
        case account(Int64)
        /// All participants of all shares of the job's zone.
        case zone
    }

    var about: Subject
    /// The client that made the change, which is not notified; nil if all clients are notified.
    var origin: ChangeOrigin?

    init(about: Subject, origin: ChangeOrigin?) {
        self.about = about
        self.origin = origin
    }

    func job(_ zone: ZoneKey) -> JobRow {
        let (kind, id): (String, Int64) =
            switch about {
            case .share(let id): ("share", id)
            case .account(let id): ("account", id)
            case .zone: ("zone", 0)
            }
        return JobRow(
            kind: BackgroundJob.notifyShare.rawValue, zone: zone,
            subject: "\(kind) \(id) \(origin?.account ?? 0) \(origin?.clientID ?? "")")
    }

    init?(_ job: JobRow) {
        let parts = job.subject.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 4, let id = Int64(parts[1]), let account = Int64(parts[2]) else { return nil }
        switch parts[0] {
        case "share": about = .share(id)
        case "account": about = .account(id)
        case "zone": about = .zone
        default: return nil
        }
        origin = account == 0 ? nil : ChangeOrigin(account: account, clientID: String(parts[3]))
    }

    /// Inserts a change event for each account that may have subscribed.
    /// - Returns: whether any event was inserted.
    func run(_ zone: ZoneKey, _ notifier: Notifier, in transaction: StorageTransaction) throws -> Bool {
        guard let row = try transaction.zone(zone) else { return false }
        var leftEvents = false
        for account in try accounts(zone, transaction).sorted() {
            if try notifier.notify(account: account, ofSharedZone: row, by: origin, transaction) { leftEvents = true }
        }
        return leftEvents
    }

    private func accounts(_ zone: ZoneKey, _ reader: StorageReader) throws -> Set<Int64> {
        switch about {
        case .share(let share): return Set(try reader.members(share: share))
        case .account(let account): return [account]
        case .zone:
            var accounts: Set<Int64> = []
            for share in try reader.shares(zone: zone, limit: Limits.sharesPerNotification) {
                accounts.formUnion(try reader.members(share: share.id))
            }
            return accounts
        }
    }
}
