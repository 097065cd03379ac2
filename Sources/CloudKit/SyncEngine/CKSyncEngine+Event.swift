extension CKSyncEngine {
    /// What a sync engine tells its delegate (CKSyncEngine.Event, Apple's documentation).
    public enum Event: Sendable, CustomStringConvertible {
        /// The state to keep changed.
        case stateUpdate(Event.StateUpdate)
        /// The account changed.
        case accountChange(Event.AccountChange)
        /// Zones changed on the server or went away.
        case fetchedDatabaseChanges(Event.FetchedDatabaseChanges)
        /// Records changed on the server.
        case fetchedRecordZoneChanges(Event.FetchedRecordZoneChanges)
        /// Changes to zones were sent.
        case sentDatabaseChanges(Event.SentDatabaseChanges)
        /// Changes to records were sent.
        case sentRecordZoneChanges(Event.SentRecordZoneChanges)
        /// A fetch begins.
        case willFetchChanges(Event.WillFetchChanges)
        /// The fetch of a zone begins.
        case willFetchRecordZoneChanges(Event.WillFetchRecordZoneChanges)
        /// The fetch of a zone ended.
        case didFetchRecordZoneChanges(Event.DidFetchRecordZoneChanges)
        /// A fetch ended.
        case didFetchChanges(Event.DidFetchChanges)
        /// The engine begins to send.
        case willSendChanges(Event.WillSendChanges)
        /// The engine ended sending.
        case didSendChanges(Event.DidSendChanges)

        public var description: String {
            switch self {
            case .stateUpdate(let event): "\(event)"
            case .accountChange(let event): "\(event)"
            case .fetchedDatabaseChanges(let event): "\(event)"
            case .fetchedRecordZoneChanges(let event): "\(event)"
            case .sentDatabaseChanges(let event): "\(event)"
            case .sentRecordZoneChanges(let event): "\(event)"
            case .willFetchChanges(let event): "\(event)"
            case .willFetchRecordZoneChanges(let event): "\(event)"
            case .didFetchRecordZoneChanges(let event): "\(event)"
            case .didFetchChanges(let event): "\(event)"
            case .willSendChanges(let event): "\(event)"
            case .didSendChanges(let event): "\(event)"
            }
        }
    }
}

extension CKSyncEngine.Event {
    /// The state to keep, together with the data that the events before this one brought.
    public struct StateUpdate: Sendable, CustomStringConvertible {
        /// What the next engine is to be configured with.
        public let stateSerialization: CKSyncEngine.State.Serialization

        public var description: String { "StateUpdate" }
    }

    /// The account changed. When a user went, the engine has forgotten what it knew, pending changes included.
    public struct AccountChange: Sendable, CustomStringConvertible {
        public enum ChangeType: Equatable, Sendable {
            case signIn(currentUser: CKRecord.ID)
            case signOut(previousUser: CKRecord.ID)
            case switchAccounts(previousUser: CKRecord.ID, currentUser: CKRecord.ID)
        }

        public let changeType: ChangeType

        public var description: String {
            switch changeType {
            case .signIn(let user): "AccountChange(signIn: \(user.recordName))"
            case .signOut(let user): "AccountChange(signOut: \(user.recordName))"
            case .switchAccounts(let previous, let current):
                "AccountChange(switchAccounts: \(previous.recordName) to \(current.recordName))"
            }
        }
    }

    /// Zones that changed on the server, and zones that went away.
    public struct FetchedDatabaseChanges: Sendable, CustomStringConvertible {
        public let modifications: [CKDatabase.DatabaseChange.Modification]
        public let deletions: [CKDatabase.DatabaseChange.Deletion]

        public var description: String {
            "FetchedDatabaseChanges(modifications: \(modifications.map(\.zoneID.zoneName)), "
                + "deletions: \(deletions.map(\.zoneID.zoneName)))"
        }
    }

