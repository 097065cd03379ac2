import CloudKit

/// Only the engine's state says what is pending. A crash between the edit and the next `stateUpdate` leaves the item on the
/// disk, and nothing that says that it was not sent (apple/sample-cloudkit-sync-engine #5).
final class LostInCrash: EngineApp, @unchecked Sendable {
    // Unchecked like its superclass; it has no state of its own.

    override func queuePending() {
        if isMended { super.queuePending() }
    }
}
