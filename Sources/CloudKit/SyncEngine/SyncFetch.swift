/// One fetch: first the changed zones, then the changes of each zone, batch by batch.
struct SyncFetch: Sendable {
    let core: SyncEngineCore
    private let account: AccountSession
    /// The engine's database, bound to the account of this fetch.
    let database: CKDatabase
    private let context: CKSyncEngine.FetchChangesContext
    private let pass: Locked<SyncPass>

    init(
        _ core: SyncEngineCore, _ account: AccountSession, _ context: CKSyncEngine.FetchChangesContext,
        _ pass: Locked<SyncPass> = Locked(SyncPass())
    ) {
        self.core = core
        self.account = account
        database = core.database.bound(to: account)
        self.context = context
        self.pass = pass
    }

    func run() async throws(CKError) {
        try await core.tracking(.fetch, pass) { () throws(CKError) in try await fetch() }
    }

    private func fetch() async throws(CKError) {
        try await core.requireAccount(account)
        await core.hand(.willFetchChanges(.init(context: context)))
        var failure: CKError?
        do throws(CKError) {
            try await fetchDatabaseChanges()
            try await fetchZones()
        } catch {
            failure = error
        }
        await core.hand(.didFetchChanges(.init(context: context)))
        await core.handOutState()
        if let failure { throw failure }
    }

    /// Returns the fetch options that the delegate wants now.
    private func nextOptions() async -> CKSyncEngine.FetchChangesOptions {
        var options =
            await core.call { delegate, engine in
                await delegate.nextFetchChangesOptions(context, syncEngine: engine)
            } ?? context.options
        core.state.read { content in
            options.scope = options.scope.mapping(content.spelled)
            options.prioritizedZoneIDs = options.prioritizedZoneIDs.map(content.spelled)
        }
        return options
    }

    private func checkCancellation() throws(CKError) {
        if Task.isCancelled || core.hasNoDelegate { throw .cancelled(nil) }
        if let failure = account.changeFailure { throw failure }
    }

    // MARK: The database

    private func fetchDatabaseChanges() async throws(CKError) {
        var isMoreComing = true
        while isMoreComing {
            try checkCancellation()
            let group = await nextOptions().operationGroup
            let token = core.state.read { $0.databaseToken }
            if token == nil {
                // A fetch from the beginning returns every zone but the default zone, so another zone that it does not
                // return was deleted.
                core.state.update { $0.doubtfulZoneIDs = $0.knownZoneIDs.subtracting([.default]) }
            }
            let changes: DatabaseChanges
            do {
                changes = try await database.configuredWith(group: group) {
                    try await $0.databaseChanges(since: token)
                }
            } catch {
                let error = CKError(any: error)
                guard error.code == .changeTokenExpired, token != nil else { throw error }
                core.state.update { $0.databaseToken = nil }
                continue
            }
            await note(changes)
            isMoreComing = changes.moreComing
        }
        try await tellDoubtfulZones()
    }

    /// Reports the zones that a complete list of zones does not contain. They were deleted before the engine's first
    /// fetch, or so long ago that the service no longer reports the deletion.
    private func tellDoubtfulZones() async throws(CKError) {
        let doubtful = core.state.read { $0.doubtfulZoneIDs }
        if doubtful.isEmpty { return }
        let reasons = try await reasons(of: doubtful.sorted { $0.zoneName < $1.zoneName })
        // A zone that exists was recreated, or another ID of it is known.
        let gone = doubtful.filter { reasons[$0] != nil }
        let deletions = gone.sorted { $0.zoneName < $1.zoneName }.map {
            CKDatabase.DatabaseChange.Deletion(zoneID: $0, reason: reasons[$0] ?? .deleted)
        }
        if gone.isEmpty {
            return core.state.update { content in
                content.sentZoneIDs.subtract(doubtful)
                content.doubtfulZoneIDs = []
            }
        }
        await core.hand(
            .fetchedDatabaseChanges(.init(modifications: [], deletions: deletions)),
            after: { content in
                for zoneID in gone { content.forgetPosition(in: zoneID) }
                content.sentZoneIDs.subtract(doubtful)
                content.unfetchedZoneIDs.removeAll { gone.contains($0) }
                content.doubtfulZoneIDs = []
            })
        await core.handOutState()
    }

