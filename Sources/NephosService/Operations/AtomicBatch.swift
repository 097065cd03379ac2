/// The rule that one failure in an atomic batch fails every other item of the same zone with `batchRequestFailed`
/// (`CKModifyRecordsOperation.isAtomic`, Apple's documentation).
enum AtomicBatch {
    /// Whether a batch is atomic in the zone: by default, and never in a default zone.
    static func applies(to zoneName: String, requested: Bool?) -> Bool {
        ZoneRules.isAtomic(zoneName) && requested ?? true
    }

    static func settle(_ decisions: [ItemDecision]) -> [ItemDecision] {
        guard decisions.contains(where: \.isRefusal) else { return decisions }
        return decisions.map { $0.isRefusal ? $0 : .refuse(.atomicFailure, server: nil) }
    }
}
