extension CKSyncEngine {
    /// What is to be sent, and how far the engine has come (CKSyncEngine.State, Apple's documentation).
    public final class State: Sendable {
        struct Content: Sendable {
            var records = PendingList<PendingRecordZoneChange>()
            var database = PendingList<PendingDatabaseChange>()
            var hasPendingUntrackedChanges = false
            /// When the app last said so.
            var untrackedAdded: UInt64 = 0
            var databaseToken: CKServerChangeToken?
            var zoneTokens: [CKRecordZone.ID: CKServerChangeToken] = [:]
            /// The zones that changed on the server and were not fetched, the oldest change first.
            var unfetchedZoneIDs: [CKRecordZone.ID] = []
            /// The zones that the service was seen to have when something was sent to them, and of which no fetch told.
            var sentZoneIDs: Set<CKRecordZone.ID> = []
            /// The tokens of zones to which something was sent before anything of them was fetched, from before that. A first
            /// fetch tells of no deletions but those since.
            var sentSince: [CKRecordZone.ID: String] = [:]
            /// The zones that were known when the database was fetched from its beginning and were not seen since.
            var doubtfulZoneIDs: Set<CKRecordZone.ID> = []
            /// The records that came without their content, which the zones' tokens have passed.
            var unreadRecordIDs: [CKRecordZone.ID: Set<CKRecord.ID>] = [:]
            /// Whose data this is.
            var userRecordName: String?
            var subscriptionID: String?
            /// Counts the app's changes.
            var time: UInt64 = 0
            /// Whether something changed since the last `stateUpdate`.
            var isUnsaved = false

            /// The zones that the app may have something of.
            var knownZoneIDs: Set<CKRecordZone.ID> {
                Set(zoneTokens.keys).union(unfetchedZoneIDs).union(sentZoneIDs)
            }
        }

        private let content: Locked<Content>
        /// Called after every change of the app's; the flag says whether there is something new to send.
        private let onChange = Locked<(@Sendable (_ addsWork: Bool) -> Void)?>(nil)

        init(_ serialization: Serialization?) {
            content = Locked(serialization.map { Content($0) } ?? Content())
        }

        // MARK: For the app

        /// The changes to records that are to be sent, in their order, each record once.
        public var pendingRecordZoneChanges: [PendingRecordZoneChange] { content.withLock { $0.records.changes } }

        /// The changes to zones that are to be sent, in their order, each zone once.
        public var pendingDatabaseChanges: [PendingDatabaseChange] { content.withLock { $0.database.changes } }

        /// Whether there are changes to send that only the delegate knows. The engine resets it when the delegate has no
        /// more.
        public var hasPendingUntrackedChanges: Bool {
            get { content.withLock { $0.hasPendingUntrackedChanges } }
            set {
                change(addsWork: newValue) { content in
                    defer { content.hasPendingUntrackedChanges = newValue }
                    content.untrackedAdded = content.time
                    return content.hasPendingUntrackedChanges != newValue
                }
            }
        }

        /// The zones that changed on the server and were not fetched yet.
        public var zoneIDsWithUnfetchedServerChanges: [CKRecordZone.ID] { content.withLock { $0.unfetchedZoneIDs } }

        /// Adds changes to send. Of several changes to one record the last counts.
        public func add(pendingRecordZoneChanges: [PendingRecordZoneChange]) {
            guard !pendingRecordZoneChanges.isEmpty else { return }
            change(addsWork: true) { content in
                pendingRecordZoneChanges.reduce(false) { content.records.add($1, at: content.time) || $0 }
            }
        }

        /// Takes changes out that need not be sent.
        public func remove(pendingRecordZoneChanges: [PendingRecordZoneChange]) {
            guard !pendingRecordZoneChanges.isEmpty else { return }
            change(addsWork: false) { content in
                pendingRecordZoneChanges.reduce(false) { content.records.remove($1) || $0 }
            }
        }

        /// Adds changes to send, which go before those of records. Of several changes to one zone the last counts.
        public func add(pendingDatabaseChanges: [PendingDatabaseChange]) {
            guard !pendingDatabaseChanges.isEmpty else { return }
            change(addsWork: true) { content in
                pendingDatabaseChanges.reduce(false) { content.database.add($1, at: content.time) || $0 }
            }
        }

        /// Takes changes out that need not be sent.
        public func remove(pendingDatabaseChanges: [PendingDatabaseChange]) {
            guard !pendingDatabaseChanges.isEmpty else { return }
            change(addsWork: false) { content in
                pendingDatabaseChanges.reduce(false) { content.database.remove($1) || $0 }
            }
        }

        /// Makes a change of the app's; `body` says whether it changes what there is to save. One that does not gives out
        /// no state: an app that repeats it at every `stateUpdate` would never see the end of them.
        private func change(addsWork: Bool, _ body: (inout Content) -> Bool) {
            content.withLock { content in
                content.time += 1
                if body(&content) { content.isUnsaved = true }
            }
            onChange.withLock { $0 }?(addsWork)
        }

        // MARK: For the engine

        /// Calls `handler` after every change of the app's.
        func observe(_ handler: (@Sendable (_ addsWork: Bool) -> Void)?) { onChange.exchange(handler) }

        /// What the state is at the moment.
        func read<T>(_ body: (Content) -> T) -> T { content.withLock { body($0) } }

        /// Changes the state as the engine's work goes on.
        func update(_ body: (inout Content) -> Void) {
            content.withLock { content in
                content.isUnsaved = true
                body(&content)
            }
        }

        /// The state to save, if it changed since it was last given.
        func takeUnsaved() -> Serialization? {
            content.withLock { content in
                guard content.isUnsaved else { return nil }
                content.isUnsaved = false
                return Serialization(content)
            }
        }
    }
}

extension CKSyncEngine.State.Content {
    /// Forgets everything: the data belongs to another account now.
    mutating func reset(user: String?) {
        let time = time
        self = Self()
        self.time = time
        userRecordName = user
        isUnsaved = true
    }
}
