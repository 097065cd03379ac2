import Synchronization

/// One send: first the changes to zones, then the changes to records, batch by batch.
struct SyncSend: Sendable {
    private let core: SyncEngineCore
    private let account: AccountSession
    /// The engine's database, bound to the account of this send.
    private let database: CKDatabase
    private let context: CKSyncEngine.SendChangesContext
    private let pass: Locked<SyncPass>

    init(
        _ core: SyncEngineCore, _ account: AccountSession, _ context: CKSyncEngine.SendChangesContext,
        _ pass: Locked<SyncPass> = Locked(SyncPass())
    ) {
        self.core = core
        self.account = account
        database = core.database.bound(to: account)
        self.context = context
        self.pass = pass
    }

    func run() async throws(CKError) {
        try await core.tracking(.send, pass) { () throws(CKError) in try await send() }
    }

    private func send() async throws(CKError) {
        try await core.requireAccount(account)
        await core.hand(.willSendChanges(.init(context: context)))
        let failure = await sendAll()
        await core.handOutState()
        await core.hand(.didSendChanges(.init(context: context)))
        await core.handOutState()
        if let failure { throw failure }
    }

    /// Sends until nothing is left or a request fails. Returns the failure; nil for none. Changes that the app adds to
    /// resolve a failure go with the next send, so that the caller of this one learns of the failure. A zone that is busy
    /// delays no other: the send goes on without it, and returns its error at the end.
    private func sendAll() async -> CKError? {
        while true {
            if Task.isCancelled || core.hasNoDelegate { return .cancelled(nil) }
            if let failure = account.changeFailure { return failure }
            let context = contextOfPass
            let scope = context.options.scope
            let zones = core.state.read { content in
                content.database.changes.filter { scope.contains(zone: $0.zoneID) }
            }
            if !zones.isEmpty {
                if let failure = await send(pass.isolatesZones ? Array(zones.prefix(1)) : zones) { return failure }
                continue
            }
            let (isUntracked, time) = core.state.read { ($0.hasPendingUntrackedChanges, $0.time) }
            // The delegate is asked until it has no batch: it may keep changes that the state does not have.
            guard let batch = await nextBatch(context) else {
                // The delegate may have untracked changes outside of the scope.
                if isUntracked, scope == .all {
                    core.state.update { content in
                        if content.untrackedAdded <= time { content.hasPendingUntrackedChanges = false }
                    }
                }
                break
            }
            if let failure = await send(batch, asOf: time) { return failure }
        }
        pass.isComplete = true
        return pass.failure
    }

    /// The context whose scope lacks the zones that are busy.
    private var contextOfPass: CKSyncEngine.SendChangesContext {
        var options = context.options
        options.scope = options.scope.excluding(pass.heldZoneIDs)
        return .init(reason: context.reason, options: options)
    }

    /// Asks the delegate for a batch. Returns what can be sent of it now; nil for nothing.
    private func nextBatch(
        _ context: CKSyncEngine.SendChangesContext
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let (limit, held) = pass.withLock { ($0.batchLimit, $0.heldZoneIDs) }
        let batch = await core.call { delegate, engine in
            await CKSyncEngine.RecordZoneChangeBatch.$bounds.withValue(.init(count: limit, heldZoneIDs: held)) {
                await delegate.nextRecordZoneChangeBatch(context, syncEngine: engine)
            }
        }
        guard var batch else { return nil }
        // A delegate may have built it without the scope.
        batch.restrict { !held.contains($0) }
        if pass.isolatesZones, let first = batch.zoneIDs.first { batch.restrict { $0 == first } }
        return batch.isEmpty ? nil : batch
    }

