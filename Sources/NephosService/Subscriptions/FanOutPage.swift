import NephosStorage
import NephosWire

/// What one look at the oldest event and some of the subscriptions to it comes to. Reads, and writes nothing.
struct FanOutPage: Sendable {
    /// A notification to be left, or a subscription that has fired.
    struct Item: Sendable {
        var subscription: SubscriptionRow
        var payload: NotificationPayload
        var collapseID: String?
        /// Of notifications with the same one only the last is kept; empty for none of this.
        var subject: String
        /// Whether the subscription ends with it.
        var isLast = false
        /// Whether the subscription went with what happened.
        var isFormer = false
        var position: SubscriptionPosition
        /// How many rows of the outbox it will take.
        var destinations: Int
    }

    var event: ChangeEventRow
    /// Later events that this one says all of.
    var covered: [Int64]
    var items: [Item]
    /// The last subscription that was looked at; nil where there is none behind.
    var end: SubscriptionPosition?
    /// Subscriptions that are damaged.
    var faults: [String] = []
    /// How many notifications of the event each account has got up to here.
    var counts: [Int64: Int] = [:]

    var origin: Notifier.Origin? {
        event.originAccount == 0 ? nil : Notifier.Origin(account: event.originAccount, clientID: event.originClient)
    }
}

/// Makes a page.
struct FanOutReader {
    let container: String
    let environment: ServiceEnvironment
    let accounts: Accounts
    let outlets: NotificationOutlets
    let schema: Schema
    let reader: StorageReader
    private var page: FanOutPage
    private var permissions: [Int64: RecordPermissions] = [:]
    private var destinations: [Int64: Int] = [:]
    /// Notifications of the page, but for those whose subscriptions went with what happened.
    private var added = 0

    /// The event that is told next, and later ones that it says all of.
    typealias Next = (event: ChangeEventRow, covered: [Int64])

    /// The next event; nil where there is none that is not waiting to be tried again.
    static func next(_ attempts: FanOutAttempts, _ now: Int64, _ reader: StorageReader) throws -> Next? {
        let waiting = attempts.waiting(at: now)
        let first = try reader.changeEvents(limit: waiting.count + 1).first { !waiting.contains($0.id) }
        guard var event = first else { return nil }
        var covered: [Int64] = []
        guard event.position == nil, ChangeEvent(event.body, in: event.zone)?.isHint ?? false else {
            return (event, [])
        }
        for other in try reader.changeEvents(limit: waiting.count + Limits.changeEventsPerFanOut)
        where other.id > event.id && !waiting.contains(other.id) {
            guard other.zone == event.zone, other.originAccount == event.originAccount,
                other.originClient == event.originClient, other.body == event.body
            else { break }
            covered.append(other.id)
            event.sequence = other.sequence
        }
        return (event, covered)
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
        page = FanOutPage(
            event: next.event, covered: next.covered, items: [], end: nil, counts: attempts.counts(next.event.id))
    }

    /// Whether the page has as many notifications as one may: the next goes on behind the last of them.
    private var isFull: Bool { added >= Limits.notificationsPerFanOut }

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
                // It was told in part.
                if done.count < .max, let row = try subscription(at: done) { try tell(row, matching, zoneID) }
                if isFull { return page }
            }
            let rows = try reader.subscriptions(
                owner: page.event.zone.owner, recordType: type, after: start, limit: room)
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
        // It has no destination, and nothing else comes of it.
        if destinations == 0, !subscription.firesOnce { return }
        switch matching.outcome(for: subscription, row, permissions: try permissions(of: row.account)) {
        case .nothing: return
        case .hint:
            let kind: NotificationPayload.Kind = subscription.subscriptionType == .zone ? .zone : .database
            add(
                try payload(kind, row, zoneID), NotificationText(info: subscription.notificationInfo, record: nil), row,
                subject: "\(row.owner.rawValue) \(row.id)", number: 1, isFormer: isFormer, destinations)
        case .changes(let changes):
            for (index, change) in changes.enumerated() where !isFull {
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

    private mutating func add(
        _ payload: NotificationPayload, _ text: NotificationText, _ row: SubscriptionRow, subject: String,
        number: Int64, isLast: Bool = false, isFormer: Bool = false, _ destinations: Int
    ) {
        if let done = page.event.position, done.recordType == row.recordType, done.account == row.account,
            done.id == row.id, number <= done.count
        {
            return
        }
        let count = page.counts[row.account, default: 0]
        // As many as wait for one destination. A subscription ends nevertheless.
        if count >= Limits.waitingNotifications, !isLast { return }
        page.counts[row.account] = count + 1
        var payload = payload
        text.fill(&payload)
        page.items.append(
            FanOutPage.Item(
                subscription: row, payload: payload, collapseID: text.collapseID, subject: subject, isLast: isLast,
                isFormer: isFormer,
                position: SubscriptionPosition(
                    recordType: row.recordType, account: row.account, id: row.id, count: number),
                destinations: destinations))
        if isFormer { return }
        added += 1
        if isFull { page.end = page.items.last?.position }
    }

    // MARK: - What is known of accounts

    private mutating func permissions(of account: Int64) throws -> RecordPermissions {
        if let known = permissions[account] { return known }
        let scope: DatabaseScope = page.event.zone.owner == .everyone ? .public : .private
        let found = RecordPermissions(scope, account: try reader.liveAccount(id: account), schema)
        permissions[account] = found
        return found
    }

    private mutating func destinations(of account: Int64) throws -> Int {
        if let known = destinations[account] { return known }
        let found = try OutboxWriter.destinations(of: account, outlets, by: page.origin, reader).count
        destinations[account] = found
        return found
    }

    /// A record as conditions see it. A search that names no field goes through all of them.
    private func record(_ row: RecordRow, _ zoneID: ZoneIDDictionary) throws -> QueryableRow {
        QueryableRow(
            row, zoneID: zoneID,
            searchableFields: (try? EncodedFields(bytes: row.fields).decoded().entries.map(\.name)) ?? [],
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
