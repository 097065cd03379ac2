import Synchronization

/// The refusals that the audit does not have yet. They are in memory until the next batch, so that a refusal costs no
/// write; one batch has a bounded number of kinds.
final class RefusalCounts: Sendable {
    private static let kinds = 500

    private let counts = Mutex<[AuditedEvent: Int]>([:])

    func note(_ event: String, object: String = "", actor: String = "", address: String) {
        let refusal = AuditedEvent(event: event, actor: actor, address: address, object: object)
        counts.withLock { counts in
            let isKnown = counts[refusal] != nil || counts.count < Self.kinds
            let noted = isKnown ? refusal : AuditedEvent(event: "more refusals", actor: "", address: "", object: "")
            counts[noted, default: 0] += 1
        }
    }

    /// Removes and returns all refusals.
    func take() -> [AuditedEvent] {
        counts.withLock { counts in
            defer { counts = [:] }
            return counts.map { refusal, count in
                var refusal = refusal
                refusal.count = count
                return refusal
            }
        }
    }

    /// Puts refusals back that could not be written.
    func giveBack(_ refusals: [AuditedEvent]) {
        counts.withLock { counts in
            for refusal in refusals {
                var key = refusal
                key.count = nil
                counts[key, default: 0] += refusal.count ?? 1
            }
        }
    }
}
