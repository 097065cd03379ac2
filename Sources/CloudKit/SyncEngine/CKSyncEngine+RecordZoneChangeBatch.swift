import NephosWire

extension CKSyncEngine {
    /// Records to save and to delete in one request.
    public struct RecordZoneChangeBatch: Sendable, CustomStringConvertible {
        /// What is sent in one request with the deletions.
        public var recordsToSave: [CKRecord]
        /// What is removed in one request with the saves.
        public var recordIDsToDelete: [CKRecord.ID]
        /// Whether the changes to a zone happen all or not at all.
        public var atomicByZone: Bool

        /// Items of a batch: what a request may have (`CKError.limitExceeded`, Apple's documentation).
        static let maximumCount = 400
        /// Bytes of a batch, with some room to the 2 MB that a request may have.
        static let maximumSize = 3 << 19

        /// The first of the pending changes, as many as fit into a request; nil if nothing is left of them.
        ///
        /// - Parameters:
        ///   - pendingChanges: what to send, in this order.
        ///   - recordProvider: gives the record to save; nil skips the change.
        public init?(
            pendingChanges: [CKSyncEngine.PendingRecordZoneChange],
            recordProvider: @Sendable (CKRecord.ID) async -> (CKRecord?)
        ) async {
            self.init()
            var size = 0
            for change in pendingChanges {
                if recordsToSave.count + recordIDsToDelete.count == Self.maximumCount { break }
                switch change {
                case .deleteRecord(let recordID): recordIDsToDelete.append(recordID)
                case .saveRecord(let recordID):
                    guard let record = await recordProvider(recordID) else { continue }
                    let more = record.fieldsToSend(.changed).storedSize
                    // A record that is too large for any request goes alone: its own error says so.
                    if size > 0, size + more > Self.maximumSize { return }
                    size += more
                    recordsToSave.append(record)
                }
            }
            if isEmpty { return nil }
        }

        /// A batch of just these. One that is too large for a request fails with `limitExceeded`.
        public init(
            recordsToSave: [CKRecord] = [], recordIDsToDelete: [CKRecord.ID] = [], atomicByZone: Bool = false
        ) {
            self.recordsToSave = recordsToSave
            self.recordIDsToDelete = recordIDsToDelete
            self.atomicByZone = atomicByZone
        }

        var isEmpty: Bool { recordsToSave.isEmpty && recordIDsToDelete.isEmpty }

        public var description: String {
            "RecordZoneChangeBatch(recordsToSave: \(recordsToSave.map(\.recordID.recordName)), "
                + "recordIDsToDelete: \(recordIDsToDelete.map(\.recordName)), atomicByZone: \(atomicByZone))"
        }
    }
}
