import CloudKit

/// What the service has and the device has not was deleted here, thinks the app, and deletes it on the service: also when the
/// store of the device is new, or lost (bilipp/Lume #66).
final class EmptyStore: HandmadeApp, @unchecked Sendable {
    // Unchecked like its superclass; it has no state of its own.

    override func merge(_ record: CKRecord, _ disk: inout Disk) {
        let name = record.recordID.recordName
        // Only before the first fetch is complete: what is new later has come from other devices.
        let seemsDeleted = disk.token == nil && disk.items[name] == nil
        super.merge(record, &disk)
        if !isMended, seemsDeleted { disk.write(nil, to: name) }
    }
}
