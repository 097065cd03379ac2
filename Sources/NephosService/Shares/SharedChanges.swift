import NephosStorage
import NephosWire

/// Collects the shares that a transaction changes and the accounts that it removes from one, if any account subscribed
/// to its shared database. The commit inserts a job for each; the job finds the participants.
final class SharedChanges {
    private(set) var shares: Set<Int64> = []
    /// Accounts that lose access.
    private(set) var accounts: Set<Int64> = []
    private let isWatched: Bool

    init(_ watched: SubscriptionIndex) { isWatched = watched.containsSharedDatabases }

    func note(share: Int64) { if isWatched { shares.insert(share) } }

    func note(account: Int64) { if isWatched { accounts.insert(account) } }

    /// Inserts the jobs.
    /// - Returns: whether it inserted any.
    func leaveJobs(
        zone: ZoneKey, by origin: Notifier.Origin?, in transaction: StorageTransaction
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

/// The notification of shared databases' subscribers that there are changes to fetch (`CKDatabaseSubscription`).
struct ShareNotification {
    enum Subject: Equatable {
        /// All participants of the share.
        case share(Int64)
        case account(Int64)
        /// All participants of a share of the job's zone.
        case zone
    }

    var about: Subject
    /// The client that made the change: it is not notified.
    var origin: Notifier.Origin?

    init(about: Subject, origin: Notifier.Origin?) {
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
        origin = account == 0 ? nil : Notifier.Origin(account: account, clientID: String(parts[3]))
    }

    /// Inserts an event for each account that may have subscribed.
    /// - Returns: whether it inserted any.
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
