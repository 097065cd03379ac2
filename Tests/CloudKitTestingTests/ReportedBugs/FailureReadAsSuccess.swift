import CloudKit

/// `modifyRecords` throws nothing if the request arrived, and says for each record whether it was saved. The app does not
/// look, and takes all for saved (ProcedureKit/ProcedureKit #290).
final class FailureReadAsSuccess: HandmadeApp, @unchecked Sendable {
    // Unchecked like its superclass; it has no state of its own.

    override func settle(_ name: String, _ error: CKError, _ disk: inout Disk) {
        if isMended { super.settle(name, error, &disk) } else { disk.items[name]?.isPending = false }
    }
}