    /// Fetches zones to learn the reasons of their deletion.
    private func reasons(
        of zoneIDs: [CKRecordZone.ID]
    ) async throws(CKError) -> [CKRecordZone.ID: CKDatabase.DatabaseChange.Deletion.Reason] {
        var reasons: [CKRecordZone.ID: CKDatabase.DatabaseChange.Deletion.Reason] = [:]
        for start in stride(from: 0, to: zoneIDs.count, by: Self.itemsPerRequest) {
            let page = Array(zoneIDs[start..<min(start + Self.itemsPerRequest, zoneIDs.count)])
            do {
                let zones = try await ServiceCall.$isOfSyncEngine.withValue(true) {
                    try await database.recordZones(for: page)
                }
                for (zoneID, result) in zones {
                    guard case .failure(let error) = result else { continue }
                    reasons[zoneID] = CKError(any: error).reasonOfDeletion
                }
            } catch {
                throw CKError(any: error)
            }
        }
        return reasons
    }

    private typealias DatabaseChanges = (
        modifications: [CKDatabase.DatabaseChange.Modification], deletions: [CKDatabase.DatabaseChange.Deletion],
        changeToken: CKServerChangeToken, moreComing: Bool
    )

    private func note(_ changes: DatabaseChanges) async {
        func advance(_ content: inout CKSyncEngine.State.Content) {
            let deleted = Set(changes.deletions.map(\.zoneID))
            let modified = changes.modifications.map(\.zoneID)
            let again = deleted.union(modified)
            content.unfetchedZoneIDs = content.unfetchedZoneIDs.filter { !again.contains($0) } + modified
            content.doubtfulZoneIDs.subtract(again)
            content.sentZoneIDs.subtract(again)
            for zoneID in deleted { content.forgetPosition(in: zoneID) }
            content.databaseToken = changes.changeToken
        }
        guard !changes.modifications.isEmpty || !changes.deletions.isEmpty else {
            if core.state.read({ $0.databaseToken }) != changes.changeToken { core.state.update(advance) }
            return
        }
        await core.hand(
            .fetchedDatabaseChanges(.init(modifications: changes.modifications, deletions: changes.deletions)),
            after: advance)
        await core.handOutState()
    }

    // MARK: Zones

    private func fetchZones() async throws(CKError) {
        let waiting = core.state.read { $0.zoneIDsThatLackKeys }
        if !waiting.isEmpty { core.state.update { $0.unfetchedZoneIDs += waiting } }
        /// The zones whose failure does not concern other zones.
        var failed: Set<CKRecordZone.ID> = []
        while true {
            try checkCancellation()
            let options = await nextOptions()
            guard let zoneID = nextZone(options, except: failed) else { break }
            await core.hand(.willFetchRecordZoneChanges(.init(zoneID: zoneID)))
            let hadToken = core.state.read { $0.zoneTokens[zoneID] != nil || $0.sentSince[zoneID] != nil }
            var failure: CKError?
            var isOfRequest = false
            do throws(CKError) {
                failure = try await fetchZone(zoneID, options)
            } catch {
                (failure, isOfRequest) = (error, true)
            }
            // The expired token is first reported to the delegate, which has to discard its data of the zone, because
            // deletions in the meantime are not reported. Only after that is the token dropped, and the fetch restarts.
            let beginsAnew = failure?.code == .changeTokenExpired && hadToken
            await core.hand(
                .didFetchRecordZoneChanges(.init(zoneID: zoneID, error: failure)),
                after: { if beginsAnew { $0.forgetPosition(in: zoneID) } })
            await core.handOutState()
            guard let failure, !beginsAnew else { continue }
            if failure.isRetriedByEngine {
                if isOfRequest, failure.code != .zoneBusy { throw failure }
                pass.withLock { $0.hold([zoneID], after: failure) }
            } else {
                failed.insert(zoneID)
                if failure.isAboutMissingZone { skip(zoneID) }
            }
        }
        pass.isComplete = true
        if let failure = pass.failure { throw failure }
    }

    /// Leaves a missing zone out. Its token is kept: if the zone is recreated, the token marks the device's data as data
    /// of the former zone.
    private func skip(_ zoneID: CKRecordZone.ID) {
        core.state.update { content in content.unfetchedZoneIDs.removeAll { $0 == zoneID } }
    }

