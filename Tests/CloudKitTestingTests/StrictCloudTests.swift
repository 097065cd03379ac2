import CloudKit
import CloudKitExtras
import CloudKitTesting
import Foundation
import Testing

/// A strict cloud refuses what is not part of Apple's API.
@Suite(.cloud(isStrict: true)) struct StrictCloudTests {
    private static let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))

    /// What the additions of `CloudKitExtras` do, by their names.
    private static let uses: [String: @Sendable (CKDatabase) async throws -> Void] = [
        "count": { _ = try await $0.count(matching: query) },
        "explain": { _ = try await $0.explain(query) },
        "extended": { database in
            let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "a = 1 OR a = 2"))
            _ = try await database.records(matching: query.extended)
        },
        "notifications": { _ in _ = try await CKContainer.default().notifications() },
    ]
    /// What stops the program, as it throws no error.
    private static let stopping: Set<String> = ["syncStatus"]

    @Test(arguments: uses.keys.sorted())
    func `an addition is refused, and works in another cloud`(name: String) async throws {
        let use = try #require(Self.uses[name])
        func run() async throws {
            let database = CKContainer.default().privateCloudDatabase
            let note = CKRecord(recordType: "Note")
            note["a"] = 1
            try await database.save(note)
            try await use(database)
        }
        let error = await #expect(throws: CKError.self) { try await run() }
        #expect(error?.code == .invalidArguments)
        #expect(error?.localizedDescription.contains("is an addition of Nephos") == true)
        try await withCloud { _ in try await run() }
    }

    @Test(arguments: ["TRUEPREDICATE", "FALSEPREDICATE", "a = 1", "a = 1 AND b = 2"])
    func `an extended query is refused whatever its predicate`(format: String) async throws {
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: format))
        let database = CKContainer.default().privateCloudDatabase
        let note = CKRecord(recordType: "Note")
        for key in ["a", "b"] { note[key] = 1 }
        try await database.save(note)
        _ = try await database.records(matching: query)
        let error = await #expect(throws: CKError.self) { try await database.records(matching: query.extended) }
        #expect(error?.code == .invalidArguments)
    }

    @Test func `an engine's status stops the program, which names the rule`() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            try await withCloud(isStrict: true) { _ in
                let delegate = Delegate()
                var configuration = CKSyncEngine.Configuration(
                    database: CKContainer.default().privateCloudDatabase, stateSerialization: nil, delegate: delegate)
                configuration.automaticallySync = false
                _ = CKSyncEngine(configuration).syncStatus
            }
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("CKSyncEngine.syncStatus: not part of Apple's API"), "\(text)")
    }

    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The public methods in the library whose documentation says that Apple does not have them.
    private func additionsOfCloudKit() throws -> Set<String> {
        let files = FileManager.default.enumerator(
            at: Self.root.appendingPathComponent("Sources/CloudKit"), includingPropertiesForKeys: nil)
        var names: Set<String> = []
        for case let file as URL in try #require(files) where file.pathExtension == "swift" {
            var isAddition = false
            for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
                let line = line.trimmingPrefix(while: \.isWhitespace)
                if line.hasPrefix("///") {
                    isAddition = isAddition || line.contains("Not part of Apple's API")
                } else {
                    if isAddition, let name = line.firstMatch(of: /^(?:public|open) .*?(?:var|func) ([A-Za-z]*)/)?.1 {
                        names.insert(String(name))
                    }
                    isAddition = false
                }
            }
        }
        return names
    }

    @Test func `every addition has a row`() throws {
        let root = Self.root
        let sources = root.appendingPathComponent("Sources/CloudKitExtras")
        var names: Set<String> = []
        for file in try FileManager.default.contentsOfDirectory(at: sources, includingPropertiesForKeys: nil)
        where file.pathExtension == "swift" {
            var extendsApples = false
            for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
                if line.first?.isLetter == true { extendsApples = line.hasPrefix("extension CK") }
                guard extendsApples else { continue }
                if let name = line.firstMatch(of: /public .*?(?:var|let|func|init) ?([A-Za-z]*)/)?.1 {
                    names.insert(String(name))
                }
            }
        }
        names.formUnion(try additionsOfCloudKit())
        #expect(names == Set(Self.uses.keys).union(Self.stopping), "does a strict cloud refuse each?")
    }

    @Test func `Apple's API works: engines, conflicts, encrypted values, subscriptions, shares`() async throws {
        let cloud = try LocalCloud.current
        let (phone, tablet) = (cloud.device("phone"), cloud.device("tablet"))
        let database = phone.container.privateCloudDatabase
        let zone = try await database.save(CKRecordZone(zoneName: "Notes"))
        let subscription = CKDatabaseSubscription(subscriptionID: "notes")
        subscription.recordType = "Note"
        try await database.save(subscription)
        let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "a", zoneID: zone.zoneID))
        note.encryptedValues["text"] = "secret"
        let other = CKRecord(recordType: "Note")
        _ = try await database.modifyRecords(saving: [note, CKShare(rootRecord: note), other], deleting: [])
        let mine = try await database.record(for: note.recordID)
        #expect(mine.encryptedValues["text"] == "secret")
        let theirs = try await tablet.container.privateCloudDatabase.record(for: note.recordID)
        try await tablet.container.privateCloudDatabase.save(theirs)
        mine["title"] = "new"
        let conflict = await #expect(throws: CKError.self) { try await database.save(mine) }
        #expect(conflict?.serverRecord != nil)
        let changes = try await database.recordZoneChanges(inZoneWith: zone.zoneID, since: nil)
        #expect(changes.modificationResultsByID.count == 2)

        let delegate = Delegate()
        var configuration = CKSyncEngine.Configuration(
            database: database, stateSerialization: nil, delegate: delegate)
        configuration.automaticallySync = false
        try await CKSyncEngine(configuration).fetchChanges()
    }
}

/// The delegate of an engine without changes.
private final class Delegate: CKSyncEngineDelegate {
    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {}
    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? { nil }
}
