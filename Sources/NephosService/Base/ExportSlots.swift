import NephosWire
import Synchronization

/// The exports that are under way, one for each account at most.
final class ExportSlots: Sendable {
    private let accounts = Mutex<Set<String>>([])

    /// The right of an account to export, until it is released.
    final class Slot: Sendable {
        private let slots: ExportSlots
        private let account: String

        fileprivate init(_ slots: ExportSlots, _ account: String) { (self.slots, self.account) = (slots, account) }

        deinit { slots.accounts.withLock { _ = $0.remove(account) } }
    }

    /// - Throws: `requestRateLimited` while the account has an export under way.
    func begin(_ account: String) throws(ServiceError) -> Slot {
        guard accounts.withLock({ $0.insert(account).inserted }) else {
            throw ServiceError(
                .throttled, .requestRateLimited, "an export of the account is under way: wait for its end",
                retryAfter: 10)
        }
        return Slot(self, account)
    }
}