    /// Returns the zone to fetch next: the first of the delegate's prioritized zones, or else the first of all.
    private func nextZone(
        _ options: CKSyncEngine.FetchChangesOptions, except failed: Set<CKRecordZone.ID>
    ) -> CKRecordZone.ID? {
        let (zoneIDs, held) = (core.state.read { $0.zoneIDsToFetch }, pass.heldZoneIDs)
        func isWaiting(_ zoneID: CKRecordZone.ID) -> Bool {
            options.scope.contains(zoneID) && !failed.contains(zoneID) && !held.contains(zoneID)
        }
        return options.prioritizedZoneIDs.first { isWaiting($0) && zoneIDs.contains($0) }
            ?? zoneIDs.first(where: isWaiting)
    }

    /// Fetches the batches of a zone until none is left, or until the delegate's scope excludes the zone.
    /// - Returns: the failure of single records; nil if all arrived.
    /// - Throws: the failure of a request.
    private func fetchZone(
        _ zoneID: CKRecordZone.ID, _ options: CKSyncEngine.FetchChangesOptions
    ) async throws(CKError) -> CKError? {
        var options = options
        var fetchEnd: String?
        var failures: [CKRecord.ID: CKError]
        switch try await fetchUnread(in: zoneID, options.operationGroup) {
        case .success(let unread): failures = unread
        case .failure(let retried): return retried
        }
        var waiting: [CKRecord.ID: CKError] = [:]
        while options.scope.contains(zoneID), core.state.read({ $0.unfetchedZoneIDs.contains(zoneID) }) {
            try checkCancellation()
            let (token, sentSince) = core.state.read { ($0.zoneTokens[zoneID], $0.sentSince[zoneID]) }
            let position = Position(token: token, sentSince: sentSince, fetchEnd: fetchEnd)
            let batch = try await fetchBatch(zoneID, position, options.operationGroup)
            if let retried = batch.retried { return retried }
            fetchEnd = batch.fetchEnd
            failures.merge(batch.failures) { $1 }
            waiting.merge(batch.waiting) { $1 }
            let read = batch.modifications.map(\.record.recordID) + batch.deletions.map(\.recordID)
            for recordID in read { (failures[recordID], waiting[recordID]) = (nil, nil) }
            // The state cannot store so many unread records, so the token must not move past them.
            if failures.count > Self.unreadRecords { return partialFailure(failures) }
            await handOut(batch, of: zoneID, unread: Set(failures.keys))
            if !batch.moreComing { break }
            options = await nextOptions()
        }
        failures.merge(waiting) { $1 }
        return failures.isEmpty ? nil : partialFailure(failures)
    }

    /// Reports a batch to the delegate, and moves the zone's position past it.
    /// - Parameter unread: the records that could not be read.
    private func handOut(_ batch: ZoneBatch, of zoneID: CKRecordZone.ID, unread: Set<CKRecord.ID>) async {
        func advance(_ content: inout CKSyncEngine.State.Content) {
            content.zoneTokens[zoneID] = batch.token
            content.sentSince[zoneID] = nil
            content.unreadRecordIDs[zoneID] = unread.isEmpty ? nil : unread
            if !batch.moreComing, let index = content.unfetchedZoneIDs.firstIndex(of: zoneID) {
                content.unfetchedZoneIDs.remove(at: index)
            }
        }
        if batch.modifications.isEmpty && batch.deletions.isEmpty {
            core.state.update(advance)
        } else {
            await core.hand(
                .fetchedRecordZoneChanges(.init(modifications: batch.modifications, deletions: batch.deletions)),
                after: advance)
            await core.handOutState()
        }
    }

    /// The position at which a batch starts.
    private struct Position: Sendable {
        var token: CKServerChangeToken?
        /// The token from before the engine's first send to a zone without a fetch.
        var sentSince: String?
        /// The end of the fetch to which the batch belongs.
        var fetchEnd: String?
    }

    fileprivate struct ZoneBatch: Sendable {
        var modifications: [CKDatabase.RecordZoneChange.Modification] = []
        var deletions: [CKDatabase.RecordZoneChange.Deletion] = []
        /// The errors of records that came without their content.
        var failures: [CKRecord.ID: CKError] = [:]
        /// The errors of records that came before their keys. The change token contains their identity.
        var waiting: [CKRecord.ID: CKError] = [:]
        /// The error of a record that the engine retries; nil for none. The change token must not move past the record.
        var retried: CKError?
        var token: CKServerChangeToken?
        var moreComing = false
        /// The end of the fetch to which this batch belongs; nil if it is unknown.
        var fetchEnd: String?
    }