    /// Notes the result of a request. Returns the failure that ends the send; nil if the send goes on.
    private func note<Item, ID>(
        _ report: SentItems<Item, ID>, _ failure: CKError?, of zoneIDs: Set<CKRecordZone.ID>
    ) -> CKError? {
        let partialFailure = report.failure(of: database)
        return pass.withLock { pass in
            pass.fail(failure == nil ? report.failedZoneIDs : zoneIDs)
            if let failure {
                if failure.code != .zoneBusy { return failure }
                if zoneIDs.count > 1 { pass.isolatesZones = true } else { pass.hold(zoneIDs, after: failure) }
                return nil
            }
            if let retried = report.retried { pass.hold(report.retriedZoneIDs, after: retried) }
            return partialFailure
        }
    }

    // MARK: Zones

    private func send(_ changes: [CKSyncEngine.PendingDatabaseChange]) async -> CKError? {
        let time = core.state.read { $0.time }
        let changes = changes.prefix(CKSyncEngine.RecordZoneChangeBatch.maximumCount)
        var (zones, zoneIDs): ([CKRecordZone], [CKRecordZone.ID]) = ([], [])
        for change in changes {
            switch change {
            case .saveZone(let zone): zones.append(zone)
            case .deleteZone(let zoneID): zoneIDs.append(zoneID)
            }
        }
        var saves: [CKRecordZone.ID: Result<CKRecordZone, any Error>] = [:]
        var deletes: [CKRecordZone.ID: Result<Void, any Error>] = [:]
        var failure: CKError?
        do {
            let (toSave, toDelete) = (zones, zoneIDs)
            (saves, deletes) = try await database.configuredWith(group: context.options.operationGroup) {
                try await $0.modifyRecordZones(saving: toSave, deleting: toDelete)
            }
        } catch {
            failure = CKError(any: error)
            for zone in zones { saves[zone.zoneID] = .failure(error) }
            for zoneID in zoneIDs { deletes[zoneID] = .failure(error) }
        }
        var report = SentItems<CKRecordZone, CKRecordZone.ID>()
        for zone in zones { report.note(saved: zone, zone.zoneID, saves[zone.zoneID]) }
        for zoneID in zoneIDs { report.note(deleted: zoneID, deletes[zoneID]) }
        await hand(report, asOf: time)
        let ended = note(report, failure, of: Set(changes.map(\.zoneID)))
        // A saved zone is no progress yet: its records follow.
        if ended != nil, report.hasSent { pass.hasSent = true }
        return ended
    }

    private func hand(_ report: SentItems<CKRecordZone, CKRecordZone.ID>, asOf time: UInt64) async {
        await core.hand(
            .sentDatabaseChanges(.init(report)),
            before: { content in
                for zone in report.settledSaves { content.database.remove(.saveZone(zone), addedUntil: time) }
                for zoneID in report.settledDeletes { content.database.remove(.deleteZone(zoneID), addedUntil: time) }
                content.noteSent(to: report.saved.map(\.zoneID))
                content.sentZoneIDs.subtract(report.deleted.map(content.spelled))
                // The change token of a deleted zone is expired in a recreated one.
                for zoneID in report.deleted { content.forgetPosition(in: content.spelled(zoneID)) }
            })
        await core.handOutState()
    }

    // MARK: Records

    private func send(_ batch: CKSyncEngine.RecordZoneChangeBatch, asOf time: UInt64) async -> CKError? {
        var saves: [CKRecord.ID: Result<CKRecord, any Error>] = [:]
        var deletes: [CKRecord.ID: Result<Void, any Error>] = [:]
        var failure: CKError?
        do {
            try await noteBeginnings(of: batch)
            (saves, deletes) = try await database.configuredWith(group: context.options.operationGroup) {
                try await $0.modifyRecords(
                    saving: batch.recordsToSave, deleting: batch.recordIDsToDelete,
                    savePolicy: .ifServerRecordUnchanged, atomically: batch.atomicByZone)
            }
        } catch {
            let error = CKError(any: error)
            if error.code == .limitExceeded, batch.canShrink {
                pass.batchLimit = batch.count / 2
                return nil
            }
            failure = error
            for record in batch.recordsToSave { saves[record.recordID] = .failure(error) }
            for recordID in batch.recordIDsToDelete { deletes[recordID] = .failure(error) }
        }
        // Smaller batches can send them.
        var report = SentItems<CKRecord, CKRecord.ID>(
            keepsAll: failure?.code == .limitExceeded && batch.count > 1)
        for record in batch.recordsToSave { report.note(saved: record, record.recordID, saves[record.recordID]) }
        for recordID in batch.recordIDsToDelete { report.note(deleted: recordID, deletes[recordID]) }
        await hand(report, asOf: time)
        if report.hasSent { pass.hasSent = true }
        return note(report, failure, of: Set(batch.zoneIDs))
    }

