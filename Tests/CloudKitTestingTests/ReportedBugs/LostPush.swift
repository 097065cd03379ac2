import CloudKit
import CloudKitTesting
import Synchronization

/// The app fetches at its launch and after a notification. Notifications may get lost, and then it shows what was
/// (paulw11/Seam3 #11, adamwulf/loose-leaf #758).
final class LostPush: HandmadeApp, @unchecked Sendable {
    // Unchecked like its superclass: its state has a lock.

    private let isTold = Mutex(true)

    override func didReceive(_ notification: CKNotification) async { isTold.withLock { $0 = true } }

    override func fetch() async throws {
        if !disk.isSubscribed {
            try await database.save(CKDatabaseSubscription(subscriptionID: "items"))
            try update { $0.isSubscribed = true }
        }
        let isTold = isTold.withLock { isTold in
            defer { isTold = false }
            return isTold
        }
        guard isTold || isMended else { return }
        do { try await super.fetch() } catch {
            self.isTold.withLock { $0 = true }
            throw error
        }
    }
}
