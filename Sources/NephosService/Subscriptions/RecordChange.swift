import NephosStorage
import NephosWire

/// A record before and after a write: no old one is a creation, no new one a deletion.
struct RecordChange {
    var old: RecordRow?
    var new: RecordRow?

    var trigger: SubscriptionDictionary.Trigger { old == nil ? .create : new == nil ? .delete : .update }
    /// The record as a subscription sees it: a deleted one as it was.
    var seen: RecordRow? { new ?? old }
}

/// What a transaction does to the records of a zone, where somebody subscribed to it.
final class RecordChanges {
    private(set) var all: [RecordChange] = []

    /// - Parameter old: the record as it was stored; nil where there was none.
    func note(old: RecordRow?, new: RecordRow?) {
        all.append(RecordChange(old: old, new: new))
    }
}
