import NephosStorage
import NephosWire

/// The notifications of one change event for a page of subscriptions, read from one snapshot. Reading them writes
/// nothing.
struct FanOutPage: Sendable {
    /// A notification to insert, or a one-time subscription that has fired.
    struct Item: Sendable {
        var subscription: SubscriptionRow
        /// The name of the subscription's account; nil for one that is deleted.
        var account: String?
        var payload: NotificationPayload
        var collapseID: String?
        /// Identifies notifications that replace each other: the notification replaces earlier ones with the same
        /// subject. An empty subject replaces none.
        var subject: String
        /// Whether the subscription fires only once, and is deleted with this notification.
        var isLast = false
        /// Whether the change that caused the notification also deleted the subscription.
        var isFormer = false
        var position: SubscriptionPosition
        /// The number of outbox rows that the notification needs, one per destination.
        var destinations: Int

        var isOfQuery: Bool { if case .query = payload.kind { true } else { false } }
    }

    var event: ChangeEventRow
    /// The IDs of the later events that this event replaces.
    var covered: [Int64]
    var items: [Item]
    /// The position of the last examined subscription; nil if the event has no more subscriptions.
    var end: SubscriptionPosition?
    /// The descriptions of damaged subscriptions.
    var faults: [String] = []
    /// The number of notifications of the event so far, per account.
    var counts: [Int64: Int] = [:]
    /// The number of subscriptions that were examined.
    var examined = 0
    /// The number of bytes that were compared with their conditions.
    var compared = 0

    /// What the page costs, in outbox rows: a row takes as long as 16 subscriptions or 128 KiB of conditions.
    var work: Double {
        Double(items.reduce(0) { $0 + $1.destinations }) + Double(examined) / 16 + Double(compared) / (128 * 1024)
    }

    var origin: ChangeOrigin? {
        event.originAccount == 0 ? nil : ChangeOrigin(account: event.originAccount, clientID: event.originClient)
    }
}

/// Reads a page of notifications.
struct FanOutReader {
    let container: String
    let environment: ServiceEnvironment
    let accounts: Accounts
    let outlets: NotificationOutlets
    private var schema: Schema
    let reader: StorageReader
    private var page: FanOutPage
    private var known: [Int64: AccountRow] = [:]
    private var permissions: [Int64: RecordPermissions] = [:]
    private var destinations: [Int64: Int] = [:]
    private var flooded: [Int64: Bool] = [:]
    private let attempts: FanOutAttempts
    private let now: Int64
    /// The bytes compared with the conditions of each account's subscriptions.
    private var compared: [Int64: Int] = [:]
    /// The number of notifications on the page and of their outbox rows, excluding those of subscriptions that the change
    /// deleted.
    private var (added, addedRows) = (0, 0)

    /// A change event to fan out, and the IDs of the later events that it replaces.
    typealias Next = (event: ChangeEventRow, covered: [Int64])

    /// The next event to fan out; nil if there is none, or if all events back off.
    static func next(_ attempts: inout FanOutAttempts, _ now: Int64, _ reader: StorageReader) throws -> Next? {
        let waiting = attempts.waiting(at: now)
        guard var event = try turn(&attempts, waiting, now, reader) else { return nil }
        var covered: [Int64] = []
        guard event.position == nil, ChangeEvent(event.body, in: event.zone)?.isHint ?? false else {
            return (event, [])
        }
        for other in try reader.changeEvents(after: event.id, limit: waiting.count + Limits.changeEventsPerFanOut)
        where !waiting.contains(other.id) {
            guard other.zone == event.zone, other.originAccount == event.originAccount,
                other.originClient == event.originClient, other.body == event.body
            else { break }
            covered.append(other.id)
            event.sequence = other.sequence
        }
        return (event, covered)
    }

    private static func turn(
        _ attempts: inout FanOutAttempts, _ waiting: [Int64], _ now: Int64, _ reader: StorageReader
    ) throws -> ChangeEventRow? {
        let first = try reader.changeEvents(after: 0, limit: waiting.count + 1).first { !waiting.contains($0.id) }
        guard let first, attempts.isBehind(first.origin, at: now) else { return first }
        for _ in 0..<2 {
            let turn = try attempts.turn(except: waiting, at: now) {
                try reader.changeEventOrigins(limit: Limits.waitingChangeEvents)
            }
            guard let turn else { return first }
            if let event = try reader.changeEvents(after: turn - 1, limit: 1).first, event.id == turn { return event }
            attempts.forgetTurns()
        }
        return first
    }

