import CloudKit

/// An app's own code. It asks for its container as on every platform.
public final class NoteStore: Sendable {
    private let database = CKContainer.default().privateCloudDatabase

    public init() {}

    public func add(_ title: String) async throws {
        let note = CKRecord(recordType: "Note")
        note["title"] = title
        try await database.save(note)
    }

    public func titles() async throws -> [String] {
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
        query.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
        do {
            let (matches, _) = try await database.records(matching: query)
            return try matches.map { try $0.1.get()["title"] ?? "" }
        } catch CKError.unknownItem {
            return []  // no note was ever saved, so there is no such type
        }
    }
}
