import NephosStorage
import NephosWire

/// Decides who is told of a change, and leaves the notifications in the outbox, in the transaction that makes the
/// change: so a crash loses none.
struct Notifier: Sendable {
    /// The client that made the change: it is not told (`CKSubscription`, Apple's documentation).
    struct Origin: Hashable, Sendable {
        var account: Int64
        var clientID: String
    }

    let container: String
    let environment: ServiceEnvironment
    let accounts: Accounts
    let watched: WatchedDatabases
    let outlets: NotificationOutlets

    /// Where the changes of a zone are noted; nil where nobody subscribed to its database.
    func changes(in zone: ZoneKey) -> RecordChanges? {
        watched.contains(zone.owner) ? RecordChanges() : nil
    }

    /// Leaves the notifications of what happened to a zone's records.
    func notify(
        of changes: RecordChanges?, in zone: ZoneRow, by origin: Origin?, _ transaction: any StorageTransaction
    ) throws -> Notices {
        guard let changes, !changes.all.isEmpty else { return Notices() }
        var outbox = OutboxWriter(self, origin, transaction)
        let types = Set(changes.all.compactMap(\.seen?.type)).union([""])
        for type in types.sorted() {
            for row in try transaction.subscriptions(owner: zone.key.owner, recordType: type)
            where row.zone == 0 || row.zone == zone.key.id {
                let subscription = try SubscriptionRules.dictionary(row)
                if subscription.subscriptionType == .query {
                    try notify(row, subscription, of: changes.all, in: zone, &outbox)
                } else {
                    try hint(row, subscription, zone, &outbox)
                }
            }
        }
        return outbox.notices
    }

    /// Leaves the notifications of a zone that was made, or that is about to be deleted.
    func notify(of zone: ZoneRow, by origin: Origin?, _ transaction: any StorageTransaction) throws -> Notices {
        guard watched.contains(zone.key.owner) else { return Notices() }
        var outbox = OutboxWriter(self, origin, transaction)
        for row in try transaction.subscriptions(owner: zone.key.owner, recordType: "")
        where row.zone == 0 || row.zone == zone.key.id {
            let subscription = try SubscriptionRules.dictionary(row)
            if subscription.subscriptionType != .query { try hint(row, subscription, zone, &outbox) }
        }
        return outbox.notices
    }

    /// Of a zone or a database it says only that there is something to fetch, so of several the last says it all.
    private func hint(
        _ row: SubscriptionRow, _ subscription: SubscriptionDictionary, _ zone: ZoneRow, _ outbox: inout OutboxWriter
    ) throws {
        guard try outbox.reaches(row.account) else { return }
        let kind: NotificationPayload.Kind = subscription.subscriptionType == .zone ? .zone : .database
        try outbox.add(
            try payload(kind, row, zone, outbox.transaction),
            NotificationText(info: subscription.notificationInfo, record: nil), to: row,
            subject: "\(row.owner.rawValue) \(row.id)")
    }

    // MARK: Query subscriptions

    private func notify(
        _ row: SubscriptionRow, _ subscription: SubscriptionDictionary, of changes: [RecordChange], in zone: ZoneRow,
        _ outbox: inout OutboxWriter
    ) throws {
        guard let query = subscription.query else { return }
        let matcher = QueryMatcher(query.condition)
        let transaction = outbox.transaction
        for change in changes {
            guard let seen = change.seen, seen.type == query.recordType,
                subscription.firesOn.contains(change.trigger),
                try matcher.matches(record(seen, zone, transaction))
            else { continue }
            if try outbox.reaches(row.account) {
                let text = NotificationText(info: subscription.notificationInfo, record: seen)
                let kind = NotificationPayload.Kind.query(
                    recordName: seen.name, reason: NotificationPayload.Reason(change.trigger),
                    fields: change.new == nil ? [:] : text.additionalFields)
                try outbox.add(try payload(kind, row, zone, transaction), text, to: row, subject: "")
            }
            if subscription.firesOnce {
                _ = try transaction.removeSubscription(owner: row.owner, account: row.account, id: row.id)
                return
            }
        }
    }