    init(
        _ next: Next, container: String, _ environment: ServiceEnvironment, _ accounts: Accounts,
        _ outlets: NotificationOutlets, _ schema: Schema, _ attempts: FanOutAttempts, _ reader: StorageReader
    ) {
        self.container = container
        self.environment = environment
        self.accounts = accounts
        self.outlets = outlets
        self.schema = schema
        self.reader = reader
        self.attempts = attempts
        now = environment.now()
        page = FanOutPage(
            event: next.event, covered: next.covered, items: [], end: nil, counts: attempts.counts(next.event.id))
    }

    /// Whether the page has the maximum number of notifications. The next page continues after the last one.
    private var isFull: Bool { added >= Limits.notificationsPerFanOut || addedRows >= Limits.outboxRowsPerPage }

    mutating func read() throws -> FanOutPage {
        guard let event = ChangeEvent(page.event.body, in: page.event.zone) else {
            page.faults.append("what happened in zone \(page.event.zone.id) is damaged")
            return page
        }
        let owner = if case .shared(let owner) = event { owner } else { page.event.zone.owner }
        let zoneID = ZoneIDDictionary(
            zoneName: page.event.zoneName,
            ownerRecordName: try accounts.userRecordName(id: owner.rawValue, reader) ?? "_defaultOwner")
        let matching = try SubscriptionMatching(event, in: page.event.zone) { try record($0, zoneID) }
        var types: Set<String> = [""]
        if case .records(let changes) = event { types.formUnion(changes.map(\.record.type)) }
        if page.event.position == nil, case .zone(let former) = event {
            for row in former { try tell(row, matching, zoneID, isFormer: true) }
        }
        var room = Limits.subscriptionsPerFanOut
        for type in types.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
            let done = page.event.position
            if let done, type.utf8.lexicographicallyPrecedes(done.recordType.utf8) { continue }
            var start: (account: Int64, id: String)?
            if let done, done.recordType == type {
                start = (done.account, done.id)
                // This subscription has been notified of a part of the event, so it is examined again.
                if done.count < .max, let row = try subscription(at: done) { try tell(row, matching, zoneID) }
                if isFull { return page }
            }
            let rows = try reader.subscriptions(
                owner: page.event.zone.owner, recordType: type, after: start, limit: room)
            page.examined += rows.count
            for row in rows {
                if row.since < page.event.sequence { try tell(row, matching, zoneID) }
                if isFull { return page }
                page.end = SubscriptionPosition(recordType: type, account: row.account, id: row.id, count: .max)
            }
            room -= rows.count
            if room <= 0 { return page }
        }
        page.end = nil
        return page
    }

    private func subscription(at position: SubscriptionPosition) throws -> SubscriptionRow? {
        let row = try reader.subscription(
            owner: page.event.zone.owner, account: position.account, id: position.id)
        return row?.recordType == position.recordType ? row : nil
    }

    private mutating func tell(
        _ row: SubscriptionRow, _ matching: SubscriptionMatching, _ zoneID: ZoneIDDictionary, isFormer: Bool = false
    ) throws {
        let subscription: SubscriptionDictionary
        do {
            subscription = try SubscriptionRules.dictionary(row)
        } catch {
            page.faults.append("\(error)")
            return
        }
        let destinations = try destinations(of: row.account)
        // Without a destination, only a subscription that fires once has an effect: it is deleted.
        if destinations == 0, !subscription.firesOnce { return }
        let isTooExpensive = compared[row.account, default: 0] > Limits.bytesComparedPerEvent
        let isSpent = isFull(row.account) || subscription.subscriptionType == .query && isFlooded(row)
        if isSpent, isTooExpensive || !subscription.firesOnce { return }
        let before = compared[row.account, default: 0]
        let outcome = matching.outcome(
            for: subscription, row, permissions: try permissions(of: row.account),
            compared: &compared[row.account, default: 0])
        page.compared += compared[row.account, default: 0] - before
        defer { endIfTooExpensive(row.account) }
        switch outcome {
        case .nothing: return
        case .hint:
            let kind: NotificationPayload.Kind = subscription.subscriptionType == .zone ? .zone : .database
            add(
                try payload(kind, row, zoneID), NotificationText(info: subscription.notificationInfo, record: nil), row,
                subject: "\(row.owner.rawValue) \(row.id)", number: 1, isFormer: isFormer, destinations)
        case .changes(let changes):
            for (index, change) in changes.enumerated()
            where !isFull && (subscription.firesOnce || !isFull(row.account)) {
                let text = NotificationText(info: subscription.notificationInfo, record: change.record)
                let kind = NotificationPayload.Kind.query(
                    recordName: change.record.name, reason: NotificationPayload.Reason(change.trigger),
                    fields: change.trigger == .delete ? [:] : text.additionalFields)
                add(
                    try payload(kind, row, zoneID), text, row, subject: "", number: Int64(index + 1),
                    isLast: subscription.firesOnce, destinations)
            }
        }
    }

    /// Ends the event for an account whose conditions exceed `Limits.bytesComparedPerEvent`: other accounts' notifications
    /// wait for it.
    private mutating func endIfTooExpensive(_ account: Int64) {
        guard compared[account, default: 0] > Limits.bytesComparedPerEvent, !isFull(account) else { return }
        page.counts[account] = Limits.waitingNotifications
        page.faults.append(
            "account \(account): its conditions cost too much to compare, so that some subscriptions are not told of a change"
        )
    }

    /// Whether more notifications of the event would not fit into the queue of a destination of the account.
    private func isFull(_ account: Int64) -> Bool { page.counts[account, default: 0] >= Limits.waitingNotifications }

    private mutating func isFlooded(_ row: SubscriptionRow) -> Bool {
        if let known = flooded[row.account] { return known }
        let found = attempts.isFlooded(row.account, by: page.event.originAccount, at: now)
        flooded[row.account] = found
        return found
    }

    private mutating func add(
        _ payload: NotificationPayload, _ text: NotificationText, _ row: SubscriptionRow, subject: String,
        number: Int64, isLast: Bool = false, isFormer: Bool = false, _ destinations: Int
    ) {
        if let done = page.event.position, done.recordType == row.recordType, done.account == row.account,
            done.id == row.id, number <= done.count
        {
            return
        }
        // A subscription that fires once is added anyway, so that it is deleted.
        if isFull(row.account), !isLast { return }
        page.counts[row.account, default: 0] += 1
        var payload = payload
        text.fill(&payload)
        page.items.append(
            FanOutPage.Item(
                subscription: row, account: known[row.account]?.name, payload: payload, collapseID: text.collapseID,
                subject: subject, isLast: isLast,
                isFormer: isFormer,
                position: SubscriptionPosition(
                    recordType: row.recordType, account: row.account, id: row.id, count: number),
                destinations: destinations))
        if isFormer { return }
        added += 1
        addedRows += destinations
        if isFull { page.end = page.items.last?.position }
    }

    // MARK: - Cached facts about accounts

    private mutating func permissions(of account: Int64) throws -> RecordPermissions {
        if let known = permissions[account] { return known }
        let scope: DatabaseScope = page.event.zone.owner == .everyone ? .public : .private
        known[account] = try reader.liveAccount(id: account)
        let found = RecordPermissions(scope, account: known[account], schema)
        permissions[account] = found
        return found
    }

    private mutating func destinations(of account: Int64) throws -> Int {
        if let known = destinations[account] { return known }
        let found = try OutboxWriter.destinations(of: account, outlets, by: page.origin, reader).count
        destinations[account] = found
        return found
    }

    /// A record in the form that conditions evaluate.
    private mutating func record(_ row: RecordRow, _ zoneID: ZoneIDDictionary) throws -> QueryableRow {
        // The cached schema may lack a type that another server has made since.
        if schema.recordType(row.type) == nil { schema = try Schema(reader) }
        return QueryableRow(
            row, zoneID: zoneID,
            searchableFields: schema.recordType(row.type)?.searchableFields ?? [],
            creator: try accounts.userRecordName(id: row.createdBy, reader),
            modifier: try accounts.userRecordName(id: row.modifiedBy, reader))
    }

    private func payload(
        _ kind: NotificationPayload.Kind, _ row: SubscriptionRow, _ zoneID: ZoneIDDictionary
    ) throws -> NotificationPayload {
        NotificationPayload(
            kind, notificationID: environment.makeUUID().lowercased(), containerIdentifier: container,
            userRecordName: try accounts.userRecordName(id: row.account, reader), subscriptionID: row.id,
            databaseScope: row.owner == .everyone ? .public : row.owner.rawValue < 0 ? .shared : .private,
            zoneID: zoneID)
    }
}

extension NotificationPayload.Reason {
    init(_ trigger: SubscriptionDictionary.Trigger) {
        switch trigger {
        case .create: self = .recordCreated
        case .update: self = .recordUpdated
        case .delete: self = .recordDeleted
        }
    }
}

extension SentNotification {
    init(_ item: FanOutPage.Item, of store: StoreID, zoneName: String) {
        self.init(
            notificationID: item.payload.notificationID ?? "", container: store.container,
            environment: store.environment, account: item.account,
            database: "\(item.payload.databaseScope)", zoneName: zoneName,
            subscriptionID: item.subscription.id, destinations: item.destinations)
    }
}
