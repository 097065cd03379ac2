import CloudKit
import CloudKitTesting
import Foundation

@testable import NotesApp

/// The app as a simulation runs it, with a defect between the engine and the app if one is wanted.
final class SimulatedNotes: SimulatedApp {
    private let app: NoteSync
    // The engine holds its delegate weakly.
    private let delegate: DefectiveDelegate?

    init(_ device: CloudDevice, _ defect: Defect? = nil) async throws {
        // A clock that stands orders edits of one note, as each is later than the one that its user saw.
        let app = try NoteSync(directory: device.diskDirectory) { Date(timeIntervalSince1970: 0) }
        self.app = app
        delegate = defect.map { DefectiveDelegate(app, $0) }
        await app.start(device.container.privateCloudDatabase, automaticallySync: false, delegate: delegate)
    }

    func edit(using random: inout SimulationRandom) async throws -> [String: String?] {
        let (ids, text) = (await app.notes.map(\.id).sorted(), random.text())
        let id = ids.randomElement(using: &random)
        // Few notes, so that edits meet.
        let dice = ids.count > 5 ? Int.random(in: 0..<6, using: &random) : Int.random(in: 0..<9, using: &random)
        switch (dice, id) {
        case (0..<3, let id?):
            try await app.remove(id)
            return [id: nil]
        case (3..<6, let id?):
            try await app.write(text, to: id)
            return [id: text]
        default:
            try await app.write(text, to: text)
            return [text: text]
        }
    }

    func sync() async throws { try await app.sync() }

    var contents: [String: String] {
        get async { Dictionary(uniqueKeysWithValues: await app.notes.map { ($0.id, $0.text) }) }
    }
}

/// What apps forget to do with an engine's events.
enum Defect: String, CaseIterable {
    /// Another account's user sees the former one's notes.
    case ignoresAccounts
    /// What the user removed from iCloud stays on the device.
    case ignoresRemovedZones
    /// What was deleted before the token expired stays on the device.
    case ignoresExpiredTokens
    /// What others deleted stays on the device.
    case ignoresDeletions
    /// After a launch the engine begins anew, and no longer knows which deletions the device has missed.
    case forgetsState
}

/// Hands events on to the app, but for those that a defect swallows.
final class DefectiveDelegate: CKSyncEngineDelegate {
    private let app: NoteSync
    private let defect: Defect

    init(_ app: NoteSync, _ defect: Defect) { (self.app, self.defect) = (app, defect) }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        switch (defect, event) {
        case (.ignoresAccounts, .accountChange), (.ignoresRemovedZones, .fetchedDatabaseChanges),
            (.ignoresExpiredTokens, .didFetchRecordZoneChanges), (.forgetsState, .stateUpdate):
            return
        case (.ignoresDeletions, .fetchedRecordZoneChanges(let changes)) where changes.modifications.isEmpty:
            return
        default:
            await app.handleEvent(event, syncEngine: syncEngine)
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        await app.nextRecordZoneChangeBatch(context, syncEngine: syncEngine)
    }
}
