import CloudKit

/// The contacts on this device. A sync engine keeps them in step with the other devices'.
actor ContactList: CKSyncEngineDelegate {
    /// What is kept between two runs of the program: the data and, always together with it, the engine's state.
    private struct Store: Codable {
        var contacts: [UUID: Contact] = [:]
        var state: CKSyncEngine.State.Serialization?
    }

    private let file: URL?
    private var store: Store
    private var running: CKSyncEngine?

    /// - Parameter file: where the contacts are kept; nil keeps them for this run only.
    init(file: URL?) {
        self.file = file
        let data = file.flatMap { try? Data(contentsOf: $0) }
        store = data.flatMap { try? JSONDecoder().decode(Store.self, from: $0) } ?? Store()
    }

    /// Begins to sync. The engine does the rest by itself: it sends what is added to its state, and fetches when the
    /// server tells of a change.
    func start(_ database: CKDatabase) {
        let configuration = CKSyncEngine.Configuration(
            database: database, stateSerialization: store.state, delegate: self)
        let engine = CKSyncEngine(configuration)
        if store.state == nil {
            engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: Contact.zoneID))])
        }
        running = engine
    }

    // MARK: What the user does

    var contacts: [Contact] { store.contacts.values.sorted { $0.name < $1.name } }

    func set(_ name: String, phone: String) {
        var contact =
            store.contacts.values.first { $0.name == name } ?? Contact(name: name, phone: phone, edited: Date())
        contact.phone = phone
        contact.edited = Date()
        store.contacts[contact.id] = contact
        save()
        running?.state.add(pendingRecordZoneChanges: [.saveRecord(contact.recordID)])
    }

    func remove(_ name: String) {
        for contact in store.contacts.values where contact.name == name {
            store.contacts[contact.id] = nil
            running?.state.add(pendingRecordZoneChanges: [.deleteRecord(contact.recordID)])
        }
        save()
    }

    private func save() {
        guard let file, let data = try? JSONEncoder().encode(store) else { return }
        try? data.write(to: file, options: .atomic)
    }

    // MARK: What the engine says

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        switch event {
        case .stateUpdate(let event):
            store.state = event.stateSerialization
            save()
        case .accountChange(let event):
            handle(event)
        case .fetchedDatabaseChanges(let event):
            if event.deletions.contains(where: { $0.zoneID == Contact.zoneID }) { forgetAll() }
        case .fetchedRecordZoneChanges(let event):
            for modification in event.modifications { take(modification.record) }
            for deletion in event.deletions { drop(deletion.recordID) }
        // Saved with the state that follows: after a crash before that, the fetch begins again.
        case .sentRecordZoneChanges(let event):
            handle(event, syncEngine)
        case .didFetchChanges:
            say("up to date")
        default:
            break
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let changes = syncEngine.state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) }
        let contacts = store.contacts
        return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { recordID in
            guard let contact = UUID(uuidString: recordID.recordName).flatMap({ contacts[$0] }) else {
                // It was removed before it was sent.
                syncEngine.state.remove(pendingRecordZoneChanges: [.saveRecord(recordID)])
                return nil
            }
            return contact.record
        }
    }

    private func handle(_ event: CKSyncEngine.Event.AccountChange) {
        switch event.changeType {
        case .signIn: break
        case .signOut, .switchAccounts: forgetAll()
        }
    }

    private func handle(_ event: CKSyncEngine.Event.SentRecordZoneChanges, _ engine: CKSyncEngine) {
        for record in event.savedRecords {
            guard let id = UUID(uuidString: record.recordID.recordName) else { continue }
            store.contacts[id]?.keep(record)
        }
        for failure in event.failedRecordSaves {
            guard let id = UUID(uuidString: failure.record.recordID.recordName) else { continue }
            switch failure.error.code {
            case .serverRecordChanged:
                guard let server = failure.error.serverRecord else { continue }
                take(server)
                // What is here is newer, then: once more, on top of what the server has.
                if store.contacts[id]?.phone != server["phone"] as? String {
                    engine.state.add(pendingRecordZoneChanges: [.saveRecord(server.recordID)])
                }
            case .zoneNotFound:
                store.contacts[id]?.systemFields = nil
                engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: Contact.zoneID))])
                engine.state.add(pendingRecordZoneChanges: [.saveRecord(failure.record.recordID)])
            case .unknownItem:
                store.contacts[id]?.systemFields = nil
                engine.state.add(pendingRecordZoneChanges: [.saveRecord(failure.record.recordID)])
            default:
                say("not saved: \(failure.error.localizedDescription)")
            }
        }
        save()
    }

    private func take(_ record: CKRecord) {
        guard let theirs = Contact(record) else { return }
        let isNew = store.contacts[theirs.id] == nil
        guard store.contacts[theirs.id, default: theirs].merge(record) || isNew else { return }
        say("\(theirs.name): \(theirs.phone)")
    }

    private func drop(_ recordID: CKRecord.ID) {
        guard let id = UUID(uuidString: recordID.recordName), let gone = store.contacts.removeValue(forKey: id) else {
            return
        }
        say("\(gone.name) is gone")
    }

    private func forgetAll() {
        store.contacts = [:]
        save()
    }
}

/// Prints a line at once, so that whoever reads it need not wait for the next.
func say(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
}