    /// Removes the settled changes from the pending ones, and delivers the event. A record that the app added again
    /// meanwhile stays pending.
    private func hand(_ report: SentItems<CKRecord, CKRecord.ID>, asOf time: UInt64) async {
        await core.hand(
            .sentRecordZoneChanges(.init(report)),
            before: { content in
                for record in report.settledSaves {
                    content.records.remove(.saveRecord(record.recordID), addedUntil: time)
                }
                for recordID in report.settledDeletes {
                    content.records.remove(.deleteRecord(recordID), addedUntil: time)
                }
                content.noteSent(to: report.saved.map(\.recordID.zoneID))
                content.noteSent(to: report.failedSaves.compactMap { $1.serverRecord?.recordID.zoneID })
            })
        await core.handOutState()
    }
}

extension SyncSend {
    /// Stores the change token of each zone of the batch that was never fetched. The first fetch of such a zone has to
    /// report whether other clients have deleted records that are sent now.
    private func noteBeginnings(of batch: CKSyncEngine.RecordZoneChangeBatch) async throws {
        let unknown = core.state.read { content in
            let zoneIDs = Set(batch.recordsToSave.map { content.spelled($0.recordID.zoneID) }).subtracting([.default])
            // In an order that a simulation repeats.
            return zoneIDs.filter { content.zoneTokens[$0] == nil && content.sentSince[$0] == nil }
                .sorted { ($0.zoneName, $0.ownerName) < ($1.zoneName, $1.ownerName) }
        }
        if unknown.isEmpty { return }
        let zones = try await ServiceCall.$isOfSyncEngine.withValue(true) {
            try await database.configuredWith(group: context.options.operationGroup) {
                try await $0.recordZones(for: unknown)
            }
        }
        core.state.update { content in
            // If a zone is missing, the batch fails.
            for case (let zoneID, .success(let zone)) in zones {
                content.sentSince[zoneID] = zone.state.withLock { $0.syncToken }
            }
        }
    }
}

extension CKSyncEngine.State.Content {
    /// Records that changes were sent to these zones.
    fileprivate mutating func noteSent(to zoneIDs: [CKRecordZone.ID]) {
        let zoneIDs = zoneIDs.map(spelled)
        doubtfulZoneIDs.subtract(zoneIDs)
        for zoneID in zoneIDs where zoneTokens[zoneID] == nil && !unfetchedZoneIDs.contains(zoneID) {
            sentZoneIDs.insert(zoneID)
        }
    }
}

/// The ID of a zone, or of an item in a zone.
private protocol SentItemID: Hashable, Sendable {
    var sentZoneID: CKRecordZone.ID { get }
}

extension CKRecordZone.ID: SentItemID {
    fileprivate var sentZoneID: CKRecordZone.ID { self }
}

extension CKRecord.ID: SentItemID {
    fileprivate var sentZoneID: CKRecordZone.ID { zoneID }
}

