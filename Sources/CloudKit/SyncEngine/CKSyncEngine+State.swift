extension CKSyncEngine {
    /// The pending changes and the fetch positions of an engine (CKSyncEngine.State, Apple's documentation).
    public final class State: Sendable {
        struct Content: Sendable {
            var records = PendingList<PendingRecordZoneChange>()
            var database = PendingList<PendingDatabaseChange>()
            var hasPendingUntrackedChanges = false
            /// The logical time at which the app last announced untracked changes.
            var untrackedAdded: UInt64 = 0
            var databaseToken: CKServerChangeToken?
            var zoneTokens: [CKRecordZone.ID: CKServerChangeToken] = [:]
            /// The zones with server changes that are not fetched yet, the oldest change first.
            var unfetchedZoneIDs: [CKRecordZone.ID] = []
            /// The zones to which changes were sent and that no fetch has returned since.
            var sentZoneIDs: Set<CKRecordZone.ID> = []
            /// The token from before the first send to a zone, by zone, for zones that were not fetched before the
            /// send. The first fetch reports only deletions since that token.
            var sentSince: [CKRecordZone.ID: String] = [:]
            /// The zones that were known when the database was last fetched from the beginning, and that no answer has
            /// contained since.
            var doubtfulZoneIDs: Set<CKRecordZone.ID> = []
            /// The IDs of unread records, which came without their content, by zone. The change tokens of the zones are
            /// already past them.
            var unreadRecordIDs: [CKRecordZone.ID: Set<CKRecord.ID>] = [:]
            /// The user record name of the account that the data belongs to; nil if it is unknown.
            var userRecordName: String?
            var subscriptionID: String?
            /// A logical clock that counts the changes of the app.
            var time: UInt64 = 0
            /// Whether the state has changed since the last `stateUpdate`.
            var isUnsaved = false

            /// Returns a zone's ID with `CKCurrentUserDefaultName` if its owner is the account's user record, as the
            /// service returns it (CKRecordZone.ID, Apple's documentation).
            func spelled(_ zoneID: CKRecordZone.ID) -> CKRecordZone.ID {
                zoneID.ownerName == userRecordName ? CKRecordZone.ID(zoneName: zoneID.zoneName) : zoneID
            }

            /// The zones of which the app may have data.
            var knownZoneIDs: Set<CKRecordZone.ID> {
                Set(zoneTokens.keys).union(unfetchedZoneIDs).union(sentZoneIDs)
            }
        }

        private let content: Locked<Content>
        /// The handler that is called after every change by the app. `addsWork` is true if the change adds something to
        /// send.
        private let onChange = Locked<Observer?>(nil)

        /// Not the closure itself: each access through the lock would wrap it once more, until a call overflows the stack.
        private struct Observer: Sendable {
            let observe: @Sendable (_ addsWork: Bool) -> Void
        }

        init(_ serialization: Serialization?) {
            content = Locked(serialization.map { Content($0) } ?? Content())
        }

        // MARK: For the app

        /// The pending changes to records, in order, at most one per record.
        public var pendingRecordZoneChanges: [PendingRecordZoneChange] { content.withLock { $0.records.changes } }

        /// The pending changes to zones, in order, at most one per zone.
        public var pendingDatabaseChanges: [PendingDatabaseChange] { content.withLock { $0.database.changes } }

        /// Whether the delegate has changes to send that the state does not list. The engine sets this to false when
        /// the delegate has no more changes.
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

        /// The zones that a fetch of the database has named and that no fetch has read since.
        public var zoneIDsWithUnfetchedServerChanges: [CKRecordZone.ID] { content.withLock { $0.unfetchedZoneIDs } }

        /// Adds changes to send. The latest change to a record replaces an earlier one.
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

        /// Adds changes to send before all changes to records. The latest change to a zone replaces an earlier one.
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

        /// Applies a change by the app. `body` returns whether it modifies the state. An unmodified state causes no
        /// `stateUpdate`, so an app that repeats a change on every `stateUpdate` does not loop.
        private func change(addsWork: Bool, _ body: (inout Content) -> Bool) {
            content.withLock { content in
                content.time += 1
                if body(&content) { content.isUnsaved = true }
            }
            onChange.withLock { $0 }?.observe(addsWork)
        }

        // MARK: For the engine

        /// Sets the handler that is called after every change by the app.
        func observe(_ handler: (@Sendable (_ addsWork: Bool) -> Void)?) {
            onChange.exchange(handler.map { Observer(observe: $0) })
        }

        func read<T>(_ body: (Content) -> T) -> T { content.withLock { body($0) } }

        /// Updates the state on behalf of the engine, which does not count as a change by the app.
        func update(_ body: (inout Content) -> Void) {
            content.withLock { content in
                content.isUnsaved = true
                body(&content)
            }
        }

        /// Returns the state to store; nil if it has not changed since the last call.
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
    /// Discards the whole state, because the data now belongs to another account.
    mutating func reset(user: String?) {
        let time = time
        self = Self()
        self.time = time
        userRecordName = user
        isUnsaved = true
    }
}
