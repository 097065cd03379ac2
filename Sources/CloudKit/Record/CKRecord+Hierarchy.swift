import Synchronization

extension CKRecord {
    /// Stops the program if a parent reference has an action other than `.none`: "the action must be
    /// `CKRecord.ReferenceAction.none`" (`CKRecord.parent`, Apple's documentation).
    static func checkParentAction(_ parent: CKRecord.Reference) {
        raise(
            unless: parent.action == .none,
            "CKRecord: a parent reference must have the action .none, and this has .deleteSelf.")
    }

    /// Makes this record the root of `share`. If `share` is nil, the record is the root of no share.
    package func setShare(_ share: CKRecord.Reference?) {
        raise(
            unless: share.map { $0.recordID.zoneID == recordID.zoneID } ?? true,
            "CKShare: the share must be in the same zone as the record.")
        state.withLock { $0.metadata.share = share }
    }
}
