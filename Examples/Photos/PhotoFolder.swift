import CloudKit

/// A folder whose files are in step with the same folder of other devices: every file is the asset of a record.
///
/// People change the folder at any time, between any two steps of this: what a file was like is noted before it is sent
/// or put there, so that whatever happens to it afterwards is found by the next scan.
actor PhotoFolder: CKSyncEngineDelegate {
    private let folder: URL
    private var index: FolderIndex
    /// Of the files on their way, when they were modified.
    private var sending: [CKRecord.ID: Date] = [:]
    private var running: CKSyncEngine?
    private var database: CKDatabase?

    init(_ folder: URL) {
        self.folder = folder
        index = FolderIndex(folder)
    }

    func start(_ database: CKDatabase) {
        let engine = CKSyncEngine(
            CKSyncEngine.Configuration(database: database, stateSerialization: index.state, delegate: self))
        if index.state == nil { engine.state.add(pendingDatabaseChanges: [.saveZone(Self.zone)]) }
        running = engine
        self.database = database
    }

    private static var zone: CKRecordZone { CKRecordZone(zoneID: FolderIndex.zoneID) }

    // MARK: The folder

    /// Looks for what was added to the folder, changed in it and removed from it.
    func scan() {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder.path) else { return }
        let files = Set(names.filter { !$0.hasPrefix(".") })
        var changes: [CKSyncEngine.PendingRecordZoneChange] = []
        for name in files {
            let recordID = FolderIndex.recordID(name)
            guard let modified = modified(name), index.files[name]?.modified != modified,
                sending[recordID] != modified
            else { continue }
            changes.append(.saveRecord(recordID))
        }
        for (name, known) in index.files where known.modified != nil && !files.contains(name) {
            changes.append(.deleteRecord(FolderIndex.recordID(name)))
            index.files[name]?.modified = nil
        }
        if !changes.isEmpty { running?.state.add(pendingRecordZoneChanges: changes) }
    }

    private func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

    private func modified(_ name: String) -> Date? {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path(name))
        guard attributes?[.type] as? FileAttributeType == .typeRegular else { return nil }
        return attributes?[.modificationDate] as? Date
    }

    /// The file's record with its content as it is now.
    private func record(_ recordID: CKRecord.ID) -> CKRecord? {
        guard let name = FolderIndex.name(recordID), let modified = modified(name) else { return nil }
        sending[recordID] = modified
        let record = index.record(name)
        record["image"] = CKAsset(fileURL: folder.appendingPathComponent(name))
        return record
    }

    /// Puts another device's file into the folder.
    private func take(_ record: CKRecord) {
        guard let name = FolderIndex.name(record.recordID),
            // What this device sent itself comes back; meanwhile somebody may have removed the file.
            index.files[name]?.changeTag != record.recordChangeTag,
            let file = (record["image"] as? CKAsset)?.fileURL
        else { return }
        let new = ".\(UUID().uuidString)"
        do {
            try FileManager.default.copyItem(atPath: file.path, toPath: path(new))
        } catch {
            return say("\(name) was not written: \(error.localizedDescription)")
        }
        let modified = modified(new)
        guard rename(path(new), path(name)) == 0 else {
            try? FileManager.default.removeItem(atPath: path(new))
            return say("\(name) was not written")
        }
        // The other's content is newer than what was to be sent or removed here.
        running?.state.remove(
            pendingRecordZoneChanges: [.saveRecord(record.recordID), .deleteRecord(record.recordID)])
        index.keep(record, name, modified: modified)
        say("\(name) has come")
    }

    /// Removes what another device removed, but for what was changed here meanwhile: that is sent as new.
    private func drop(_ recordID: CKRecord.ID) {
        guard let name = FolderIndex.name(recordID), let known = index.files.removeValue(forKey: name) else { return }
        guard let modified = modified(name), modified == known.modified, sending[recordID] == nil else { return }
        try? FileManager.default.removeItem(atPath: path(name))
        say("\(name) is gone")
    }

    // MARK: What the engine says

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        switch event {
        case .stateUpdate(let event): index.state = event.stateSerialization
        case .fetchedRecordZoneChanges(let event):
            for modification in event.modifications { take(modification.record) }
            for deletion in event.deletions { drop(deletion.recordID) }
        case .sentRecordZoneChanges(let event):
            for record in event.savedRecords {
                guard let name = FolderIndex.name(record.recordID) else { continue }
                index.keep(record, name, modified: sending.removeValue(forKey: record.recordID) ?? .distantPast)
                say("\(name) was sent")
            }
            for recordID in event.deletedRecordIDs { forget(recordID) }
            for (recordID, error) in event.failedRecordDeletes where error.code == .unknownItem { forget(recordID) }
            for failure in event.failedRecordSaves { await mend(failure, syncEngine) }
        case .didFetchChanges: say("up to date")
        default: break
        }
        index.save(in: folder)
    }

    /// The record of a file that was removed here is gone; if the file is there again, it is a new one.
    private func forget(_ recordID: CKRecord.ID) {
        guard let name = FolderIndex.name(recordID) else { return }
        index.files[name] = nil
    }

    private func mend(
        _ failure: CKSyncEngine.Event.SentRecordZoneChanges.FailedRecordSave, _ syncEngine: CKSyncEngine
    ) async {
        let recordID = failure.record.recordID
        sending[recordID] = nil
        switch failure.error.code {
        case .serverRecordChanged:
            // The other device was faster: its file wins, and comes with its record.
            if let record = try? await database?.record(for: recordID) { take(record) }
        case .unknownItem:
            // Removed elsewhere, changed here: the next scan sends it as new.
            forget(recordID)
        case .zoneNotFound, .userDeletedZone:
            forget(recordID)
            syncEngine.state.add(pendingDatabaseChanges: [.saveZone(Self.zone)])
        case .networkFailure, .networkUnavailable, .serviceUnavailable, .requestRateLimited, .zoneBusy,
            .serverResponseLost, .batchRequestFailed:
            break  // The engine tries again.
        default: say("not sent: \(failure.error.localizedDescription)")
        }
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
