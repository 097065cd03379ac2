extension CKSyncEngine {
    /// Why the engine fetches or sends.
    public enum SyncReason: Hashable, Sendable, CustomStringConvertible {
        /// By itself.
        case scheduled
        /// It was told to.
        case manual

        public var description: String {
            switch self {
            case .scheduled: "scheduled"
            case .manual: "manual"
            }
        }
    }

    /// What to fetch.
    public struct FetchChangesOptions: Sendable, CustomStringConvertible {
        /// Of which zones.
        public enum Scope: Sendable, Equatable, CustomStringConvertible {
            /// Every zone.
            case all
            /// Every zone but these.
            case allExcluding([CKRecordZone.ID])
            /// These and no others.
            case zoneIDs([CKRecordZone.ID])

            /// Whether the scope has that zone.
            public func contains(_ zoneID: CKRecordZone.ID) -> Bool {
                switch self {
                case .all: true
                case .allExcluding(let zoneIDs): !zoneIDs.contains(zoneID)
                case .zoneIDs(let zoneIDs): zoneIDs.contains(zoneID)
                }
            }

            public var description: String {
                switch self {
                case .all: "all"
                case .allExcluding(let zoneIDs): "allExcluding(\(zoneIDs.map(\.zoneName)))"
                case .zoneIDs(let zoneIDs): "zoneIDs(\(zoneIDs.map(\.zoneName)))"
                }
            }
        }

        /// Which zones are fetched.
        public var scope: Scope
        /// The group of the operations that do it.
        public var operationGroup: CKOperationGroup
        /// The zones that come before the others.
        public var prioritizedZoneIDs: [CKRecordZone.ID] = []

        /// Fetches everything, unless a scope says less.
        public init(scope: Scope = .all, operationGroup: CKOperationGroup? = nil) {
            self.scope = scope
            self.operationGroup = operationGroup ?? .named("CKSyncEngine-FetchChanges")
        }

        public var description: String {
            "FetchChangesOptions(scope: \(scope), prioritizedZoneIDs: \(prioritizedZoneIDs.map(\.zoneName)))"
        }
    }

    /// Why and what the engine fetches.
    public struct FetchChangesContext: Sendable, CustomStringConvertible {
        /// Whether the engine began by itself or was told to.
        public let reason: CKSyncEngine.SyncReason
        /// What the app asked for, or the engine chose.
        public let options: CKSyncEngine.FetchChangesOptions

        public var description: String { "FetchChangesContext(reason: \(reason), options: \(options))" }
    }

    /// What to send.
    public struct SendChangesOptions: Sendable, CustomStringConvertible {
        /// Of which zones or records. It is for the delegate to heed: filter `pendingRecordZoneChanges` by it.
        public enum Scope: Sendable, Equatable, CustomStringConvertible {
            /// Everything that is pending.
            case all
            /// Everything but what is in these zones.
            case allExcluding([CKRecordZone.ID])
            /// What is in these zones.
            case zoneIDs([CKRecordZone.ID])
            /// These records alone.
            case recordIDs([CKRecord.ID])

            /// Whether the scope has that record.
            public func contains(_ recordID: CKRecord.ID) -> Bool {
                switch self {
                case .all: true
                case .allExcluding(let zoneIDs): !zoneIDs.contains(recordID.zoneID)
                case .zoneIDs(let zoneIDs): zoneIDs.contains(recordID.zoneID)
                case .recordIDs(let recordIDs): recordIDs.contains(recordID)
                }
            }

            /// Whether the scope has that change's record.
            public func contains(_ pendingChange: CKSyncEngine.PendingRecordZoneChange) -> Bool {
                contains(pendingChange.recordID)
            }

            /// Whether the scope has that zone, or a record of it.
            func contains(zone zoneID: CKRecordZone.ID) -> Bool {
                switch self {
                case .all: true
                case .allExcluding(let zoneIDs): !zoneIDs.contains(zoneID)
                case .zoneIDs(let zoneIDs): zoneIDs.contains(zoneID)
                case .recordIDs(let recordIDs): recordIDs.contains { $0.zoneID == zoneID }
                }
            }

            public var description: String {
                switch self {
                case .all: "all"
                case .allExcluding(let zoneIDs): "allExcluding(\(zoneIDs.map(\.zoneName)))"
                case .zoneIDs(let zoneIDs): "zoneIDs(\(zoneIDs.map(\.zoneName)))"
                case .recordIDs(let recordIDs): "recordIDs(\(recordIDs.map(\.recordName)))"
                }
            }
        }

        /// Which of the pending changes are sent.
        public var scope: Scope
        /// The group of the operations that do it.
        public var operationGroup: CKOperationGroup

        /// Sends everything that is pending, unless a scope says less.
        public init(scope: Scope = .all, operationGroup: CKOperationGroup? = nil) {
            self.scope = scope
            self.operationGroup = operationGroup ?? .named("CKSyncEngine-SendChanges")
        }

        public var description: String { "SendChangesOptions(scope: \(scope))" }
    }

    /// Why and what the engine sends.
    public struct SendChangesContext: Sendable, CustomStringConvertible {
        /// Whether the engine began by itself or was told to.
        public let reason: CKSyncEngine.SyncReason
        /// What the app asked for, or the engine chose: send what its scope contains.
        public let options: CKSyncEngine.SendChangesOptions

        public var description: String { "SendChangesContext(reason: \(reason), options: \(options))" }
    }
}

extension CKOperationGroup {
    fileprivate static func named(_ name: String) -> CKOperationGroup {
        let group = CKOperationGroup()
        group.name = name
        return group
    }
}
