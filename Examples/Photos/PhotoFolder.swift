import CloudKit

/// A folder whose files are in step with the same folder of other devices: every file is the asset of a record.
actor PhotoFolder: CKSyncEngineDelegate {
    /// A file as it was when it was last in step.
    private struct Known: Codable {
        var modified: Date
        /// The record without its fields: with it a save can tell whether another device was faster.
        var systemFields: Data?
    }

    private struct Store: Codable {
        var files: [String: Known] = [:]
        var state: CKSyncEngine.State.Serialization?
    }

    private static let zoneID = CKRecordZone.ID(zoneName: "Photos")

    private let folder: URL
    private var store: Store
    private var running: CKSyncEngine?
    private var database: CKDatabase?

    /// - Parameter folder: what is known of its files is in `.photos.json`.
    init(_ folder: URL) {
        self.folder = folder
        let data = try? Data(contentsOf: folder.appendingPathComponent(".photos.json"))
        store = data.flatMap { try? JSONDecoder().decode(Store.self, from: $0) } ?? Store()
    }

    func start(_ database: CKDatabase) {
        let engine = CKSyncEngine(
            CKSyncEngine.Configuration(database: database, stateSerialization: store.state, delegate: self))
        if store.state == nil {
            engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: Self.zoneID))])
        }
        running = engine
        self.database = database
    }

    private func save() {
        guard let data = try? JSONEncoder().encode(store) else { return }
        try? data.write(to: folder.appendingPathComponent(".photos.json"), options: .atomic)
    }

    // MARK: The folder

    /// Looks for what was added to the folder, changed in it and removed from it.
    func scan() {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder.path) else { return }
        let files = names.filter { !$0.hasPrefix(".") && modified($0) != nil }
        var changes: [CKSyncEngine.PendingRecordZoneChange] = []
        for name in files where store.files[name]?.modified != modified(name) {
            changes.append(.saveRecord(Self.recordID(name)))
        }
        for name in store.files.keys where !files.contains(name) {
            changes.append(.deleteRecord(Self.recordID(name)))
            store.files[name] = nil
        }
        if !changes.isEmpty { running?.state.add(pendingRecordZoneChanges: changes) }
    }

    private func modified(_ name: String) -> Date? {
        let attributes = try? FileManager.default.attributesOfItem(atPath: folder.appendingPathComponent(name).path)
        guard attributes?[.type] as? FileAttributeType == .typeRegular else { return nil }
        return attributes?[.modificationDate] as? Date
    }

    /// Record names are ASCII, file names are not.
    private static func recordID(_ name: String) -> CKRecord.ID {
        let escaped = name.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? name
        return CKRecord.ID(recordName: "photo-" + escaped, zoneID: zoneID)
    }

    private static func name(_ recordID: CKRecord.ID) -> String? {
        let name = recordID.recordName.dropFirst("photo-".count).description.removingPercentEncoding
        // Nothing that another device sends may lead out of the folder.
        return name.flatMap { $0.isEmpty || $0.hasPrefix(".") || $0.contains("/") ? nil : $0 }
    }

    /// The file's record with its content as it is now.
    private func record(_ recordID: CKRecord.ID) -> CKRecord? {
        guard let name = Self.name(recordID), modified(name) != nil else { return nil }
        let record =
            store.files[name]?.systemFields.flatMap(Self.record)
            ?? CKRecord(
                recordType: "Photo", recordID: recordID)
        record["image"] = CKAsset(fileURL: folder.appendingPathComponent(name))
        return record
    }

    private static func record(_ systemFields: Data) -> CKRecord? {
        guard let coder = try? NSKeyedUnarchiver(forReadingFrom: systemFields) else { return nil }
        coder.requiresSecureCoding = true
        defer { coder.finishDecoding() }
        return CKRecord(coder: coder)
    }

    private func keep(_ record: CKRecord, modified: Date) {
        guard let name = Self.name(record.recordID) else { return }
        let coder = NSKeyedArchiver(requiringSecureCoding: true)
        record.encodeSystemFields(with: coder)
        coder.finishEncoding()
        store.files[name] = Known(modified: modified, systemFields: coder.encodedData)
    }

    /// Puts another device's file into the folder.
    private func take(_ record: CKRecord) {
        guard let name = Self.name(record.recordID), let file = (record["image"] as? CKAsset)?.fileURL,
            let content = try? Data(contentsOf: file)
        else { return }
        try? content.write(to: folder.appendingPathComponent(name), options: .atomic)
        keep(record, modified: modified(name) ?? Date())
        say("\(name) has come")
    }

    private func drop(_ recordID: CKRecord.ID) {
        guard let name = Self.name(recordID), store.files.removeValue(forKey: name) != nil else { return }
        try? FileManager.default.removeItem(at: folder.appendingPathComponent(name))
        say("\(name) is gone")
    }

    // MARK: What the engine says

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        switch event {
        case .stateUpdate(let event): store.state = event.stateSerialization
        case .fetchedRecordZoneChanges(let event):
            for modification in event.modifications { take(modification.record) }
            for deletion in event.deletions { drop(deletion.recordID) }
        case .sentRecordZoneChanges(let event):
            for record in event.savedRecords {
                guard let name = Self.name(record.recordID), let modified = modified(name) else { continue }
                keep(record, modified: modified)
                say("\(name) was sent")
            }
            for failure in event.failedRecordSaves { await handle(failure) }
        case .didFetchChanges: say("up to date")
        default: break
        }
        save()
    }

    private func handle(_ failure: CKSyncEngine.Event.SentRecordZoneChanges.FailedRecordSave) async {
        guard failure.error.code == .serverRecordChanged else {
            return say("not sent: \(failure.error.localizedDescription)")
        }
        // The other device was faster: its file wins, and comes with its record.
        let recordID = failure.record.recordID
        if let record = try? await database?.record(for: recordID) { take(record) }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let changes = syncEngine.state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) }
        var records: [CKRecord.ID: CKRecord] = [:]
        for case .saveRecord(let recordID) in changes {
            records[recordID] = record(recordID)
            // It was removed before it was sent.
            if records[recordID] == nil { syncEngine.state.remove(pendingRecordZoneChanges: [.saveRecord(recordID)]) }
        }
        let found = records
        return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { found[$0] }
    }
}

/// Prints a line at once, so that whoever reads it need not wait for the next.
func say(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
}
