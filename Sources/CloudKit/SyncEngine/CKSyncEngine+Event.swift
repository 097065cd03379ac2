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
        /// What happened to the account, by the user records of whom it concerns.
        public enum ChangeType: Equatable, Sendable {
            /// An account uses the engine for the first time, or signed in again: what is on the device can be sent.
            case signIn(currentUser: CKRecord.ID)
            /// The account signed out: discard what is the account's.
            case signOut(previousUser: CKRecord.ID)
            /// Another account is signed in: discard what was the former one's.
            case switchAccounts(previousUser: CKRecord.ID, currentUser: CKRecord.ID)
        }

        /// What happened, and to whom.
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
        /// The zones that are new or in which something changed.
        public let modifications: [CKDatabase.DatabaseChange.Modification]
        /// The zones that are gone, each with its reason.
        public let deletions: [CKDatabase.DatabaseChange.Deletion]

        public var description: String {
            "FetchedDatabaseChanges(modifications: \(modifications.map(\.zoneID.zoneName)), "
                + "deletions: \(deletions.map(\.zoneID.zoneName)))"
        }
    }

    /// Records that changed on the server, and records that were deleted there.
    public struct FetchedRecordZoneChanges: Sendable, CustomStringConvertible {
        /// The records that are new or changed, as the service has them.
        public let modifications: [CKDatabase.RecordZoneChange.Modification]
        /// The records that are gone.
        public let deletions: [CKDatabase.RecordZoneChange.Deletion]

        public var description: String {
            "FetchedRecordZoneChanges(modifications: \(modifications.map(\.record.recordID.recordName)), "
                + "deletions: \(deletions.map(\.recordID.recordName)))"
        }
    }

    /// What became of changes to zones.
    public struct SentDatabaseChanges: Sendable, CustomStringConvertible {
        /// A zone that the service refused.
        public struct FailedZoneSave: Sendable, CustomStringConvertible {
            /// What was to be saved.
            public let zone: CKRecordZone
            /// Why it was not.
            public let error: CKError

            public var description: String { "\(zone.zoneID.zoneName): \(error)" }
        }

        /// What the service has now.
        public let savedZones: [CKRecordZone]
        /// What was refused; the engine does not try these again unless they are added again.
        public let failedZoneSaves: [FailedZoneSave]
        /// What is gone from the service.
        public let deletedZoneIDs: [CKRecordZone.ID]
        /// What could not be removed, and why.
        public let failedZoneDeletes: [CKRecordZone.ID: CKError]

        public var description: String {
            "SentDatabaseChanges(savedZones: \(savedZones.map(\.zoneID.zoneName)), "
                + "failedZoneSaves: \(failedZoneSaves), deletedZoneIDs: \(deletedZoneIDs.map(\.zoneName)), "
                + "failedZoneDeletes: \(failedZoneDeletes))"
        }
    }

    /// What became of changes to records.
    public struct SentRecordZoneChanges: Sendable, CustomStringConvertible {
        /// A record that the service refused.
        public struct FailedRecordSave: Sendable, CustomStringConvertible {
            /// What was to be saved.
            public let record: CKRecord
            /// Why it was not. `serverRecordChanged` has the service's record in its `serverRecord`.
            public let error: CKError

            public var description: String { "\(record.recordID.recordName): \(error)" }
        }

        /// The records with the service's change tags: keep them for the next edit.
        public let savedRecords: [CKRecord]
        /// What was refused; settle it, and add the change again.
        public let failedRecordSaves: [FailedRecordSave]
        /// What is gone from the service.
        public let deletedRecordIDs: [CKRecord.ID]
        /// What could not be removed, and why.
        public let failedRecordDeletes: [CKRecord.ID: CKError]

        public var description: String {
            "SentRecordZoneChanges(savedRecords: \(savedRecords.map(\.recordID.recordName)), "
                + "failedRecordSaves: \(failedRecordSaves), deletedRecordIDs: \(deletedRecordIDs.map(\.recordName)), "
                + "failedRecordDeletes: \(failedRecordDeletes))"
        }
    }

    /// A fetch begins.
    public struct WillFetchChanges: Sendable, CustomStringConvertible {
        /// Why the engine fetches, and what.
        public let context: CKSyncEngine.FetchChangesContext

        public var description: String { "WillFetchChanges(context: \(context))" }
    }

    /// The fetch of a zone begins.
    public struct WillFetchRecordZoneChanges: Sendable, CustomStringConvertible {
        /// The zone that is next.
        public let zoneID: CKRecordZone.ID

        public var description: String { "WillFetchRecordZoneChanges(zoneID: \(zoneID.zoneName))" }
    }

    /// The fetch of a zone ended; with an error, it goes on another time.
    public struct DidFetchRecordZoneChanges: Sendable, CustomStringConvertible {
        /// The zone that was fetched.
        public let zoneID: CKRecordZone.ID
        /// Why not all of it could be fetched; nil if it could.
        public let error: CKError?

        public var description: String {
            "DidFetchRecordZoneChanges(zoneID: \(zoneID.zoneName), error: \(error.map { "\($0)" } ?? "nil"))"
        }
    }

    /// A fetch ended.
    public struct DidFetchChanges: Sendable, CustomStringConvertible {
        /// Why the engine fetched, and what.
        public let context: CKSyncEngine.FetchChangesContext

        public var description: String { "DidFetchChanges(context: \(context))" }
    }

    /// The engine begins to send.
    public struct WillSendChanges: Sendable, CustomStringConvertible {
        /// Why the engine sends, and what.
        public let context: CKSyncEngine.SendChangesContext

        public var description: String { "WillSendChanges(context: \(context))" }
    }

    /// The engine ended sending.
    public struct DidSendChanges: Sendable, CustomStringConvertible {
        /// Why the engine sent, and what.
        public let context: CKSyncEngine.SendChangesContext

        public var description: String { "DidSendChanges(context: \(context))" }
    }
}