    /// Records that changed on the server, and records that were deleted there.
    public struct FetchedRecordZoneChanges: Sendable, CustomStringConvertible {
        public let modifications: [CKDatabase.RecordZoneChange.Modification]
        public let deletions: [CKDatabase.RecordZoneChange.Deletion]

        public var description: String {
            "FetchedRecordZoneChanges(modifications: \(modifications.map(\.record.recordID.recordName)), "
                + "deletions: \(deletions.map(\.recordID.recordName)))"
        }
    }

    /// What became of changes to zones.
    public struct SentDatabaseChanges: Sendable, CustomStringConvertible {
        public struct FailedZoneSave: Sendable, CustomStringConvertible {
            public let zone: CKRecordZone
            public let error: CKError

            public var description: String { "\(zone.zoneID.zoneName): \(error)" }
        }

        public let savedZones: [CKRecordZone]
        public let failedZoneSaves: [FailedZoneSave]
        public let deletedZoneIDs: [CKRecordZone.ID]
        public let failedZoneDeletes: [CKRecordZone.ID: CKError]

        public var description: String {
            "SentDatabaseChanges(savedZones: \(savedZones.map(\.zoneID.zoneName)), "
                + "failedZoneSaves: \(failedZoneSaves), deletedZoneIDs: \(deletedZoneIDs.map(\.zoneName)), "
                + "failedZoneDeletes: \(failedZoneDeletes))"
        }
    }

    /// What became of changes to records.
    public struct SentRecordZoneChanges: Sendable, CustomStringConvertible {
        public struct FailedRecordSave: Sendable, CustomStringConvertible {
            public let record: CKRecord
            public let error: CKError

            public var description: String { "\(record.recordID.recordName): \(error)" }
        }

        public let savedRecords: [CKRecord]
        public let failedRecordSaves: [FailedRecordSave]
        public let deletedRecordIDs: [CKRecord.ID]
        public let failedRecordDeletes: [CKRecord.ID: CKError]

        public var description: String {
            "SentRecordZoneChanges(savedRecords: \(savedRecords.map(\.recordID.recordName)), "
                + "failedRecordSaves: \(failedRecordSaves), deletedRecordIDs: \(deletedRecordIDs.map(\.recordName)), "
                + "failedRecordDeletes: \(failedRecordDeletes))"
        }
    }

    /// A fetch begins.
    public struct WillFetchChanges: Sendable, CustomStringConvertible {
        public let context: CKSyncEngine.FetchChangesContext

        public var description: String { "WillFetchChanges(context: \(context))" }
    }

    /// The fetch of a zone begins.
    public struct WillFetchRecordZoneChanges: Sendable, CustomStringConvertible {
        public let zoneID: CKRecordZone.ID

        public var description: String { "WillFetchRecordZoneChanges(zoneID: \(zoneID.zoneName))" }
    }

    /// The fetch of a zone ended; with an error, it goes on another time.
    public struct DidFetchRecordZoneChanges: Sendable, CustomStringConvertible {
        public let zoneID: CKRecordZone.ID
        public let error: CKError?

        public var description: String {
            "DidFetchRecordZoneChanges(zoneID: \(zoneID.zoneName), error: \(error.map { "\($0)" } ?? "nil"))"
        }
    }

    /// A fetch ended.
    public struct DidFetchChanges: Sendable, CustomStringConvertible {
        public let context: CKSyncEngine.FetchChangesContext

        public var description: String { "DidFetchChanges(context: \(context))" }
    }

    /// The engine begins to send.
    public struct WillSendChanges: Sendable, CustomStringConvertible {
        public let context: CKSyncEngine.SendChangesContext

        public var description: String { "WillSendChanges(context: \(context))" }
    }

    /// The engine ended sending.
    public struct DidSendChanges: Sendable, CustomStringConvertible {
        public let context: CKSyncEngine.SendChangesContext

        public var description: String { "DidSendChanges(context: \(context))" }
    }
}
