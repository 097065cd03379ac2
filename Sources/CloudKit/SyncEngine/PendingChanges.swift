extension CKSyncEngine {
    /// A record change of the app that the server does not have yet.
    public enum PendingRecordZoneChange: Hashable, Sendable, CustomStringConvertible {
        /// The record is new or changed on this device; the delegate provides it for the send.
        case saveRecord(CKRecord.ID)
        /// The record is deleted on this device and has to be deleted at the service.
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

    /// A zone change of the app that the server does not have yet. Two saves of one zone are equal.
    public enum PendingDatabaseChange: Hashable, Sendable, CustomStringConvertible {
        /// The zone is new on this device; it is sent before its records.
        case saveZone(CKRecordZone)
        /// The zone and all its records are deleted on this device and have to be deleted at the service.
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

/// Pending changes in the order in which their subjects were added, one for each subject.
///
/// "Save A, save B, save A" is save A, save B; "save A, save B, delete A" is delete A, save B. Adding and removing take
/// constant time.
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

    /// Adds a change; returns whether the list changed.
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

    /// Removes a change, unless it was added again after `time`; returns whether the list changed.
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
