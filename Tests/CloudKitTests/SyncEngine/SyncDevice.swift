import CloudKit
import Synchronization

/// An app on a device: it has notes that a sync engine synchronises. Of two edits the later one wins.
final class SyncDevice: CKSyncEngineDelegate {
    struct Note: Sendable {
        var text: String
        /// When it was edited, by the app's clock.
        var edited: Int
        /// The record as the server last had it.
        var record: CKRecord?
    }

    /// What the device keeps on its disk.
    struct Disk: Sendable {
        var notes: [CKRecord.ID: Note] = [:]
        var state: CKSyncEngine.State.Serialization?
        /// The record versions that fetches brought since the zone was last discarded.
        var fetched: [CKRecordZone.ID: Set<String>] = [:]
        /// The zones that were fetched to their end.
        var complete: Set<CKRecordZone.ID> = []

        /// What was fetched of a zone stands for nothing any more.
        mutating func forget(_ zoneID: CKRecordZone.ID) {
            fetched[zoneID] = nil
            complete.remove(zoneID)
        }
    }

    private struct Life: Sendable {
        var disk = Disk()
        /// The disk as it was with the newest state: what a restart finds.
        var saved = Disk()
        var log: [String] = []
        /// What should not have happened.
        var problems: [String] = []
        var waiting: [(matches: @Sendable ([String]) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let life = Mutex(Life())
    private let running = Mutex<CKSyncEngine?>(nil)
    /// Called with every event before the device handles it.
    let onEvent = Box<@Sendable (CKSyncEngine.Event) async -> Void>({ _ in })
    /// Called when the engine asks for records.
    let onBatch = Box<@Sendable () async -> Void>({})
    /// What of `nextFetchChangesOptions` is wanted; nil is the default.
    let fetchOptions = Box<(@Sendable (CKSyncEngine.FetchChangesContext) -> CKSyncEngine.FetchChangesOptions)?>(nil)

    init(_ disk: Disk = Disk()) {
        life.withLock { ($0.disk, $0.saved) = (disk, disk) }
    }

    /// Starts the engine with what is on the disk.
    /// - Parameter environment: nil for that of the database.
    func start(
        _ database: CKDatabase, automatically: Bool = false, subscriptionID: CKSubscription.ID? = nil,
        environment: SyncEngineEnvironment? = SyncEngineEnvironment(sleep: { _ in })
    ) {
        var configuration = CKSyncEngine.Configuration(
            database: database, stateSerialization: life.withLock { $0.disk.state }, delegate: self)
        configuration.automaticallySync = automatically
        configuration.subscriptionID = subscriptionID
        let engine =
            environment.map { CKSyncEngine(configuration, environment: $0) } ?? CKSyncEngine(configuration)
        running.withLock { $0 = engine }
    }

    /// Ends the app; what was not saved is lost.
    func stop() -> Disk {
        running.withLock { $0 = nil }
        return life.withLock { $0.saved }
    }

    /// What a restart would find now.
    var saved: Disk { life.withLock { $0.saved } }

    var engine: CKSyncEngine { running.withLock { $0 } ?? preconditionFailureForTest() }
    private func preconditionFailureForTest() -> CKSyncEngine { preconditionFailure("The device was not started.") }

    var log: [String] { life.withLock { $0.log } }
    var notes: [CKRecord.ID: Note] { life.withLock { $0.disk.notes } }
    /// The notes' texts by their names.
    var texts: [String: String] {
        Dictionary(uniqueKeysWithValues: notes.map { ($0.key.recordName, $0.value.text) })
    }

    /// Whether the changes to a zone are sent all or not at all.
    let atomically = Box(false)
    /// Whether the notes' texts are encrypted.
    let encrypts = Box(false)

    /// What should not have happened since the last call.
    func takeProblems() -> [String] {
        life.withLock { life in
            defer { life.problems = [] }
            return life.problems
        }
    }

    func clearLog() { life.withLock { $0.log = [] } }

    /// Waits until the log has what `matches` looks for.
    func wait(until matches: @escaping @Sendable ([String]) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isThere = life.withLock { life in
                if matches(life.log) { return true }
                life.waiting.append((matches, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    private func note(_ line: String) {
        let ready = life.withLock { life in
            life.log.append(line)
            let log = life.log
            let ready = life.waiting.filter { $0.matches(log) }
            life.waiting.removeAll { $0.matches(log) }
            return ready
        }
        for waiter in ready { waiter.continuation.resume() }
    }

    // MARK: The user

    func edit(_ recordID: CKRecord.ID, _ text: String, at time: Int = 0) {
        life.withLock { life in
            life.disk.notes[recordID] = Note(text: text, edited: time, record: life.disk.notes[recordID]?.record)
        }
        engine.state.add(pendingRecordZoneChanges: [.saveRecord(recordID)])
    }

    func delete(_ recordID: CKRecord.ID) {
        life.withLock { $0.disk.notes[recordID] = nil }
        engine.state.add(pendingRecordZoneChanges: [.deleteRecord(recordID)])
    }

    func deleteZone(_ zoneID: CKRecordZone.ID) {
        life.withLock { life in
            life.disk.notes = life.disk.notes.filter { $0.key.zoneID != zoneID }
            life.disk.forget(zoneID)
        }
        let pending = engine.state.pendingRecordZoneChanges
        engine.state.remove(
            pendingRecordZoneChanges: pending.filter { change in
                switch change {
                case .saveRecord(let recordID), .deleteRecord(let recordID): recordID.zoneID == zoneID
                }
            })
        engine.state.add(pendingDatabaseChanges: [.deleteZone(zoneID)])
    }

    // MARK: The delegate

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        await onEvent.value(event)
        switch event {
        case .stateUpdate(let event):
            life.withLock { life in
                life.disk.state = event.stateSerialization
                life.saved = life.disk
            }
            return
        case .accountChange(let event):
            note("account \(event.changeType.summary)")
            if case .signIn = event.changeType { break }
            life.withLock { ($0.disk.notes, $0.disk.fetched, $0.disk.complete) = ([:], [:], []) }
        case .fetchedDatabaseChanges(let event):
            for deletion in event.deletions { take(deletion, syncEngine) }
            note(
                "zones \(event.modifications.map(\.zoneID.zoneName) + event.deletions.map { "-" + $0.zoneID.zoneName })"
            )
        case .fetchedRecordZoneChanges(let event):
            for modification in event.modifications {
                noteFetched(modification.record)
                take(modification.record, unless: syncEngine.state)
            }
            for deletion in event.deletions { life.withLock { $0.disk.notes[deletion.recordID] = nil } }
            // Last, so that a test that waits for this line sees the notes.
            note(
                "fetched \(event.modifications.map(\.record.recordID.recordName) + event.deletions.map { "-" + $0.recordID.recordName })"
            )
        case .sentDatabaseChanges(let event):
            for zoneID in event.deletedZoneIDs { discard(zoneID, syncEngine) }
            note(
                "sent zones \(event.savedZones.map(\.zoneID.zoneName) + event.deletedZoneIDs.map { "-" + $0.zoneName }) "
                    + "failed \(event.failedZoneSaves.map { "\($0.zone.zoneID.zoneName)!\($0.error.code.rawValue)" } + event.failedZoneDeletes.map { "-\($0.key.zoneName)!\($0.value.code.rawValue)" })"
            )
        case .sentRecordZoneChanges(let event): handle(event, syncEngine)
        case .willFetchChanges(let event): note("will fetch \(event.context.reason)")
        case .willFetchRecordZoneChanges(let event): note("will fetch zone \(event.zoneID.zoneName)")
        case .didFetchRecordZoneChanges(let event):
            note("did fetch zone \(event.zoneID.zoneName)\(event.error.map { "!\($0.code.rawValue)" } ?? "")")
            if event.error?.code == .changeTokenExpired { discard(event.zoneID, syncEngine) }
            if event.error == nil { sweep(event.zoneID, syncEngine) }
        case .didFetchChanges: note("did fetch")
        case .willSendChanges(let event): note("will send \(event.context.reason)")
        case .didSendChanges: note("did send")
        }
    }

    /// A zone went. What was reset is sent again, everything else is the user's will.
    private func take(_ deletion: CKDatabase.DatabaseChange.Deletion, _ syncEngine: CKSyncEngine) {
        let zoneID = deletion.zoneID
        let kept = life.withLock { life -> [CKRecord.ID] in
            life.disk.forget(zoneID)
            guard deletion.reason == .encryptedDataReset else {
                life.disk.notes = life.disk.notes.filter { $0.key.zoneID != zoneID }
                return []
            }
            let kept = life.disk.notes.keys.filter { $0.zoneID == zoneID }.sorted { $0.recordName < $1.recordName }
            for recordID in kept { life.disk.notes[recordID]?.record = nil }
            return kept
        }
        guard !kept.isEmpty else { return }
        syncEngine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID))])
        syncEngine.state.add(pendingRecordZoneChanges: kept.map { .saveRecord($0) })
    }

    /// The first fetch of a zone does not tell of deletions: what it did not bring and is not to be sent is gone. The
    /// device has such notes where it sent or met a conflict before it fetched.
    private func sweep(_ zoneID: CKRecordZone.ID, _ syncEngine: CKSyncEngine) {
        let pending = Set(syncEngine.state.pendingRecordZoneChanges)
        life.withLock { life in
            guard life.disk.complete.insert(zoneID).inserted else { return }
            let names = Set(life.disk.fetched[zoneID, default: []].compactMap { $0.split(separator: " ").first })
            life.disk.notes = life.disk.notes.filter { recordID, _ in
                recordID.zoneID != zoneID || pending.contains(.saveRecord(recordID))
                    || names.contains(Substring(recordID.recordName))
            }
        }
    }

    /// A version of a record comes once.
    private func noteFetched(_ record: CKRecord) {
        let (recordID, tag) = (record.recordID, record.recordChangeTag ?? "")
        life.withLock { life in
            let version = "\(recordID.recordName) \(tag)"
            if !life.disk.fetched[recordID.zoneID, default: []].insert(version).inserted {
                life.problems.append("\(recordID.zoneID.zoneName)/\(version) came twice")
            }
        }
    }

    /// Discards what the device has of a zone, but for what it still has to send: everything else comes again.
    private func discard(_ zoneID: CKRecordZone.ID, _ syncEngine: CKSyncEngine) {
        let pending = Set(syncEngine.state.pendingRecordZoneChanges)
        life.withLock { life in
            life.disk.forget(zoneID)
            life.disk.notes = life.disk.notes.filter {
                $0.key.zoneID != zoneID || pending.contains(.saveRecord($0.key))
            }
        }
    }

    private func handle(_ event: CKSyncEngine.Event.SentRecordZoneChanges, _ syncEngine: CKSyncEngine) {
        let sent = event.savedRecords.map(\.recordID.recordName) + event.deletedRecordIDs.map { "-" + $0.recordName }
        let failed =
            event.failedRecordSaves.map { "\($0.record.recordID.recordName)!\($0.error.code.rawValue)" }
            + event.failedRecordDeletes.map { "-\($0.key.recordName)!\($0.value.code.rawValue)" }
        note("sent \(sent) failed \(failed)")
        for record in event.savedRecords { take(record, isOwn: true) }
        for failure in event.failedRecordSaves {
            let recordID = failure.record.recordID
            switch failure.error.code {
            case .serverRecordChanged:
                guard let server = failure.error.serverRecord else { continue }
                take(server)
                if notes[recordID]?.text != server["text"] as? String {
                    syncEngine.state.add(pendingRecordZoneChanges: [.saveRecord(recordID)])
                }
            case .zoneNotFound:
                life.withLock { $0.disk.notes[recordID]?.record = nil }
                syncEngine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: recordID.zoneID))])
                syncEngine.state.add(pendingRecordZoneChanges: [.saveRecord(recordID)])
            case .userDeletedZone:
                // The user wants none of it.
                life.withLock { $0.disk.notes[recordID] = nil }
            case .unknownItem:
                life.withLock { $0.disk.notes[recordID]?.record = nil }
                syncEngine.state.add(pendingRecordZoneChanges: [.saveRecord(recordID)])
            default: break
            }
        }
    }

    /// Takes a record of the server's over, unless what is here was edited later and, given a state, is to be sent.
    private func take(_ record: CKRecord, isOwn: Bool = false, unless state: CKSyncEngine.State? = nil) {
        let maySend = state?.pendingRecordZoneChanges.contains(.saveRecord(record.recordID)) ?? true
        life.withLock { life in
            let edited = record["edited"] as? Int ?? 0
            let text = (encrypts.value ? record.encryptedValues["text"] : record["text"]) as? String ?? ""
            if let here = life.disk.notes[record.recordID] {
                let staysHere = isOwn || maySend && (here.edited, here.text) > (edited, text)
                life.disk.notes[record.recordID] = Note(
                    text: staysHere ? here.text : text, edited: staysHere ? here.edited : edited, record: record)
            } else if !isOwn {
                life.disk.notes[record.recordID] = Note(text: text, edited: edited, record: record)
            }
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        await onBatch.value()
        let pending = syncEngine.state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) }
        var batch = await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: pending) { recordID in
            guard let note = self.notes[recordID] else {
                syncEngine.state.remove(pendingRecordZoneChanges: [.saveRecord(recordID)])
                return nil
            }
            let record = note.record?.copy() as? CKRecord ?? CKRecord(recordType: "Note", recordID: recordID)
            if encrypts.value { record.encryptedValues["text"] = note.text } else { record["text"] = note.text }
            record["edited"] = note.edited
            return record
        }
        batch?.atomicByZone = atomically.value
        return batch
    }

    func nextFetchChangesOptions(
        _ context: CKSyncEngine.FetchChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.FetchChangesOptions {
        fetchOptions.value?(context) ?? context.options
    }
}

extension CKSyncEngine.Event.AccountChange.ChangeType {
    var summary: String {
        switch self {
        case .signIn: "in"
        case .signOut: "out"
        case .switchAccounts: "switch"
        }
    }
}