    /// A record as conditions see it. A search that names no field goes through all of them.
    private func record(_ row: RecordRow, _ zone: ZoneRow, _ reader: any StorageReader) throws -> StoredRecord {
        StoredRecord(
            row, zoneID: try zoneID(zone, reader),
            searchableFields: (try? EncodedFields(bytes: row.fields).decoded().entries.map(\.name)) ?? [],
            creator: try accounts.userRecordName(id: row.createdBy, reader),
            modifier: try accounts.userRecordName(id: row.modifiedBy, reader))
    }

    // MARK: Payloads

    private func payload(
        _ kind: NotificationPayload.Kind, _ row: SubscriptionRow, _ zone: ZoneRow, _ reader: any StorageReader
    ) throws -> NotificationPayload {
        NotificationPayload(
            kind, notificationID: environment.makeUUID().lowercased(), containerIdentifier: container,
            userRecordName: try accounts.userRecordName(id: row.account, reader), subscriptionID: row.id,
            databaseScope: row.owner == .everyone ? .public : row.owner.rawValue < 0 ? .shared : .private,
            zoneID: try zoneID(zone, reader))
    }

    private func zoneID(_ zone: ZoneRow, _ reader: any StorageReader) throws -> ZoneIDDictionary {
        ZoneIDDictionary(
            zoneName: zone.name,
            ownerRecordName: try accounts.userRecordName(id: zone.key.owner.rawValue, reader) ?? "_defaultOwner")
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

/// Writes notifications to the destinations of their accounts.
struct OutboxWriter {
    let transaction: any StorageTransaction
    private(set) var notices = Notices()
    private let notifier: Notifier
    private let origin: Notifier.Origin?
    private let now: Int64
    private var known: [Int64: [OutboxDestination]] = [:]

    init(_ notifier: Notifier, _ origin: Notifier.Origin?, _ transaction: any StorageTransaction) {
        self.notifier = notifier
        self.origin = origin
        self.transaction = transaction
        now = notifier.environment.now()
    }

    /// Whether an account has anywhere to deliver to: if not, nobody would ever fetch its notifications.
    mutating func reaches(_ account: Int64) throws -> Bool { try !destinations(account).isEmpty }

    mutating func add(
        _ payload: NotificationPayload, _ text: NotificationText, to subscription: SubscriptionRow, subject: String
    ) throws {
        var payload = payload
        text.fill(&payload)
        let row = OutboxRow(
            account: subscription.account, destination: "", id: 0, subject: subject,
            notificationID: payload.notificationID ?? "", subscriptionID: subscription.id,
            collapseID: text.collapseID, isSilent: payload.isSilent, createdAt: now,
            payload: payload.pruned(to: Limits.notificationSize), due: 0)
        let destinations = try destinations(subscription.account)
        try makeRoom(for: row, at: destinations)
        var places: [OutboxPlace] = []
        places.reserveCapacity(destinations.count)
        for destination in destinations {
            var due: Int64 = 0
            if case .courier = destination {} else { due = max(1, now) }
            let place = OutboxPlace(destination: destination.text, id: try transaction.nextSequence(), due: due)
            places.append(place)
            notices.note(row.at(place), destination)
        }
        try transaction.insert(row, at: places)
    }

    /// Removes what a notification replaces, and what is too much with it.
    private func makeRoom(for row: OutboxRow, at destinations: [OutboxDestination]) throws {
        guard !row.subject.isEmpty else {
            for destination in destinations {
                try transaction.removeOutbox(
                    account: row.account, destination: destination.text, keeping: Limits.waitingNotifications - 1)
            }
            return
        }
        let waiting = try transaction.outboxDestinations(account: row.account, subject: row.subject)
        guard !waiting.isEmpty else { return }
        for text in destinations.lazy.map(\.text) where waiting.contains(text) {
            try transaction.removeOutbox(account: row.account, destination: text, subject: row.subject)
        }
    }

    private mutating func destinations(_ account: Int64) throws -> [OutboxDestination] {
        if let known = known[account] { return known }
        var found = notifier.outlets.webHookDestinations.map { OutboxDestination.webHook(url: $0.url) }
        for token in try transaction.pushTokens(account: account) where !isOrigin(token) {
            if token.polls { found.append(.courier(token: token.token)) }
            if token.isDevice, notifier.outlets.devices != nil { found.append(.device(token: token.token)) }
        }
        known[account] = found
        return found
    }

    private func isOrigin(_ token: PushTokenRow) -> Bool {
        guard let origin else { return false }
        return token.account == origin.account && !token.client.isEmpty && token.client == origin.clientID
    }
}
