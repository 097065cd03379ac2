extension CKSyncEngine {
    /// The trigger of a fetch or a send.
    public enum SyncReason: Hashable, Sendable, CustomStringConvertible {
        /// The engine's scheduler triggered the fetch or send.
        case scheduled
        /// A call by the app triggered the fetch or send.
        case manual

        public var description: String {
            switch self {
            case .scheduled: "scheduled"
            case .manual: "manual"
            }
        }
    }

    /// The scope of a fetch, its operations' group, and the zones that come first.
    public struct FetchChangesOptions: Sendable, CustomStringConvertible {
        /// A selection of the zones to fetch.
        public enum Scope: Sendable, Equatable, CustomStringConvertible {
            /// Every zone.
            case all
            /// Every zone except these.
            case allExcluding([CKRecordZone.ID])
            /// Only these zones.
            case zoneIDs([CKRecordZone.ID])

            /// Whether the scope includes the zone.
            public func contains(_ zoneID: CKRecordZone.ID) -> Bool {
                switch self {
                case .all: true
                case .allExcluding(let zoneIDs): !zoneIDs.contains(zoneID)
                case .zoneIDs(let zoneIDs): zoneIDs.contains(zoneID)
                }
            }

            func mapping(_ transform: (CKRecordZone.ID) -> CKRecordZone.ID) -> Self {
                switch self {
                case .all: .all
                case .allExcluding(let zoneIDs): .allExcluding(zoneIDs.map(transform))
                case .zoneIDs(let zoneIDs): .zoneIDs(zoneIDs.map(transform))
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

        /// The zones to fetch.
        public var scope: Scope
        /// The group of the fetch's operations.
        public var operationGroup: CKOperationGroup
        /// The zones that are fetched before all others.
        public var prioritizedZoneIDs: [CKRecordZone.ID] = []

        /// Options that fetch all zones, unless `scope` restricts them.
        public init(scope: Scope = .all, operationGroup: CKOperationGroup? = nil) {
            self.scope = scope
            self.operationGroup = operationGroup ?? .named("CKSyncEngine-FetchChanges")
        }

        public var description: String {
            "FetchChangesOptions(scope: \(scope), prioritizedZoneIDs: \(prioritizedZoneIDs.map(\.zoneName)))"
        }
    }

    /// The reason and the options of a fetch.
    public struct FetchChangesContext: Sendable, CustomStringConvertible {
        /// Whether the engine's scheduler or the app started the fetch.
        public let reason: CKSyncEngine.SyncReason
        /// The options that the app passed, or that the engine chose.
        public let options: CKSyncEngine.FetchChangesOptions

        public var description: String { "FetchChangesContext(reason: \(reason), options: \(options))" }
    }

    /// The scope of a send, and its operations' group.
    public struct SendChangesOptions: Sendable, CustomStringConvertible {
        /// A selection of the pending changes to send. The delegate applies it to `pendingRecordZoneChanges`.
        public enum Scope: Sendable, Equatable, CustomStringConvertible {
            /// All pending changes.
            case all
            /// All pending changes outside these zones.
            case allExcluding([CKRecordZone.ID])
            /// The pending changes in these zones.
            case zoneIDs([CKRecordZone.ID])
            /// The pending changes to these records.
            case recordIDs([CKRecord.ID])

            /// Whether the scope includes the record.
            public func contains(_ recordID: CKRecord.ID) -> Bool {
                switch self {
                case .all: true
                case .allExcluding(let zoneIDs): !zoneIDs.contains(recordID.zoneID)
                case .zoneIDs(let zoneIDs): zoneIDs.contains(recordID.zoneID)
                case .recordIDs(let recordIDs): recordIDs.contains(recordID)
                }
            }

            /// Whether the scope includes the change's record.
            public func contains(_ pendingChange: CKSyncEngine.PendingRecordZoneChange) -> Bool {
                contains(pendingChange.recordID)
            }

            /// Whether the scope includes the zone or any record in it.
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

        /// The pending changes to send.
        public var scope: Scope
        /// The group of the send's operations.
        public var operationGroup: CKOperationGroup

        /// Options that send all pending changes, unless `scope` restricts them.
        public init(scope: Scope = .all, operationGroup: CKOperationGroup? = nil) {
            self.scope = scope
            self.operationGroup = operationGroup ?? .named("CKSyncEngine-SendChanges")
        }

        public var description: String { "SendChangesOptions(scope: \(scope))" }
    }

    /// The reason and the options of a send.
    public struct SendChangesContext: Sendable, CustomStringConvertible {
        /// Whether the engine's scheduler or the app started the send.
        public let reason: CKSyncEngine.SyncReason
        /// The options that the app passed, or that the engine chose. The delegate sends only the changes in their
        /// scope.
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
