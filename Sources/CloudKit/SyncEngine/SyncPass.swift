/// What a fetch or a send has learnt so far of the zones.
struct SyncPass: Sendable {
    /// The zones that wait for a retry. The pass goes on without them.
    var heldZoneIDs: Set<CKRecordZone.ID>
    /// The zones whose changes failed, and that only the app can resolve.
    var failedZoneIDs: Set<CKRecordZone.ID> = []
    /// The error of zones that the pass holds for which the service requested the longest delay; nil if it holds none.
    var failure: CKError?
    /// Whether the pass came to its end, so that a failure concerns the held zones alone.
    var isComplete = false
    /// Whether a change was sent.
    var hasSent = false
    /// Whether a request has the changes of one zone only, because the service refused several zones without saying
    /// which of them is busy.
    var isolatesZones = false
    /// The maximum number of items of the next batch. A refusal as too large halves it.
    var batchLimit = CKSyncEngine.RecordZoneChangeBatch.maximumCount

    /// - Parameter heldZoneIDs: the zones whose retry is still to come.
    init(heldZoneIDs: Set<CKRecordZone.ID> = []) { self.heldZoneIDs = heldZoneIDs }

    mutating func hold(_ zoneIDs: Set<CKRecordZone.ID>, after error: CKError) {
        heldZoneIDs.formUnion(zoneIDs)
        if failure == nil || (error.retryAfterSeconds ?? 0) > (failure?.retryAfterSeconds ?? 0) { failure = error }
    }

    mutating func fail(_ zoneIDs: Set<CKRecordZone.ID>) { failedZoneIDs.formUnion(zoneIDs) }
}

extension CKSyncEngine.SendChangesOptions.Scope {
    /// Returns the scope without the zones.
    func excluding(_ zoneIDs: Set<CKRecordZone.ID>) -> Self {
        if zoneIDs.isEmpty { return self }
        switch self {
        case .all: return .allExcluding(zoneIDs.sortedByName)
        case .allExcluding(let others): return .allExcluding(others + zoneIDs.subtracting(others).sortedByName)
        case .zoneIDs(let own): return .zoneIDs(own.filter { !zoneIDs.contains($0) })
        case .recordIDs(let own): return .recordIDs(own.filter { !zoneIDs.contains($0.zoneID) })
        }
    }
}

extension Sequence<CKRecordZone.ID> {
    /// The zones in an order that a simulation repeats.
    var sortedByName: [CKRecordZone.ID] {
        sorted { ($0.zoneName, $0.ownerName) < ($1.zoneName, $1.ownerName) }
    }
}
