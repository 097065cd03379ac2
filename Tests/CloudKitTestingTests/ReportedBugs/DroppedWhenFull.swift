import CloudKit

/// A sync engine sends no item again that failed with `quotaExceeded`, and the app does not remember it either: it is never
/// sent, even when the user has made room (pointfreeco/sqlite-data #335).
final class DroppedWhenFull: EngineApp, @unchecked Sendable {
    // Unchecked like its superclass; it has no state of its own.

    override func settle(_ name: String, _ error: CKError, _ disk: inout Disk) {
        super.settle(name, error, &disk)
        if !isMended, error.code == .quotaExceeded { disk.items[name]?.isPending = false }
    }
}
