extension CKSyncEngine {
    /// A change to a record that the app made and the server does not have.
    public enum PendingRecordZoneChange: Hashable, Sendable, CustomStringConvertible {
        /// The record is new or changed here; the delegate gives it when it is to be sent.
        case saveRecord(CKRecord.ID)
        /// It is gone here, and is to go at the service.
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

    /// A change to a zone that the app made and the server does not have. Two saves of one zone are equal.
    public enum PendingDatabaseChange: Hashable, Sendable, CustomStringConvertible {
        /// The zone is new here; it is sent before the records in it.
        case saveZone(CKRecordZone)
        /// It is gone here with all its records, and is to go at the service.
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

/// A change that concerns one thing: of two that concern the same, the later one counts.
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

/// Pending changes in the order in which their subjects were added, one for each subject.
///
/// "Save A, save B, save A" is save A, save B; "save A, save B, delete A" is delete A, save B. Adding and removing take
/// constant time.
struct PendingList<Change: PendingChange>: Sendable {
    private struct Slot: Sendable {
        var change: Change
        /// When the app last added it.
        var added: UInt64
    }

    private var slots: [Slot?] = []
    private var places: [Change.Subject: Int] = [:]

    var isEmpty: Bool { places.isEmpty }
    var changes: [Change] { slots.compactMap { $0?.change } }

    func contains(where matches: (Change) -> Bool) -> Bool {
        slots.contains { $0.map { matches($0.change) } ?? false }
    }

    /// Adds a change; says whether that changed the list.
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

    /// Removes a change, unless it was added again after `time`; says whether that changed the list.
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
