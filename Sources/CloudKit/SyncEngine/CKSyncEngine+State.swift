extension CKSyncEngine {
    /// The pending changes and the fetch positions of an engine (CKSyncEngine.State, Apple's documentation).
    public final class State: Sendable {
        struct Content: Sendable {
            var records = PendingList<PendingRecordZoneChange>()
            var database = PendingList<PendingDatabaseChange>()
            var hasPendingUntrackedChanges = false
            /// The time of the app's last notice of untracked changes.
            var untrackedAdded: UInt64 = 0
            var databaseToken: CKServerChangeToken?
            var zoneTokens: [CKRecordZone.ID: CKServerChangeToken] = [:]
            /// The zones with unfetched server changes, the oldest change first.
            var unfetchedZoneIDs: [CKRecordZone.ID] = []
            /// The zones that accepted a send, and that no fetch has returned yet.
            var sentZoneIDs: Set<CKRecordZone.ID> = []
            /// For zones sent to before their first fetch, the token from before that send. The first fetch reports
            /// only deletions since that token.
            var sentSince: [CKRecordZone.ID: String] = [:]
            /// The zones known when the database was fetched from its beginning, and not returned since.
            var doubtfulZoneIDs: Set<CKRecordZone.ID> = []
            /// Unread records (without their content) that the zones' tokens have passed.
            var unreadRecordIDs: [CKRecordZone.ID: Set<CKRecord.ID>] = [:]
            /// The user record name of the data's account.
            var userRecordName: String?
            var subscriptionID: String?
            /// A logical clock: counts the app's changes.
            var time: UInt64 = 0
            /// Whether the state changed since the last `stateUpdate`.
            var isUnsaved = false

            /// The zones of which the app may have data.
            var knownZoneIDs: Set<CKRecordZone.ID> {
                Set(zoneTokens.keys).union(unfetchedZoneIDs).union(sentZoneIDs)
            }
        }

        private let content: Locked<Content>
        /// Called after every change by the app; the flag says whether it adds something to send.
        private let onChange = Locked<(@Sendable (_ addsWork: Bool) -> Void)?>(nil)

        init(_ serialization: Serialization?) {
            content = Locked(serialization.map { Content($0) } ?? Content())
        }

        // MARK: For the app

        /// The pending record changes, in order, one for each record.
        public var pendingRecordZoneChanges: [PendingRecordZoneChange] { content.withLock { $0.records.changes } }

        /// The pending zone changes, in order, one for each zone.
        public var pendingDatabaseChanges: [PendingDatabaseChange] { content.withLock { $0.database.changes } }

        /// Whether the delegate has changes to send that the state does not list. The engine resets it when the
        /// delegate has no more.
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

        /// The zones that a fetch of the database named and that no fetch has read since.
        public var zoneIDsWithUnfetchedServerChanges: [CKRecordZone.ID] { content.withLock { $0.unfetchedZoneIDs } }

        /// Adds changes to send. The last change to a record replaces earlier ones.
        public func add(pendingRecordZoneChanges: [PendingRecordZoneChange]) {
            guard !pendingRecordZoneChanges.isEmpty else { return }
            change(addsWork: true) { content in
                pendingRecordZoneChanges.reduce(false) { content.records.add($1, at: content.time) || $0 }
            }
        }

        /// Removes changes that need not be sent.
        public func remove(pendingRecordZoneChanges: [PendingRecordZoneChange]) {
            guard !pendingRecordZoneChanges.isEmpty else { return }
            change(addsWork: false) { content in
                pendingRecordZoneChanges.reduce(false) { content.records.remove($1) || $0 }
            }
        }

        /// Adds changes to send, ahead of record changes. The last change to a zone replaces earlier ones.
        public func add(pendingDatabaseChanges: [PendingDatabaseChange]) {
            guard !pendingDatabaseChanges.isEmpty else { return }
            change(addsWork: true) { content in
                pendingDatabaseChanges.reduce(false) { content.database.add($1, at: content.time) || $0 }
            }
        }

        /// Removes changes that need not be sent.
        public func remove(pendingDatabaseChanges: [PendingDatabaseChange]) {
            guard !pendingDatabaseChanges.isEmpty else { return }
            change(addsWork: false) { content in
                pendingDatabaseChanges.reduce(false) { content.database.remove($1) || $0 }
            }
        }

        /// Applies a change by the app; `body` returns whether it modifies the state. An unmodified state causes no
        /// `stateUpdate`, so an app that repeats a change on every `stateUpdate` does not loop.
        private func change(addsWork: Bool, _ body: (inout Content) -> Bool) {
            content.withLock { content in
                content.time += 1
                if body(&content) { content.isUnsaved = true }
            }
            onChange.withLock { $0 }?(addsWork)
        }

        // MARK: For the engine

        /// Sets the handler called after every change by the app.
        func observe(_ handler: (@Sendable (_ addsWork: Bool) -> Void)?) { onChange.exchange(handler) }

        /// Reads the current state.
        func read<T>(_ body: (Content) -> T) -> T { content.withLock { body($0) } }

        /// Updates the state for the engine.
        func update(_ body: (inout Content) -> Void) {
            content.withLock { content in
                content.isUnsaved = true
                body(&content)
            }
        }

        /// Returns the state to save; nil if it is unchanged since the last call.
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
    /// Discards all state, because the data belongs to another account now.
    mutating func reset(user: String?) {
        let time = time
        self = Self()
        self.time = time
        userRecordName = user
        isUnsaved = true
    }
}
