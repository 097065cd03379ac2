import NephosWire

extension CKSyncEngine {
    /// Records to save and to delete in one request.
    public struct RecordZoneChangeBatch: Sendable, CustomStringConvertible {
        /// The records to save, which are sent in one request with the deletions.
        public var recordsToSave: [CKRecord]
        /// The records to delete, which are sent in one request with the saves.
        public var recordIDsToDelete: [CKRecord.ID]
        /// Whether the changes to each zone are atomic.
        public var atomicByZone: Bool

        /// The maximum number of items with which the engine filled the batch; nil for a batch that the app built.
        private var limit: Int?

        /// The bounds of the batch that the delegate is asked for.
        struct Bounds: Sendable {
            var count = maximumCount
            /// The zones that wait for a retry, also if the delegate ignores the scope.
            var heldZoneIDs: Set<CKRecordZone.ID> = []
        }

        @TaskLocal static var bounds = Bounds()

        /// The maximum number of items per batch: the limit of a request (`CKError.limitExceeded`, Apple's
        /// documentation).
        static let maximumCount = 400
        /// The maximum size of a batch in bytes: the 2 MB limit of a request, less a margin.
        static let maximumSize = 3 << 19

        /// A batch of the first pending changes, as many as fit in one request; nil if no changes are left.
        ///
        /// - Parameters:
        ///   - pendingChanges: the changes to send, in this order.
        ///   - recordProvider: returns the record to save; nil skips the change.
        public init?(
            pendingChanges: [CKSyncEngine.PendingRecordZoneChange],
            recordProvider: @Sendable (CKRecord.ID) async -> (CKRecord?)
        ) async {
            self.init()
            let bounds = Self.bounds
            limit = bounds.count
            var (size, listed) = (0, 0)
            for change in pendingChanges where !bounds.heldZoneIDs.contains(change.recordID.zoneID) {
                if count == bounds.count { break }
                switch change {
                case .deleteRecord(let recordID): recordIDsToDelete.append(recordID)
                case .saveRecord(let recordID):
                    guard let record = await recordProvider(recordID) else { continue }
                    let more = record.fieldsToSend(.changed).sealedSize
                    // A record that exceeds the limit by itself gets a batch of its own, so that the error names the
                    // record.
                    if size > 0, size + more > Self.maximumSize { return }
                    size += more
                    let people = (record as? CKShare)?.shareToModify().listedCount ?? 0
                    if listed > 0, listed + people > ShareToModify.listedPerRequest { return }
                    listed += people
                    recordsToSave.append(record)
                }
            }
            if isEmpty { return nil }
        }

        /// A batch of exactly these changes. It fails with `limitExceeded` if it is too large for one request. Several
        /// changes then stay pending, for smaller batches.
        public init(
            recordsToSave: [CKRecord] = [], recordIDsToDelete: [CKRecord.ID] = [], atomicByZone: Bool = false
        ) {
            self.recordsToSave = recordsToSave
            self.recordIDsToDelete = recordIDsToDelete
            self.atomicByZone = atomicByZone
        }

        var count: Int { recordsToSave.count + recordIDsToDelete.count }
        var isEmpty: Bool { count == 0 }
        /// Whether the engine can make a smaller batch of the same changes.
        var canShrink: Bool { count > 1 && count <= limit ?? 0 }
        /// The zones of the batch's records, in order.
        var zoneIDs: [CKRecordZone.ID] { recordsToSave.map(\.recordID.zoneID) + recordIDsToDelete.map(\.zoneID) }

        /// Removes the changes to other zones.
        mutating func restrict(to isIncluded: (CKRecordZone.ID) -> Bool) {
            recordsToSave.removeAll { !isIncluded($0.recordID.zoneID) }
            recordIDsToDelete.removeAll { !isIncluded($0.zoneID) }
        }

        public var description: String {
            "RecordZoneChangeBatch(recordsToSave: \(recordsToSave.map(\.recordID.recordName)), "
                + "recordIDsToDelete: \(recordIDsToDelete.map(\.recordName)), atomicByZone: \(atomicByZone))"
        }
    }
}
