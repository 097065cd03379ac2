import CloudKit

/// An app's notes on one device. A sync engine synchronises them with the account's other devices.
actor NotesDevice: CKSyncEngineDelegate {
    static let zoneID = CKRecordZone.ID(zoneName: "Notes")

    /// The notes' texts by their names.
    private(set) var notes: [String: String] = [:]
    /// The records as the service last had them: what is edited is saved on top of them.
    private var records: [CKRecord.ID: CKRecord] = [:]
    /// To be kept on disk together with the notes, and given to the next engine.
    private(set) var state: CKSyncEngine.State.Serialization?
    private var running: CKSyncEngine?

    func start(_ database: CKDatabase) -> CKSyncEngine {
        var configuration = CKSyncEngine.Configuration(database: database, stateSerialization: state, delegate: self)
        configuration.automaticallySync = false
        let engine = CKSyncEngine(configuration)
        if state == nil {
            engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: Self.zoneID))])
        }
        running = engine
        return engine
    }

    func write(_ text: String, to name: String) {
        notes[name] = text
        let recordID = CKRecord.ID(recordName: name, zoneID: Self.zoneID)
        running?.state.add(pendingRecordZoneChanges: [.saveRecord(recordID)])
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let changes = syncEngine.state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) }
        let (notes, records) = (notes, records)
        return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { recordID in
            guard let text = notes[recordID.recordName] else { return nil }
            let record = records[recordID] ?? CKRecord(recordType: "Note", recordID: recordID)
            record["text"] = text
            return record
        }
    }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        switch event {
        case .stateUpdate(let event):
            state = event.stateSerialization
        case .fetchedRecordZoneChanges(let event):
            for modification in event.modifications { take(modification.record) }
            for deletion in event.deletions { notes[deletion.recordID.recordName] = nil }
        case .sentRecordZoneChanges(let event):
            for record in event.savedRecords { records[record.recordID] = record }
            for failure in event.failedRecordSaves where failure.error.code == .serverRecordChanged {
                // Another device was first: this app lets it win.
                if let record = failure.error.serverRecord { take(record) }
            }
        default:
            break
        }
    }

    private func take(_ record: CKRecord) {
        records[record.recordID] = record
        notes[record.recordID.recordName] = record["text"]
    }
}
