import NephosStorage
import NephosWire

/// What a write did to a record, as a subscription sees it.
struct RecordChange: Equatable, Sendable {
    var trigger: SubscriptionDictionary.Trigger
    /// The record as it is; a deleted one as it was.
    var record: RecordRow

    /// - Parameters:
    ///   - old: the record as it was stored; nil where there was none.
    ///   - new: nil where it was deleted.
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

/// What a transaction does to the records of a zone, as far as there are subscribers.
final class RecordChanges {
    /// The types of which records are noted; the empty one is for subscribers to all types, which see no fields.
    private let watchedTypes: Set<String>
    private(set) var noted: [RecordChange] = []
    /// Whether anything changed at all.
    private(set) var isAny = false

    init(watchedTypes: Set<String>) { self.watchedTypes = watchedTypes }

    /// Whether there is a subscriber.
    var areTold: Bool { !noted.isEmpty || isAny && watchedTypes.contains("") }

    func watches(_ recordType: String) -> Bool { watchedTypes.contains(recordType) }

    func note(old: RecordRow?, new: RecordRow?) {
        isAny = true
        guard let type = (new ?? old)?.type, watchedTypes.contains(type) else { return }
        if let change = RecordChange(old: old, new: new) { noted.append(change) }
    }
}
