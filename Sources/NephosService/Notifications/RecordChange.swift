import NephosStorage
import NephosWire

/// A write of a record, in the form that subscriptions match.
struct RecordChange: Equatable, Sendable {
    var trigger: SubscriptionDictionary.Trigger
    /// The record after the write; for a deletion, the record before it.
    var record: RecordRow

    /// - Parameters:
    ///   - old: the stored record; nil for a new record.
    ///   - new: the written record; nil for a deletion.
    init?(old: RecordRow?, new: RecordRow?) {
        guard let seen = new ?? old else { return nil }
        record = seen
        trigger = old == nil ? .create : new == nil ? .delete : .update
    }

    init(_ trigger: SubscriptionDictionary.Trigger, _ record: RecordRow) {
        self.trigger = trigger
        self.record = record
    }
}

/// Collects a transaction's changes of a zone's records, as far as they may concern subscribers.
final class RecordChanges {
    /// The record types whose changes are collected. The empty type is for subscribers to all types, which receive no
    /// fields.
    private let watchedTypes: Set<String>
    private(set) var noted: [RecordChange] = []
    /// Whether any record of the zone changed.
    private(set) var isAny = false

    init(watchedTypes: Set<String>) { self.watchedTypes = watchedTypes }

    /// Whether the changes may concern a subscriber.
    var areTold: Bool { !noted.isEmpty || isAny && watchedTypes.contains("") }

    func watches(_ recordType: String) -> Bool { watchedTypes.contains(recordType) }

    func note(old: RecordRow?, new: RecordRow?) {
        isAny = true
        guard let type = (new ?? old)?.type, watchedTypes.contains(type) else { return }
        if let change = RecordChange(old: old, new: new) { noted.append(change) }
    }
}
