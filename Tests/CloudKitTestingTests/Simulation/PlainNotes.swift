import CloudKit
import CloudKitTesting
import Foundation

/// An app without a sync engine: it fetches what changed, then saves its dirty notes. Of two edits the one wins that the
/// service has.
actor PlainNotes: SimulatedApp {
    /// A mistake of the app.
    enum Mistake: Sendable {
        /// Takes a note for saved although its save failed.
        case dropsFailedSaves
        /// Takes a note for saved that was edited while its save was on its way.
        case dropsEditsDuringSaves
        /// Goes on with a change token that has expired.
        case keepsExpiredToken
        /// Sends the existing notes to an account that signs in.
        case keepsDataOfOtherAccount
        /// Ends in an endless loop of requests.
        case asksForEver
        /// Waits for something that never happens.
        case waitsForEver
        /// Pauses for ever, on its device's clock.
        case sleepsForEver
        /// Breaks an invariant of its own.
        case breaksInvariant
        /// Decides by chance of its own, and loses what its user writes.
        case actsByChance
    }

    private struct Note: Codable {
        var text: String
        /// Counts the edits.
        var version = 0
        var isDirty = false
        /// The texts that were sent and not acknowledged: what the service has with one of them is the app's own.
        var sent: Set<String> = []
        /// The archived system fields of the record.
        var fields: Data?
    }

    private struct Disk: Codable {
        var account: String?
        var notes: [String: Note] = [:]
        /// The deleted notes that the service still has.
        var deleted: Set<String> = []
        var hasZone = false
        /// Base64 of the archived token.
        var token: Data?
    }

    private let mistake: Mistake?
    private let clock: CloudClock
    private let container: CKContainer
    private let file: URL
    private var disk: Disk
    private let zone = CKRecordZone(zoneName: "Notes")

    init(_ device: CloudDevice, _ mistake: Mistake? = nil) throws {
        self.mistake = mistake
        clock = device.clock
        container = CKContainer.default()
        file = try device.diskDirectory.appendingPathComponent("notes.json")
        disk = (try? JSONDecoder().decode(Disk.self, from: Data(contentsOf: file))) ?? Disk()
    }

    // Not atomically, which waits for the disk: a simulation ends an app only where it awaits something.
    private func save() throws { try JSONEncoder().encode(disk).write(to: file) }

    var contents: [String: String] { disk.notes.mapValues(\.text) }

    func checkInvariants() throws {
        if mistake == .breaksInvariant, !disk.notes.isEmpty { throw CKError(.internalError) }
    }

    // MARK: The user

    func edit(using random: inout SimulationRandom) throws -> [String: String?] {
        let names = disk.notes.keys.sorted()
        let dice = Int.random(in: 0..<4, using: &random)
        if dice > 0, let name = names.randomElement(using: &random) {
            if dice == 1 { return try delete(name) }
            let text = random.text()
            disk.notes[name]?.text = text
            disk.notes[name]?.version += 1
            disk.notes[name]?.isDirty = true
            try save()
            return [name: text]
        }
        // A deleted note's name is not used again: a deletion whose answer was lost is sent twice.
        let text = mistake == .actsByChance ? UUID().uuidString : random.text()
        if mistake == .actsByChance { return ["note \(Int.random(in: 0..<1_000_000))": text] }
        disk.notes["note \(text)"] = Note(text: text, isDirty: true)
        try save()
        return ["note \(text)": text]
    }

    private func delete(_ name: String) throws -> [String: String?] {
        disk.notes[name] = nil
        disk.deleted.insert(name)
        try save()
        return [name: nil]
    }

    // MARK: Sync

    func sync() async throws {
        try await checkAccount()
        if mistake == .asksForEver, disk.hasZone { while true { _ = try await container.userRecordID() } }
        if mistake == .sleepsForEver, disk.hasZone { while true { try await clock.sleep(for: .seconds(1)) } }
        if mistake == .waitsForEver, disk.hasZone { try await Task.sleep(for: .seconds(1000)) }
        let database = container.privateCloudDatabase
        do {
            if !disk.hasZone {
                try await database.save(zone)
                disk.hasZone = true
                try save()
            }
            // A note that others deleted is not sent as a new one.
            try await fetch(from: database)
            try await send(to: database)
        } catch let error as CKError where [.userDeletedZone, .zoneNotFound].contains(error.code) {
            // The user removed the app's data.
            disk = Disk(account: disk.account)
            try save()
        }
    }

    private func checkAccount() async throws {
        let account = try await container.userRecordID().recordName
        if account == disk.account { return }
        if disk.account != nil {
            if mistake != .keepsDataOfOtherAccount { disk = Disk() }
            for name in disk.notes.keys { disk.notes[name] = Note(text: disk.notes[name]?.text ?? "", isDirty: true) }
        }
        disk.account = account
        (disk.token, disk.hasZone) = (nil, false)
        try save()
    }

    private func send(to database: CKDatabase) async throws {
        let dirty = disk.notes.filter(\.value.isDirty).sorted { $0.key < $1.key }
        let deleted = disk.deleted.sorted()
        if dirty.isEmpty, deleted.isEmpty { return }
        let records = try dirty.map { name, note in
            disk.notes[name]?.sent.insert(note.text)
            let record = try record(name, note)
            record["text"] = note.text
            return record
        }
        try save()
        do {
            let results = try await database.modifyRecords(
                saving: records, deleting: deleted.map(recordID), atomically: false)
            try note(results.saveResults, dirty)
            for (recordID, result) in results.deleteResults {
                if case .success = result { disk.deleted.remove(recordID.recordName) }
            }
            try save()
        } catch {
            if mistake == .dropsFailedSaves {
                for (name, _) in dirty { disk.notes[name]?.isDirty = false }
                try save()
            }
            throw error
        }
    }

    private func note(
        _ results: [CKRecord.ID: Result<CKRecord, any Error>], _ sent: [(key: String, value: Note)]
    ) throws {
        for (name, note) in sent {
            switch results[recordID(name)] {
            case .success(let record)?:
                disk.notes[name]?.fields = Self.fields(record)
                disk.notes[name]?.sent = []
                if mistake == .dropsEditsDuringSaves || disk.notes[name]?.version == note.version {
                    disk.notes[name]?.isDirty = false
                }
            case .failure(let error as CKError)?: try take(error, name, note)
            default: break
            }
        }
    }

    private func take(_ error: CKError, _ name: String, _ sent: Note) throws {
        switch error.code {
        case .serverRecordChanged:
            // A note that was deleted meanwhile stays so.
            guard let record = error.serverRecord, disk.notes[name] != nil else { return }
            disk.notes[name]?.fields = Self.fields(record)
            let text: String = record["text"] ?? ""
            // An answer was lost: what the service has is the app's own.
            if text == disk.notes[name]?.text { disk.notes[name]?.isDirty = false }
            if sent.sent.union([sent.text]).contains(text) { return }
            disk.notes[name] = Note(text: text, fields: Self.fields(record))
        case .unknownItem: disk.notes[name] = nil
        // Sent again with the next sync.
        case .quotaExceeded: break
        default: throw error
        }
    }

    private func record(_ name: String, _ note: Note) throws -> CKRecord {
        guard let fields = note.fields else { return CKRecord(recordType: "Note", recordID: recordID(name)) }
        let coder = try NSKeyedUnarchiver(forReadingFrom: fields)
        coder.requiresSecureCoding = true
        return CKRecord(coder: coder) ?? CKRecord(recordType: "Note", recordID: recordID(name))
    }

    private static func fields(_ record: CKRecord) -> Data {
        let coder = NSKeyedArchiver(requiringSecureCoding: true)
        record.encodeSystemFields(with: coder)
        return coder.encodedData
    }

    private func fetch(from database: CKDatabase) async throws {
        var token = try disk.token.flatMap {
            try NSKeyedUnarchiver.unarchivedObject(ofClass: CKServerChangeToken.self, from: $0)
        }
        var isFirst = token == nil
        var found: Set<String> = []
        while true {
            do {
                let changes = try await database.recordZoneChanges(inZoneWith: zone.zoneID, since: token)
                for (recordID, result) in changes.modificationResultsByID {
                    found.insert(recordID.recordName)
                    if case .success(let modification) = result { take(modification.record) }
                }
                for deletion in changes.deletions { take(deletion.recordID.recordName) }
                token = changes.changeToken
                // What a fetch from the beginning does not find was deleted.
                if isFirst, !changes.moreComing {
                    disk.notes = disk.notes.filter { $0.value.isDirty || found.contains($0.key) }
                }
                // A fetch from the beginning that breaks off begins again: what it found so far is known to it alone.
                if !isFirst || !changes.moreComing {
                    disk.token = try NSKeyedArchiver.archivedData(
                        withRootObject: changes.changeToken, requiringSecureCoding: true)
                }
                try save()
                if !changes.moreComing { return }
            } catch let error as CKError where error.code == .changeTokenExpired {
                if mistake == .keepsExpiredToken { throw error }
                (token, isFirst, found, disk.token) = (nil, true, [], nil)
            }
        }
    }

    private func take(_ record: CKRecord) {
        let name = record.recordID.recordName
        if disk.deleted.contains(name) { return }
        if let note = disk.notes[name], note.isDirty {
            // The answer to the note's save got lost: without these, a deletion by others would be undone.
            let text: String = record["text"] ?? ""
            guard note.sent.contains(text) else { return }
            disk.notes[name]?.fields = Self.fields(record)
            // Sent again, the text would win over an edit that another device made after it.
            if text == note.text { disk.notes[name]?.isDirty = false }
            return
        }
        disk.notes[name] = Note(
            text: record["text"] ?? "", version: disk.notes[name]?.version ?? 0, fields: Self.fields(record))
    }

    private func take(_ deleted: String) {
        disk.notes[deleted] = nil
    }

    private func recordID(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zone.zoneID) }
}
