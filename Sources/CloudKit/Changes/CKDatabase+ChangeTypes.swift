extension CKDatabase {
    /// What can happen to a database's zones.
    public enum DatabaseChange {
        /// A zone that is new, or in which something changed.
        public struct Modification: Hashable, Sendable {
            public let zoneID: CKRecordZone.ID
        }

        /// A zone that is gone.
        public struct Deletion: Hashable, Sendable {
            /// Why a zone is gone.
            public enum Reason: Hashable, Sendable {
                /// Somebody deleted it.
                case deleted
                /// The user removed it with all of its data: what the device has of it should go too.
                case purged
                /// The user reset encrypted data: what the device has may be saved again.
                case encryptedDataReset
            }

            public let zoneID: CKRecordZone.ID
            public let reason: Reason

            /// Whether the user removed the zone with all of its data.
            @available(*, deprecated, message: "use reason")
            public var purged: Bool { reason == .purged }
        }
    }

    /// What can happen to a zone's records.
    public enum RecordZoneChange {
        /// A record that was saved, in its newest state.
        public struct Modification: Hashable, Sendable {
            public let record: CKRecord
        }

        /// A record that was deleted.
        public struct Deletion: Hashable, Sendable {
            public let recordID: CKRecord.ID
            public let recordType: CKRecord.RecordType
        }
    }
}
