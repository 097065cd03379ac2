import CloudKit

/// The notes on this device, which a sync engine keeps in step with the account's other devices.
public actor NoteSync: CKSyncEngineDelegate {
    private typealias Change = CKSyncEngine.PendingRecordZoneChange

    private let file: URL
    private let now: @Sendable () -> Date
    /// What the user sees.
    private var library: NoteLibrary
    /// What the disk has: what the engine fetched goes there with the engine's state. After a crash between the two the fetch would
    /// begin anew, and name no deletions of notes that are there already.
    private var saved: NoteLibrary
    private var engine: CKSyncEngine?
    /// How many changes go in one request: fewer after the service refused so many.
    private var batchSize = NoteSync.largestBatch
    private static let largestBatch = 400
    /// Whether the zone was left incomplete by the fetch that runs.
    private var isIncomplete = false

    /// What the user should know: the storage is full, a note is too large, the disk is full. Nil once it is over.
    public private(set) var problem: (any Error)?

    /// - Parameter directory: where the notes are kept.
    /// - Throws: the error of a file that cannot be read.
    public init(directory: URL, now: @escaping @Sendable () -> Date = { Date() }) throws {
        file = directory.appendingPathComponent("notes.json")
        self.now = now
        saved = try NoteLibrary(file)
        library = saved
    }

    /// Begins to sync with a private database.
    /// - Parameter delegate: receives the engine's events first, and forwards them. For tests.
    public func start(
        _ database: CKDatabase, automaticallySync: Bool = true, delegate: (any CKSyncEngineDelegate)? = nil
    ) {
        var configuration = CKSyncEngine.Configuration(
            database: database, stateSerialization: library.engineState, delegate: delegate ?? self)
        configuration.automaticallySync = automaticallySync
        engine = CKSyncEngine(configuration)
        queueUnsent()
    }

    // MARK: What the user does

    /// The notes, the last edited one first.
    public var notes: [Note] { library.notes }

    /// Writes a note, a new one unless `id` is a note's.
    /// - Throws: the file system's error; the note is not changed then.
    public func write(_ text: String, to id: String = UUID().uuidString) throws {
        try change { $0.write(text, to: id, at: now()) }
    }

    /// Deletes a note; nothing if there is none.
    /// - Throws: the file system's error; the note is still there then.
    public func remove(_ id: String) throws {
        guard library.entries[id] != nil else { return }
        try change { $0.remove(id) }
    }

    /// Fetches and sends, for a button, and for a system that wakes the app.
    /// - Throws: `CKError`.
    public func sync() async throws {
        guard let engine else { return }
        // What others deleted must be known before something is sent that they would take for new.
        try await engine.fetchChanges()
        for _ in 0..<Self.sends {
            do {
                return try await engine.sendChanges()
            } catch let error as CKError {
                // Conflicts are resolved by now, and go with the next batch.
                let isResolved = error.code == .partialFailure || error.code == .limitExceeded
                guard isResolved, !engine.state.pendingRecordZoneChanges.isEmpty else { throw error }
            }
        }
    }

    private static let sends = 10

    /// Changes the library, first on disk: what the user sees survives a crash.
    private func change(_ body: (inout NoteLibrary) -> Void) throws {
        var changed = saved
        body(&changed)
        try changed.save(to: file)
        saved = changed
        body(&library)
        queueUnsent()
    }

    /// Hands the engine what it does not know to be unsent.
    private func queueUnsent() {
        guard let state = engine?.state else { return }
        let saves = library.unsent.map { Change.saveRecord(Note.recordID($0)) }
        let deletes = library.deleted.sorted().map { Change.deleteRecord(Note.recordID($0)) }
        if !saves.isEmpty, !library.hasZone {
            state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: Note.zoneID))])
        }
        state.add(pendingRecordZoneChanges: saves + deletes)
    }

    // MARK: What the engine says

    public func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) {
        switch event {
        case .stateUpdate(let event): save(event.stateSerialization)
        case .accountChange(let event): handle(event, syncEngine)
        case .fetchedDatabaseChanges(let event): handle(event, syncEngine)
        case .fetchedRecordZoneChanges(let event):
            for modification in event.modifications { library.merge(modification.record) }
            for deletion in event.deletions { library.didDelete(deletion.recordID.recordName) }
        case .sentDatabaseChanges(let event): handle(event)
        case .sentRecordZoneChanges(let event): handle(event, syncEngine)
        case .willFetchChanges: (isIncomplete, batchSize) = (false, Self.largestBatch)
        case .didFetchRecordZoneChanges(let event):
            if event.error != nil { isIncomplete = true }
            if event.error?.code == .changeTokenExpired {
                library.beginRefetch()
                isIncomplete = false  // the fetch begins again
            }
        case .didFetchChanges:
            if !isIncomplete, !syncEngine.state.zoneIDsWithUnfetchedServerChanges.contains(Note.zoneID) {
                library.finishRefetch()
            }
            queueUnsent()
        default: return
        }
    }

    private func save(_ state: CKSyncEngine.State.Serialization) {
        library.engineState = state
        do {
            try library.save(to: file)
            saved = library
        } catch {
            problem = error
        }
    }

    public func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let changes = syncEngine.state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) }
        // Deleted, or overtaken by another device's edit, since the change was added.
        let needless = changes.filter {
            if case .saveRecord(let recordID) = $0 { !library.isUnsent(recordID.recordName) } else { false }
        }
        syncEngine.state.remove(pendingRecordZoneChanges: needless)
        let needed = changes.filter { !needless.contains($0) }.prefix(batchSize)
        return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: Array(needed)) { [library] in
            library.record(for: $0.recordName)
        }
    }

    private func handle(_ event: CKSyncEngine.Event.AccountChange, _ engine: CKSyncEngine) {
        switch event.changeType {
        case .signIn(let user):
            // What was written before the first sign-in is this user's.
            if let account = library.account, account != user.recordName { forgetAll(engine) }
            library.account = user.recordName
        case .switchAccounts(_, let user):
            forgetAll(engine)
            library.account = user.recordName
        case .signOut:
            forgetAll(engine)
            library.account = nil
        }
        queueUnsent()
    }

    private func handle(_ event: CKSyncEngine.Event.FetchedDatabaseChanges, _ engine: CKSyncEngine) {
        for deletion in event.deletions where deletion.zoneID == Note.zoneID {
            switch deletion.reason {
            case .encryptedDataReset: library.sendAllAgain()
            case .deleted, .purged: forgetAll(engine)
            }
        }
        if event.modifications.contains(where: { $0.zoneID == Note.zoneID }) { library.hasZone = true }
    }

    private func handle(_ event: CKSyncEngine.Event.SentDatabaseChanges) {
        if event.savedZones.contains(where: { $0.zoneID == Note.zoneID }) { library.hasZone = true }
        for failure in event.failedZoneSaves { problem = failure.error }
    }

    private func handle(_ event: CKSyncEngine.Event.SentRecordZoneChanges, _ engine: CKSyncEngine) {
        problem = nil
        for record in event.savedRecords { library.didSave(record) }
        for recordID in event.deletedRecordIDs { library.didDelete(recordID.recordName) }
        let saves = event.failedRecordSaves.map {
            ($0.record.recordID, Change.saveRecord($0.record.recordID), $0.error)
        }
        let deletes = event.failedRecordDeletes.map { ($0, Change.deleteRecord($0), $1) }
        let failures = saves + deletes
        for (recordID, change, error) in failures {
            resolve(error, of: change, recordID.recordName, engine, isAlone: failures.count == 1)
        }
        if failures.count > 1, failures.contains(where: { $0.2.code == .limitExceeded }) {
            batchSize = failures.count / 2
        }
    }

    private func resolve(_ error: CKError, of change: Change, _ id: String, _ engine: CKSyncEngine, isAlone: Bool) {
        switch error.code {
        case .serverRecordChanged:
            if let record = error.serverRecord { library.merge(record) }
            if library.isUnsent(id) { engine.state.add(pendingRecordZoneChanges: [change]) }
        case .unknownItem:
            library.didDelete(id)
        case .zoneNotFound:
            // If it was deleted, the next fetch says so, and why. If not, it is saved after that.
            library.hasZone = false
        case .limitExceeded where !isAlone:
            engine.state.add(pendingRecordZoneChanges: [change])
        case .networkFailure, .networkUnavailable, .serviceUnavailable, .requestRateLimited, .zoneBusy,
            .notAuthenticated, .accountTemporarilyUnavailable, .operationCancelled, .batchRequestFailed:
            break  // the engine sends it again
        default:
            // A full storage, for example. The note stays unsent, and is sent again after the next fetch.
            problem = error
        }
    }

    private func forgetAll(_ engine: CKSyncEngine) {
        library.forgetAll()
        engine.state.remove(pendingRecordZoneChanges: engine.state.pendingRecordZoneChanges)
        engine.state.remove(pendingDatabaseChanges: engine.state.pendingDatabaseChanges)
    }
}