/// Collects the results of a request's items.
private struct SentItems<Item: Sendable, ID: SentItemID>: Sendable {
    /// Whether failed items stay pending, whatever their error.
    let keepsAll: Bool
    var saved: [Item] = []
    var failedSaves: [(Item, CKError)] = []
    var deleted: [ID] = []
    var failedDeletes: [ID: CKError] = [:]
    /// The items that are no longer pending, because they succeeded or because only the app can resolve their failure.
    var settledSaves: [Item] = []
    var settledDeletes: [ID] = []
    /// The retryable error for which the service requested the longest delay; nil for none.
    private(set) var retried: CKError?
    /// The zones of items with retryable errors, and of items with errors that the app has to resolve.
    private(set) var retriedZoneIDs: Set<CKRecordZone.ID> = []
    private(set) var failedZoneIDs: Set<CKRecordZone.ID> = []
    private var errors: [ID: CKError] = [:]

    init(keepsAll: Bool = false) { self.keepsAll = keepsAll }

    var hasSent: Bool { !saved.isEmpty || !deleted.isEmpty }

    /// Returns the error that ends the send, because the app has to resolve failures; nil for none.
    func failure(of database: CKDatabase) -> CKError? {
        let isRetried = errors.allSatisfy { id, error in
            error.isRetriedByEngine
                || error.code == .batchRequestFailed && retriedZoneIDs.contains(id.sentZoneID)
        }
        if isRetried { return nil }
        let byItem = Dictionary(uniqueKeysWithValues: errors.map { (AnyHashable($0), $1 as any Error) })
        return .partialFailure(byItem, ErrorContext(containerID: database.session.identifier))
    }

    mutating func note(saved item: Item, _ id: ID, _ result: Result<Item, any Error>?) {
        switch result {
        case .success(let saved):
            self.saved.append(saved)
            settledSaves.append(item)
        case .failure(let error):
            let error = CKError(any: error)
            failedSaves.append((item, error))
            if !keeps(id, error) { settledSaves.append(item) }
        case nil:
            let error = CKError(.internalError, "The service left an item out.")
            failedSaves.append((item, error))
            if !keeps(id, error) { settledSaves.append(item) }
        }
    }

    mutating func note(deleted id: ID, _ result: Result<Void, any Error>?) {
        switch result {
        case .success:
            deleted.append(id)
            settledDeletes.append(id)
        case .failure(let error):
            let error = CKError(any: error)
            failedDeletes[id] = error
            if !keeps(id, error) { settledDeletes.append(id) }
        case nil:
            let error = CKError(.internalError, "The service left an item out.")
            failedDeletes[id] = error
            if !keeps(id, error) { settledDeletes.append(id) }
        }
    }

    /// Whether a failed item stays pending. An item that failed only because the atomic batch of its zone failed goes
    /// with the next batch.
    private mutating func keeps(_ id: ID, _ error: CKError) -> Bool {
        errors[id] = error
        guard error.isRetriedByEngine else {
            failedZoneIDs.insert(id.sentZoneID)
            return keepsAll || error.code == .batchRequestFailed
        }
        retriedZoneIDs.insert(id.sentZoneID)
        if retried == nil || (error.retryAfterSeconds ?? 0) > (retried?.retryAfterSeconds ?? 0) { retried = error }
        return true
    }
}

extension CKSyncEngine.Event.SentDatabaseChanges {
    fileprivate init(_ report: SentItems<CKRecordZone, CKRecordZone.ID>) {
        self.init(
            savedZones: report.saved, failedZoneSaves: report.failedSaves.map { .init(zone: $0, error: $1) },
            deletedZoneIDs: report.deleted, failedZoneDeletes: report.failedDeletes)
    }
}

extension CKSyncEngine.Event.SentRecordZoneChanges {
    fileprivate init(_ report: SentItems<CKRecord, CKRecord.ID>) {
        self.init(
            savedRecords: report.saved, failedRecordSaves: report.failedSaves.map { .init(record: $0, error: $1) },
            deletedRecordIDs: report.deleted, failedRecordDeletes: report.failedDeletes)
    }
}
