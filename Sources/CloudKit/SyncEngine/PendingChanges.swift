extension CKSyncEngine {
    /// A change by the app to a record that the server does not have yet.
    public enum PendingRecordZoneChange: Hashable, Sendable, CustomStringConvertible {
        /// The record is new or changed on this device. The delegate provides the record when the change is sent.
        case saveRecord(CKRecord.ID)
        /// The record was deleted on this device, and has to be deleted on the server.
        case deleteRecord(CKRecord.ID)

        var recordID: CKRecord.ID {
            switch self {
            case .saveRecord(let recordID), .deleteRecord(let recordID): recordID
            }
        }

        public var description: String {
            switch self {
            case .saveRecord(let recordID): "saveRecord(\(recordID.recordName))"
            case .deleteRecord(let recordID): "deleteRecord(\(recordID.recordName))"
            }
        }
    }

    /// A change by the app to a zone that the server does not have yet. Two saves of the same zone are equal.
    public enum PendingDatabaseChange: Hashable, Sendable, CustomStringConvertible {
        /// The zone is new on this device. It is sent before its records.
        case saveZone(CKRecordZone)
        /// The zone was deleted on this device with all its records, and has to be deleted on the server.
        case deleteZone(CKRecordZone.ID)

        var zoneID: CKRecordZone.ID {
            switch self {
            case .saveZone(let zone): zone.zoneID
            case .deleteZone(let zoneID): zoneID
            }
        }

        public var description: String {
            switch self {
            case .saveZone(let zone): "saveZone(\(zone.zoneID.zoneName))"
            case .deleteZone(let zoneID): "deleteZone(\(zoneID.zoneName))"
            }
        }
    }
}

/// A change to one subject; a later change to the same subject replaces an earlier one.
protocol PendingChange: Hashable, Sendable {
    associatedtype Subject: Hashable & Sendable
    var subject: Subject { get }
}

extension CKSyncEngine.PendingRecordZoneChange: PendingChange {
    var subject: CKRecord.ID { recordID }
}

extension CKSyncEngine.PendingDatabaseChange: PendingChange {
    var subject: CKRecordZone.ID { zoneID }
}

/// Pending changes, at most one per subject, in the order in which their subjects were added.
///
/// "Save A, save B, save A" results in save A, save B. "Save A, save B, delete A" results in delete A, save B. Adding
/// and removing take constant time.
struct PendingList<Change: PendingChange>: Sendable {
    private struct Slot: Sendable {
        var change: Change
        /// The logical time at which the app last added the change.
        var added: UInt64
    }

    private var slots: [Slot?] = []
    private var places: [Change.Subject: Int] = [:]

    var isEmpty: Bool { places.isEmpty }
    var changes: [Change] { slots.compactMap { $0?.change } }

    func contains(where matches: (Change) -> Bool) -> Bool {
        slots.contains { $0.map { matches($0.change) } ?? false }
    }

    /// Adds a change. Returns whether the list changed.
    @discardableResult
    mutating func add(_ change: Change, at time: UInt64) -> Bool {
        if let place = places[change.subject] {
            let isAnother = slots[place]?.change != change
            slots[place] = Slot(change: change, added: time)
            return isAnother
        }
        places[change.subject] = slots.count
        slots.append(Slot(change: change, added: time))
        return true
    }

    /// Removes a change, unless it was added again after `time`. Returns whether the list changed.
    @discardableResult
    mutating func remove(_ change: Change, addedUntil time: UInt64 = .max) -> Bool {
        guard let place = places[change.subject], let slot = slots[place], slot.change == change, slot.added <= time
        else { return false }
        slots[place] = nil
        places[change.subject] = nil
        compact()
        return true
    }

    private mutating func compact() {
        guard slots.count > 64, slots.count > 2 * places.count else { return }
        slots = slots.filter { $0 != nil }
        for (place, slot) in slots.enumerated() {
            if let slot { places[slot.change.subject] = place }
        }
    }
}
