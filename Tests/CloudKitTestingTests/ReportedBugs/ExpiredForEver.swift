import CloudKit

/// The app keeps its change token after `changeTokenExpired`, so that each fetch fails from then on (mentrena/SyncKit #92,
/// caiyue1993/IceCream #198).
final class ExpiredForEver: HandmadeApp, @unchecked Sendable {
    // Unchecked like its superclass; it has no state of its own.

    override func fetchAfterExpiry(_ error: CKError) async throws {
        guard isMended else { throw error }
        try await super.fetchAfterExpiry(error)
    }
}
