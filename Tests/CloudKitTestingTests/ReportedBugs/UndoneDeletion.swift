import CloudKit

/// The user deletes an item while its save is on the way. When the save is answered, the app takes the record for one that
/// it does not have yet. Another way in which deletions come back is jabbermarky/icecream #21.
final class UndoneDeletion: HandmadeApp, @unchecked Sendable {
    // Unchecked like its superclass; it has no state of its own.

    override func didSave(_ record: CKRecord, _ disk: inout Disk) {
        let name = record.recordID.recordName
        if !isMended, disk.contents[name] == nil { disk.items[name] = Disk.Item(record) }
        super.didSave(record, &disk)
    }
}
