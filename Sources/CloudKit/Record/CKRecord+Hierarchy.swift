import Synchronization

extension CKRecord {
    /// Makes this record the root of `share`, or of none.
    package func setShare(_ share: CKRecord.Reference?) {
        raise(
            unless: share.map { $0.recordID.zoneID == recordID.zoneID } ?? true,
            "CKShare: the share must be in the same zone as the record.")
        state.withLock { $0.metadata.share = share }
    }
}
