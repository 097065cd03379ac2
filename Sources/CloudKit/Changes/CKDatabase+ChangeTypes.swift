extension CKDatabase {
    /// What can happen to a database's zones.
    public enum DatabaseChange {
        /// A zone that is new, or in which something changed.
        public struct Modification: Hashable, Sendable {
            /// The zone in which something changed since the token.
            public let zoneID: CKRecordZone.ID
        }

        /// A zone that is gone.
        public struct Deletion: Hashable, Sendable {
            /// Why a zone is gone.
            public enum Reason: Hashable, Sendable {
                /// It was deleted.
                case deleted
                /// The user removed it with all of its data: what the device has of it should go too.
                case purged
                /// The user reset encrypted data: what the device has may be saved again.
                case encryptedDataReset
            }

            /// The zone that is gone, with all its records.
            public let zoneID: CKRecordZone.ID
            /// Why it is gone: what to keep of the device's copy depends on it.
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
            /// The record as the service has it now, with the keys that were asked for.
            public let record: CKRecord
        }

        /// A record that was deleted.
        public struct Deletion: Hashable, Sendable {
            /// The name by which the device finds its copy.
            public let recordID: CKRecord.ID
            /// The type that the deleted record had.
            public let recordType: CKRecord.RecordType
        }
    }
}
