import NephosStorage
import NephosWire

/// Inserts notifications into the outbox, one row per destination of the notified account.
struct OutboxWriter {
    let transaction: StorageTransaction
    private(set) var notices = Notices()
    private let outlets: NotificationOutlets
    private let origin: ChangeOrigin?
    private let now: Int64
    private var known: [Int64: [OutboxDestination]] = [:]
    /// The destinations whose queue may now exceed its limit.
    private var grown: [OutboxKey: Int64] = [:]

    private struct OutboxKey: Hashable {
        var account: Int64
        var destination: String
    }

    init(
        _ outlets: NotificationOutlets, by origin: ChangeOrigin?, at now: Int64,
        _ transaction: StorageTransaction
    ) {
        self.outlets = outlets
        self.origin = origin
        self.transaction = transaction
        self.now = now
    }

    /// - Parameter subject: identifies notifications that replace each other: at each destination this one replaces
    ///   earlier ones with the same subject. An empty subject replaces none.
    mutating func add(
        _ payload: NotificationPayload, collapseID: String?, account: Int64, subject: String
    ) throws {
        let destinations = try destinations(account)
        if destinations.isEmpty { return }
        let row = OutboxRow(
            account: account, destination: "", id: 0, subject: subject,
            notificationID: payload.notificationID ?? "", subscriptionID: payload.subscriptionID ?? "",
            collapseID: collapseID, isSilent: payload.isSilent, createdAt: now,
            payload: payload.pruned(to: Limits.notificationSize), due: 0)
        try removeReplaced(by: row, at: destinations)
        var places: [OutboxPlace] = []
        places.reserveCapacity(destinations.count)
        for destination in destinations {
            var due: Int64 = 0
            if case .courier = destination {} else { due = max(1, now) }
            let place = OutboxPlace(destination: destination.text, id: try transaction.nextOutboxID(), due: due)
            places.append(place)
            notices.note(row.at(place), destination)
            if subject.isEmpty { grown[OutboxKey(account: account, destination: place.destination)] = place.id }
        }
        try transaction.insert(row, at: places)
    }

    /// Trims the queues of all destinations by evicting their oldest notifications.
    mutating func finish() throws -> Notices {
        for key in grown.sorted(by: { $0.value < $1.value }).map(\.key) {
            try transaction.removeOutbox(
                account: key.account, destination: key.destination, keeping: Limits.waitingNotifications)
        }
        return notices
    }

    private func removeReplaced(by row: OutboxRow, at destinations: [OutboxDestination]) throws {
        if row.subject.isEmpty { return }
        let waiting = try transaction.outboxDestinations(account: row.account, subject: row.subject)
        guard !waiting.isEmpty else { return }
        for text in destinations.lazy.map(\.text) where waiting.contains(text) {
            try transaction.removeOutbox(account: row.account, destination: text, subject: row.subject)
        }
    }

    private mutating func destinations(_ account: Int64) throws -> [OutboxDestination] {
        if let known = known[account] { return known }
        let found = try Self.destinations(of: account, outlets, by: origin, transaction)
        known[account] = found
        return found
    }

    /// The destinations of an account's notifications. Without a destination no notification is stored, because it
    /// would never be fetched.
    static func destinations(
        of account: Int64, _ outlets: NotificationOutlets, by origin: ChangeOrigin?, _ reader: StorageReader
    ) throws -> [OutboxDestination] {
        var found = outlets.webHookDestinations.map { OutboxDestination.webHook(url: $0.url) }
        for token in try reader.pushTokens(account: account) where origin?.isClient(of: token) != true {
            if token.polls { found.append(.courier(token: token.token)) }
            if token.isDevice, outlets.devices != nil { found.append(.device(token: token.token)) }
        }
        return found
    }
}
