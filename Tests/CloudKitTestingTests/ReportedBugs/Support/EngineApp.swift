import CloudKit
import CloudKitTesting
import Synchronization

/// An app that syncs with `CKSyncEngine`. Subclasses override what they do wrong.
class EngineApp: ReportedApp, CKSyncEngineDelegate, @unchecked Sendable {
    // Unchecked like its superclass: the lock guards the rest.

    private let running = Mutex<(engine: CKSyncEngine?, isIncomplete: Bool)>((nil, false))

    var engine: CKSyncEngine? { running.withLock { $0.engine } }
    /// Whether the engine sends and fetches by itself.
    class var automaticallySyncs: Bool { false }

    required init(_ device: CloudDevice, isMended: Bool) async throws {
        try await super.init(device, isMended: isMended)
        var configuration = CKSyncEngine.Configuration(
            database: database, stateSerialization: disk.engine, delegate: self)
        configuration.automaticallySync = Self.automaticallySyncs
        let engine = CKSyncEngine(configuration)
        running.withLock { $0.engine = engine }
        queuePending()
    }

    override func sync() async throws {
        guard let engine else { return }
        try await engine.fetchChanges()
        for _ in 0..<Self.rounds {
            do {
                return try await engine.sendChanges()
            } catch let error as CKError {
                // Conflicts are resolved by now, and go with the next batch.
                guard error.code == .partialFailure, !engine.state.pendingRecordZoneChanges.isEmpty else { throw error }
            }
        }
    }

    private static let rounds = 10

    override func didEdit(_ changes: [String: String?]) { queue(changes.keys.sorted()) }

    /// Hands the engine everything that is pending.
    func queuePending() { queue(disk.pending) }

    func queue(_ names: [String]) {
        guard let engine, !names.isEmpty else { return }
        let disk = disk
        if !disk.hasZone { engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: disk.zoneID))]) }
        engine.state.add(
            pendingRecordZoneChanges: names.map { name in
                let recordID = disk.recordID(name)
                return disk.items[name]?.text == nil ? .deleteRecord(recordID) : .saveRecord(recordID)
            })
    }

    // MARK: The engine

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let disk = disk
        return await CKSyncEngine.RecordZoneChangeBatch(
            pendingChanges: syncEngine.state.pendingRecordZoneChanges
        ) { recordID in
            let record =
                disk.items[recordID.recordName]?.isPending == true ? disk.record(for: recordID.recordName) : nil
            if record == nil { syncEngine.state.remove(pendingRecordZoneChanges: [.saveRecord(recordID)]) }
            return record
        }
    }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        let isIncomplete = running.withLock { running in
            switch event {
            case .willFetchChanges: running.isIncomplete = false
            case .didFetchRecordZoneChanges(let event):
                running.isIncomplete = event.error != nil && event.error?.code != .changeTokenExpired
            default: break
            }
            return running.isIncomplete || syncEngine.state.zoneIDsWithUnfetchedServerChanges.contains(disk.zoneID)
        }
        take { handle(event, &$0, isIncomplete) }
        switch event {
        case .stateUpdate: do { try save() } catch { fatalError("\(error)") }
        case .accountChange, .didFetchChanges: queuePending()
        case .sentRecordZoneChanges(let event):
            let again: [CKError.Code] = [.serverRecordChanged, .batchRequestFailed]
            queue(
                event.failedRecordSaves.filter { again.contains($0.error.code) }.map(\.record.recordID.recordName)
                    .filter { disk.items[$0]?.isPending == true })
        default: break
        }
    }

    private func handle(_ event: CKSyncEngine.Event, _ disk: inout Disk, _ isIncomplete: Bool) {
        switch event {
        case .stateUpdate(let event): disk.engine = event.stateSerialization
        case .accountChange(let event): accountDidChange(event.changeType, &disk)
        case .fetchedDatabaseChanges(let event):
            if event.deletions.contains(where: { $0.zoneID == disk.zoneID }) { forgetItems(&disk) }
            if let change = event.modifications.first(where: { $0.zoneID.zoneName == disk.zone }) {
                (disk.hasZone, disk.owner) = (true, change.zoneID.ownerName)
            }
        case .fetchedRecordZoneChanges(let event):
            for modification in event.modifications where modification.record.recordID.zoneID == disk.zoneID {
                if modification.record is CKShare { disk.isShared = true } else { disk.merge(modification.record) }
            }
            for deletion in event.deletions where deletion.recordID.zoneID == disk.zoneID {
                disk.didDelete(deletion.recordID.recordName)
            }
        case .didFetchRecordZoneChanges(let event):
            // The database may have another zone, of another engine.
            if event.zoneID == disk.zoneID, event.error?.code == .changeTokenExpired { disk.beginRefetch() }
        case .didFetchChanges: if !isIncomplete { disk.finishRefetch() }
        case .sentDatabaseChanges(let event): if !event.savedZones.isEmpty { disk.hasZone = true }
        case .sentRecordZoneChanges(let event):
            for record in event.savedRecords { disk.didSave(record) }
            for recordID in event.deletedRecordIDs { disk.didDelete(recordID.recordName) }
            for failure in event.failedRecordSaves {
                settle(failure.record.recordID.recordName, failure.error, &disk)
            }
        default: break
        }
    }

    func settle(_ name: String, _ error: CKError, _ disk: inout Disk) {
        switch error.code {
        case .serverRecordChanged: if let record = error.serverRecord { disk.merge(record) }
        case .unknownItem: disk.didDelete(name)
        case .zoneNotFound: disk.hasZone = false  // the next fetch says if and why it was deleted
        default: break  // stays pending
        }
    }

    func accountDidChange(_ change: CKSyncEngine.Event.AccountChange.ChangeType, _ disk: inout Disk) {
        switch change {
        case .signIn(let user):
            if let account = disk.account, account != user.recordName { forgetItems(&disk) }
            disk.account = user.recordName
        case .switchAccounts(_, let user):
            forgetItems(&disk)
            disk.account = user.recordName
        case .signOut:
            forgetItems(&disk)
            disk.account = nil
        }
    }

    private func forgetItems(_ disk: inout Disk) {
        disk.forgetItems()
        guard let state = engine?.state else { return }
        state.remove(pendingRecordZoneChanges: state.pendingRecordZoneChanges)
        state.remove(pendingDatabaseChanges: state.pendingDatabaseChanges)
    }
}
