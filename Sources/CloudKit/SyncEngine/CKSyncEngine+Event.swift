extension CKSyncEngine {
    /// An event of a sync engine for its delegate (CKSyncEngine.Event, Apple's documentation).
    public enum Event: Sendable, CustomStringConvertible {
        /// The engine's state changed, and the app has to store it.
        case stateUpdate(Event.StateUpdate)
        /// The account changed.
        case accountChange(Event.AccountChange)
        /// Zones changed on the server or were deleted there.
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
    /// The state that the app has to store, together with the data of the earlier events.
    public struct StateUpdate: Sendable, CustomStringConvertible {
        /// The serialization for the configuration of the next engine.
        public let stateSerialization: CKSyncEngine.State.Serialization

        public var description: String { "StateUpdate" }
    }

    /// A change of the account. After a sign-out or a switch, the engine has discarded all its state, including the
    /// pending changes.
    public struct AccountChange: Sendable, CustomStringConvertible {
        /// The kind of account change, with the user records of the accounts concerned.
        public enum ChangeType: Equatable, Sendable {
            /// An account uses the engine for the first time, or has signed in again. The device's data can be sent.
            case signIn(currentUser: CKRecord.ID)
            /// The account signed out, so the app has to discard the account's data.
            case signOut(previousUser: CKRecord.ID)
            /// Another account signed in, so the app has to discard the former account's data.
            case switchAccounts(previousUser: CKRecord.ID, currentUser: CKRecord.ID)
        }

        /// The kind of change, with the accounts concerned.
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

    /// Zones that changed on the server, and zones that were deleted there.
    public struct FetchedDatabaseChanges: Sendable, CustomStringConvertible {
        /// The new zones, and the zones with changes.
        public let modifications: [CKDatabase.DatabaseChange.Modification]
        /// The deleted zones, each with its reason.
        public let deletions: [CKDatabase.DatabaseChange.Deletion]

        public var description: String {
            "FetchedDatabaseChanges(modifications: \(modifications.map(\.zoneID.zoneName)), "
                + "deletions: \(deletions.map(\.zoneID.zoneName)))"
        }
    }

    /// Records that changed on the server, and records that were deleted there.
    public struct FetchedRecordZoneChanges: Sendable, CustomStringConvertible {
        /// The new and changed records, in the server's version.
        public let modifications: [CKDatabase.RecordZoneChange.Modification]
        /// The deleted records.
        public let deletions: [CKDatabase.RecordZoneChange.Deletion]

        public var description: String {
            "FetchedRecordZoneChanges(modifications: \(modifications.map(\.record.recordID.recordName)), "
                + "deletions: \(deletions.map(\.recordID.recordName)))"
        }
    }

    /// The results of sending changes to zones.
    public struct SentDatabaseChanges: Sendable, CustomStringConvertible {
        /// A zone that the service refused.
        public struct FailedZoneSave: Sendable, CustomStringConvertible {
            /// The zone to save.
            public let zone: CKRecordZone
            /// The reason the save failed.
            public let error: CKError

            public var description: String { "\(zone.zoneID.zoneName): \(error)" }
        }

        /// The saved zones, in the server's version.
        public let savedZones: [CKRecordZone]
        /// The zones whose saves failed. The engine does not retry them unless the app adds them again.
        public let failedZoneSaves: [FailedZoneSave]
        /// The zones deleted from the service.
        public let deletedZoneIDs: [CKRecordZone.ID]
        /// The zones whose deletion failed, with their errors.
        public let failedZoneDeletes: [CKRecordZone.ID: CKError]

        public var description: String {
            "SentDatabaseChanges(savedZones: \(savedZones.map(\.zoneID.zoneName)), "
                + "failedZoneSaves: \(failedZoneSaves), deletedZoneIDs: \(deletedZoneIDs.map(\.zoneName)), "
                + "failedZoneDeletes: \(failedZoneDeletes))"
        }
    }

    /// The results of sending changes to records.
    public struct SentRecordZoneChanges: Sendable, CustomStringConvertible {
        /// A record that the service refused.
        public struct FailedRecordSave: Sendable, CustomStringConvertible {
            /// The record to save.
            public let record: CKRecord
            /// The reason the save failed. For `serverRecordChanged`, the error's `serverRecord` is the service's
            /// record.
            public let error: CKError

            public var description: String { "\(record.recordID.recordName): \(error)" }
        }

        /// The saved records with the service's change tags. The app stores the records for the next edit.
        public let savedRecords: [CKRecord]
        /// The records whose saves failed. The app has to resolve each failure, and add the change again.
        public let failedRecordSaves: [FailedRecordSave]
        /// The records deleted from the service.
        public let deletedRecordIDs: [CKRecord.ID]
        /// The records whose deletion failed, with their errors.
        public let failedRecordDeletes: [CKRecord.ID: CKError]

        public var description: String {
            "SentRecordZoneChanges(savedRecords: \(savedRecords.map(\.recordID.recordName)), "
                + "failedRecordSaves: \(failedRecordSaves), deletedRecordIDs: \(deletedRecordIDs.map(\.recordName)), "
                + "failedRecordDeletes: \(failedRecordDeletes))"
        }
    }

    /// The event that a fetch begins.
    public struct WillFetchChanges: Sendable, CustomStringConvertible {
        /// The reason and the options of the fetch.
        public let context: CKSyncEngine.FetchChangesContext

        public var description: String { "WillFetchChanges(context: \(context))" }
    }

    /// The event that the fetch of a zone begins.
    public struct WillFetchRecordZoneChanges: Sendable, CustomStringConvertible {
        /// The zone that is fetched next.
        public let zoneID: CKRecordZone.ID

        public var description: String { "WillFetchRecordZoneChanges(zoneID: \(zoneID.zoneName))" }
    }

    /// The event that the fetch of a zone ended. After an error, a later fetch continues the fetch of the zone.
    public struct DidFetchRecordZoneChanges: Sendable, CustomStringConvertible {
        /// The zone that was fetched.
        public let zoneID: CKRecordZone.ID
        /// The reason the fetch is incomplete; nil if it is complete.
        public let error: CKError?

        public var description: String {
            "DidFetchRecordZoneChanges(zoneID: \(zoneID.zoneName), error: \(error.map { "\($0)" } ?? "nil"))"
        }
    }

    /// The event that a fetch ended.
    public struct DidFetchChanges: Sendable, CustomStringConvertible {
        /// The reason and the options of the fetch.
        public let context: CKSyncEngine.FetchChangesContext

        public var description: String { "DidFetchChanges(context: \(context))" }
    }

    /// The event that the engine begins to send.
    public struct WillSendChanges: Sendable, CustomStringConvertible {
        /// The reason and the options of the send.
        public let context: CKSyncEngine.SendChangesContext

        public var description: String { "WillSendChanges(context: \(context))" }
    }

    /// The event that the engine ended sending.
    public struct DidSendChanges: Sendable, CustomStringConvertible {
        /// The reason and the options of the send.
        public let context: CKSyncEngine.SendChangesContext

        public var description: String { "DidSendChanges(context: \(context))" }
    }
}
