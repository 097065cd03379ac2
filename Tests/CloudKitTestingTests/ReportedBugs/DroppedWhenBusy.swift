import CloudKit

/// The app knows what to do after a failure of the network, and forgets the change after `serviceUnavailable` and
/// `requestRateLimited`, which pass as well (pointfreeco/sqlite-data #432).
final class DroppedWhenBusy: HandmadeApp, @unchecked Sendable {
    // Unchecked like its superclass; it has no state of its own.

    override func send(_ names: [String]) async throws -> [String: CKError] {
        do {
            return try await super.send(names)
        } catch let error as CKError where error.code == .serviceUnavailable || error.code == .requestRateLimited {
            if !isMended {
                try update { disk in
                    for name in names { disk.items[name]?.isPending = false }
                }
            }
            throw error
        }
    }
}