    /// Fetches one batch, in the order of the service.
    private func fetchBatch(
        _ zoneID: CKRecordZone.ID, _ position: Position, _ group: CKOperationGroup
    ) async throws(CKError) -> ZoneBatch {
        do {
            return try await database.configuredWith(group: group) { database in
                try await database.resultOfOperation { completion in
                    let operation = Self.operation(zoneID, position, completion)
                    database.run(operation)
                    return operation
                }
            }
        } catch {
            throw CKError(any: error)
        }
    }

    private static func operation(
        _ zoneID: CKRecordZone.ID, _ position: Position,
        _ completion: @escaping @Sendable (Result<ZoneBatch, any Error>) -> Void
    ) -> CKFetchRecordZoneChangesOperation {
        let batch = Locked(ZoneBatch())
        let failure = Locked<(any Error)?>(nil)
        let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: [zoneID],
            configurationsByRecordZoneID: [zoneID: .init(previousServerChangeToken: position.token)])
        operation.fetchAllChanges = false
        let fetchEnds = operation.fetchEnds
        fetchEnds.withLock { $0[zoneID] = position.fetchEnd }
        operation.deletionsSince.withLock { $0[zoneID] = position.sentSince }
        let waiting = operation.waitingRecordIDs
        operation.recordWasChangedBlock = { recordID, result in
            let isWaiting = waiting.withLock { $0.contains(recordID) }
            batch.withLock { $0.add(result, of: recordID, isWaiting: isWaiting) }
        }
        operation.recordWithIDWasDeletedBlock = { recordID, recordType in
            batch.withLock { $0.deletions.append(.init(recordID: recordID, recordType: recordType)) }
        }
        operation.recordZoneFetchResultBlock = { _, result in
            switch result {
            case .success(let end):
                let fetchEnd = fetchEnds.withLock { $0[zoneID] }
                batch.withLock {
                    ($0.token, $0.moreComing, $0.fetchEnd) = (end.serverChangeToken, end.moreComing, fetchEnd)
                }
            case .failure(let error): failure.exchange(error)
            }
        }
        operation.fetchRecordZoneChangesResultBlock = { outcome in
            completion(
                outcome.asideFromItems.flatMap {
                    failure.withLock { $0 }.map { .failure($0) } ?? .success(batch.withLock { $0 })
                })
        }
        return operation
    }
}

extension SyncFetch.ZoneBatch {
    /// Adds a fetched record, or its failure.
    fileprivate mutating func add(
        _ result: Result<CKRecord, any Error>, of recordID: CKRecord.ID, isWaiting: Bool
    ) {
        switch result {
        case .success(let record): modifications.append(.init(record: record))
        case .failure(let error):
            let error = CKError(any: error)
            if isWaiting {
                waiting[recordID] = error
            } else if error.isRetriedByEngine {
                retried = error
            } else {
                failures[recordID] = error
            }
        }
    }
}

extension CKSyncEngine.State.Content {
    /// Discards the change token of the zone and all state that depends on it.
    mutating func forgetPosition(in zoneID: CKRecordZone.ID) {
        zoneTokens[zoneID] = nil
        sentSince[zoneID] = nil
        unreadRecordIDs[zoneID] = nil
    }

    /// The zones without known changes that have records whose keys are missing.
    fileprivate var zoneIDsThatLackKeys: [CKRecordZone.ID] {
        zoneTokens.filter { !$0.value.waitingRecords.isEmpty && !unfetchedZoneIDs.contains($0.key) }.keys.sortedByName
    }

    /// The zones with changes, and the zones with unread records.
    fileprivate var zoneIDsToFetch: [CKRecordZone.ID] {
        let unread = unreadRecordIDs.keys.filter { !unfetchedZoneIDs.contains($0) }
        return unfetchedZoneIDs + unread.sortedByName
    }
}

extension CKError {
    /// Whether the error means that the zone no longer exists.
    fileprivate var isAboutMissingZone: Bool { code == .zoneNotFound || code == .userDeletedZone }

    /// The reason of the zone's deletion, as the error states it.
    fileprivate var reasonOfDeletion: CKDatabase.DatabaseChange.Deletion.Reason {
        if code == .userDeletedZone { return .purged }
        return userInfo[CKErrorUserDidResetEncryptedDataKey] == nil ? .deleted : .encryptedDataReset
    }
}
