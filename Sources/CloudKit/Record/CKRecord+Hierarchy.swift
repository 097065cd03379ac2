import Synchronization

extension CKRecord {
    /// The record under which this one is shared. A reference whose action is not `.none` stops the program.
    public var parent: CKRecord.Reference? {
        get { state.withLock { $0.parent } }
        set {
            precondition(
                newValue.map { $0.action == .none } ?? true,
                "CKRecord: a parent reference must have the action .none, and this has .deleteSelf.")
            state.withLock { $0.setParent(newValue) }
        }
    }

    /// Refers to `parentRecord` as the parent; nil takes the record out of its parent.
    public func setParent(_ parentRecord: CKRecord?) {
        setParent(parentRecord?.recordID)
    }

    /// Refers to the record of that ID as the parent; nil takes the record out of its parent.
    public func setParent(_ parentRecordID: CKRecord.ID?) {
        parent = parentRecordID.map { CKRecord.Reference(recordID: $0, action: .none) }
    }

    /// The share that this record is the root of.
    public var share: CKRecord.Reference? { state.withLock { $0.metadata.share } }

    /// Makes this record the root of `share`, or of none.
    package func setShare(_ share: CKRecord.Reference?) {
        precondition(
            share.map { $0.recordID.zoneID == recordID.zoneID } ?? true,
            "CKShare: the share must be in the same zone as the record.")
        state.withLock { $0.metadata.share = share }
    }
}
