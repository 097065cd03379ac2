import CloudKit

/// What the app keeps on the device: the notes, what was not sent, and the sync engine's state. They are saved together, so
/// that a crash between two writes cannot leave a state that is newer than the notes.
///
/// It decides which of two edits wins, which notes are pending, and which ones a deletion on the service removes.
struct NoteLibrary: Codable, Sendable {
    struct Entry: Codable, Sendable {
        var note: Note
        /// Of the record as the service last returned it; nil if it never did.
        var systemFields: Data?
        /// Whether the save is pending. The engine drops failed saves, and a crash drops those added since its last state.
        var isUnsent: Bool
    }

    private(set) var entries: [String: Entry] = [:]
    /// The notes that were deleted here and perhaps not in iCloud.
    private(set) var deleted: Set<String> = []
    /// After an expired change token: the notes that the fetch from the beginning has not returned so far.
    private(set) var unconfirmed: Set<String> = []
    /// Whether the zone exists, as far as is known.
    var hasZone = false
    /// The user record of the account whose notes these are; nil before anybody signed in.
    var account: String?
    var engineState: CKSyncEngine.State.Serialization?

    var notes: [Note] { entries.values.map(\.note).sorted { ($0.edited, $0.id) > ($1.edited, $1.id) } }
    var unsent: [String] { entries.values.filter(\.isUnsent).map(\.note.id).sorted() }

    func isUnsent(_ id: String) -> Bool { entries[id]?.isUnsent ?? false }

    // MARK: What the user does

    mutating func write(_ text: String, to id: String, at time: Date) {
        // Later than the edit that the user saw, whatever this device's clock says.
        let now = max(Int(time.timeIntervalSince1970 * 1000), (entries[id]?.note.edited ?? 0) + 1)
        let note = Note(id: id, text: text, edited: now)
        entries[id] = Entry(note: note, systemFields: entries[id]?.systemFields, isUnsent: true)
        deleted.remove(id)
    }

    /// Removes a note that the user sees. It may not be on the disk yet.
    mutating func remove(_ id: String) {
        entries[id] = nil
        // Even a note that was never sent: the answer to its save may have been lost.
        deleted.insert(id)
    }

    // MARK: What the service says

    /// Returns the record to save; nil if there is nothing to save.
    func record(for id: String) -> CKRecord? {
        guard let entry = entries[id], entry.isUnsent else { return nil }
        let known = entry.systemFields.flatMap { CKRecord(systemFields: $0) }
        let record = known ?? CKRecord(recordType: Note.recordType, recordID: Note.recordID(id))
        entry.note.write(to: record)
        return record
    }

    /// Takes what the service has, unless the text here was edited later. Then that is saved on top of the service's record.
    mutating func merge(_ record: CKRecord) {
        guard let theirs = Note(record), !deleted.contains(theirs.id) else { return }
        unconfirmed.remove(theirs.id)
        if let ours = entries[theirs.id], ours.isUnsent, ours.note.edited > theirs.edited {
            entries[theirs.id]?.systemFields = record.systemFields
        } else {
            entries[theirs.id] = Entry(note: theirs, systemFields: record.systemFields, isUnsent: false)
        }
    }

    mutating func didSave(_ record: CKRecord) {
        let id = record.recordID.recordName
        unconfirmed.remove(id)
        entries[id]?.systemFields = record.systemFields
        // The user may have edited the note while it was sent.
        if entries[id]?.note.edited == record["edited"] as? Int { entries[id]?.isUnsent = false }
    }

    /// Removes a note that does not exist in iCloud any more. An edit of a deleted note goes with it.
    mutating func didDelete(_ id: String) {
        entries[id] = nil
        deleted.remove(id)
        unconfirmed.remove(id)
    }

    /// The service cannot say any more what was deleted: what the fetch from the beginning does not return, was.
    mutating func beginRefetch() { unconfirmed = Set(entries.filter { $0.value.systemFields != nil }.keys) }

    mutating func finishRefetch() {
        for id in unconfirmed { didDelete(id) }
    }

    // MARK: The zone and the account

    /// Forgets everything: the user removed the notes from iCloud, or they belong to an account that signed out.
    mutating func forgetAll() {
        (entries, deleted, unconfirmed, hasZone) = ([:], [], [], false)
    }

    /// Sends all notes again: the user lost the keys to the encrypted data in iCloud, and this device has the texts.
    mutating func sendAllAgain() {
        for id in entries.keys {
            entries[id]?.systemFields = nil
            entries[id]?.isUnsent = true
        }
        (deleted, unconfirmed, hasZone) = ([], [], false)
    }
}

extension NoteLibrary {
    /// Reads the library; an empty one if the file does not exist.
    /// - Throws: the error of a file that cannot be read. It is not taken for an empty library.
    init(_ file: URL) throws {
        guard FileManager.default.fileExists(atPath: file.path) else {
            self.init()
            return
        }
        self = try JSONDecoder().decode(Self.self, from: Data(contentsOf: file))
    }

    func save(to file: URL) throws { try JSONEncoder().encode(self).write(to: file, options: .atomic) }
}
