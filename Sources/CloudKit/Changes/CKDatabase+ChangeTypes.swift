extension CKDatabase {
    /// The kinds of changes to a database's zones.
    public enum DatabaseChange {
        /// A new zone, or a zone with changes.
        public struct Modification: Hashable, Sendable {
            /// The zone with changes since the token.
            public let zoneID: CKRecordZone.ID
        }

        /// A deleted zone.
        public struct Deletion: Hashable, Sendable {
            /// The reason why a zone was deleted.
            public enum Reason: Hashable, Sendable {
                /// The zone was deleted, but neither as part of all the user's data nor by a reset of encrypted data.
                case deleted
                /// The user deleted the zone with all of its data. The app has to delete the device's copy too.
                case purged
                /// The user reset encrypted data. The app may save the device's copy again.
                case encryptedDataReset
            }

            /// The deleted zone.
            public let zoneID: CKRecordZone.ID
            /// The reason of the deletion, by which the app decides what to do with the device's copy.
            public let reason: Reason

            /// Whether the user deleted the zone with all of its data.
            @available(*, deprecated, message: "use reason")
            public var purged: Bool { reason == .purged }
        }
    }

    /// The kinds of changes to a zone's records.
    public enum RecordZoneChange {
        /// A saved record, in its newest state.
        public struct Modification: Hashable, Sendable {
            /// The server's current record, with the desired keys.
            public let record: CKRecord
        }

        /// A deleted record.
        public struct Deletion: Hashable, Sendable {
            /// The ID of the deleted record.
            public let recordID: CKRecord.ID
            /// The type of the deleted record.
            public let recordType: CKRecord.RecordType
        }
    }
}
