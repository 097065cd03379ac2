import CloudKit
import CloudKitLocal
import Foundation

extension ErrorSituation {
    struct Chapter: Sendable {
        let title: String
        let situations: [ErrorSituation]
    }

    static let chapters = [
        Chapter(title: "Records", situations: records), Chapter(title: "Zones", situations: zones),
        Chapter(title: "References", situations: references), Chapter(title: "Queries", situations: queries),
        Chapter(title: "Production", situations: production), Chapter(title: "Accounts", situations: accounts),
        Chapter(title: "Changes and subscriptions", situations: changes),
        Chapter(title: "Schema and roles", situations: schemas),
        Chapter(title: "Where the service is", situations: service),
    ]

    private static func emptyDatabase() throws -> CKDatabase { try CKContainer.local().privateCloudDatabase }

    /// A note that was saved; the fetched copies of it are objects of their own.
    private static func saved(in database: CKDatabase, _ name: String = "shopping") async throws -> CKRecord {
        let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name))
        note["text"] = "Milk"
        note["stars"] = 3
        return try await database.save(note)
    }

    private static func newNote(_ name: String = "shopping", in zoneID: CKRecordZone.ID = .default) -> CKRecord {
        CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
    }

    // MARK: Records

    private static let records = [
        ErrorSituation("fetch a record that does not exist") {
            _ = try await emptyDatabase().record(for: CKRecord.ID(recordName: "shopping"))
        },
        ErrorSituation("save a new record under a name that is taken") {
            let database = try emptyDatabase()
            _ = try await saved(in: database)
            try await database.save(newNote())
        },
        ErrorSituation("save a record that another device changed") {
            let database = try emptyDatabase()
            _ = try await saved(in: database)
            let mine = try await database.record(for: newNote().recordID)
            let theirs = try await database.record(for: newNote().recordID)
            theirs["text"] = "Bread"
            try await database.save(theirs)
            mine["text"] = "Eggs"
            try await database.save(mine)
        },
        ErrorSituation("save a record that another device deleted") {
            let database = try emptyDatabase()
            let note = try await saved(in: database)
            try await database.deleteRecord(withID: note.recordID)
            note["text"] = "Eggs"
            try await database.save(note)
        },
        ErrorSituation("put a value of another type in a field") {
            let database = try emptyDatabase()
            let note = try await saved(in: database)
            note["stars"] = "five"
            try await database.save(note)
        },
        ErrorSituation("encrypt a value of a field that has clear ones") {
            let database = try emptyDatabase()
            let note = try await saved(in: database)
            note.encryptedValues["stars"] = 5
            try await database.save(note)
        },
        ErrorSituation("put a clear value in a field that has encrypted ones") {
            let database = try emptyDatabase()
            let note = newNote()
            note.encryptedValues["secret"] = "Milk"
            try await database.save(note)
            let other = newNote("other")
            other["secret"] = "Milk"
            try await database.save(other)
        },
        ErrorSituation("encrypt a value in the public database") {
            let note = newNote()
            note.encryptedValues["secret"] = "Milk"
            try await CKContainer.local().publicCloudDatabase.save(note)
        },
        ErrorSituation("put an empty list in a field that is new") {
            let database = try emptyDatabase()
            let note = newNote()
            note["tags"] = [String]()
            try await database.save(note)
        },
        ErrorSituation("save a record under the name of one of another type") {
            let database = try emptyDatabase()
            _ = try await saved(in: database)
            let list = CKRecord(recordType: "List", recordID: CKRecord.ID(recordName: "shopping"))
            _ = try await database.modifyRecords(saving: [list], deleting: [], savePolicy: .ifServerRecordUnchanged)
                .saveResults[list.recordID]?.get()
        },
        ErrorSituation("save a record over 1 MB") {
            let note = newNote()
            note["text"] = String(repeating: "x", count: 1_100_000)
            try await emptyDatabase().save(note)
        },
        ErrorSituation("save 401 records at once") {
            _ = try await emptyDatabase().modifyRecords(
                saving: (0...400).map { _ in CKRecord(recordType: "Note") }, deleting: [])
        },
        ErrorSituation("give a record a name of 256 characters") {
            try await emptyDatabase().save(newNote(String(repeating: "n", count: 256)))
        },
        ErrorSituation("begin a record's name with an underscore") {
            try await emptyDatabase().save(newNote("_shopping"))
        },
        ErrorSituation("use other letters than ASCII's in a record's name") {
            try await emptyDatabase().save(newNote("einkäufe"))
        },
        ErrorSituation("begin a field's name with an underscore") {
            let note = newNote()
            note["_text"] = "Milk"
            try await emptyDatabase().save(note)
        },
        ErrorSituation("save and delete one record at once") {
            let note = newNote()
            _ = try await emptyDatabase().modifyRecords(saving: [note], deleting: [note.recordID])
        },
        ErrorSituation("one record of an atomic batch fails: the others' error") {
            let database = try emptyDatabase()
            let zone = try await database.save(CKRecordZone(zoneName: "Notes"))
            let (bad, good) = (newNote("bad", in: zone.zoneID), newNote("good", in: zone.zoneID))
            bad["tags"] = [String]()
            _ = try await database.modifyRecords(saving: [bad, good], deleting: []).saveResults[good.recordID]?.get()
        },
    ]

    // MARK: Zones

    private static let zones = [
        ErrorSituation("save a record into a zone that does not exist") {
            try await emptyDatabase().save(newNote(in: CKRecordZone.ID(zoneName: "Notes")))
        },
        ErrorSituation("fetch a record from a zone that does not exist") {
            _ = try await emptyDatabase().record(for: newNote(in: CKRecordZone.ID(zoneName: "Notes")).recordID)
        },
        ErrorSituation("fetch a record from a zone whose name is misspelt") {
            let database = try emptyDatabase()
            try await database.save(CKRecordZone(zoneName: "Notes"))
            _ = try await database.record(for: newNote(in: CKRecordZone.ID(zoneName: "Nodes")).recordID)
        },
        ErrorSituation("save a record into another account's zone") {
            let zone = CKRecordZone.ID(zoneName: "Notes", ownerName: "_" + String(repeating: "0", count: 32))
            try await emptyDatabase().save(newNote(in: zone))
        },
        ErrorSituation("fetch from a zone of the shared database that is not shared") {
            let zone = CKRecordZone.ID(zoneName: "Notes", ownerName: "_" + String(repeating: "0", count: 32))
            _ = try await CKContainer.local().sharedCloudDatabase.record(for: newNote(in: zone).recordID)
        },
        ErrorSituation("save a record into a zone of the public database") {
            try await CKContainer.local().publicCloudDatabase.save(newNote(in: CKRecordZone.ID(zoneName: "Notes")))
        },
        ErrorSituation("open a share by another service's URL") {
            guard let url = URL(string: "https://www.icloud.com/share/0aB") else { return }
            _ = try await CKContainer.local().shareMetadata(for: url)
        },
        ErrorSituation("delete the default zone") {
            _ = try await emptyDatabase().deleteRecordZone(withID: CKRecordZone.default().zoneID)
        },
        ErrorSituation("save a zone into the public database") {
            _ = try await CKContainer.local().publicCloudDatabase.save(CKRecordZone(zoneName: "Notes"))
        },
        ErrorSituation("save into a zone that its user removed") {
            let cloud = try LocalCloud()
            let database = cloud.container().privateCloudDatabase
            let zone = try await database.save(CKRecordZone(zoneName: "Notes"))
            try await cloud.removeZones(reason: .purged)
            try await database.save(newNote(in: zone.zoneID))
        },
    ]

    // MARK: References

    private static let references = [
        ErrorSituation("refer with `.deleteSelf` to a record that does not exist") {
            let note = newNote()
            note["list"] = CKRecord.Reference(recordID: CKRecord.ID(recordName: "list"), action: .deleteSelf)
            try await emptyDatabase().save(note)
        },
        ErrorSituation("refer to a record of another zone") {
            let database = try emptyDatabase()
            let zone = try await database.save(CKRecordZone(zoneName: "Notes"))
            let note = newNote()
            note["list"] = CKRecord.Reference(
                recordID: CKRecord.ID(recordName: "list", zoneID: zone.zoneID), action: .none)
            try await database.save(note)
        },
        ErrorSituation("have a parent that does not exist") {
            let note = newNote()
            note.setParent(CKRecord.ID(recordName: "list"))
            try await emptyDatabase().save(note)
        },
        ErrorSituation("delete a record that is the parent of another") {
            let database = try emptyDatabase()
            let zone = try await database.save(CKRecordZone(zoneName: "Notes"))
            let (list, note) = (newNote("list", in: zone.zoneID), newNote(in: zone.zoneID))
            note.setParent(list)
            _ = try await database.modifyRecords(saving: [list, note], deleting: [])
            try await database.deleteRecord(withID: list.recordID)
        },
    ]

    // MARK: Queries

    private static func ask(_ format: String, type: String = "Note", _ sort: NSSortDescriptor? = nil) async throws {
        let database = try emptyDatabase()
        let note = newNote()
        note["text"] = "Milk"
        note["stars"] = 3
        note["tags"] = ["a"]
        note["photo"] = Data([1])
        try await database.save(note)
        let query = CKQuery(recordType: type, predicate: NSPredicate(format: format))
        query.sortDescriptors = sort.map { [$0] }
        _ = try await database.records(matching: query)
    }

    private static let queries = [
        ErrorSituation("`stars = 1 OR stars = 2`") { try await ask("stars = 1 OR stars = 2") },
        ErrorSituation("`text CONTAINS 'ilk'` on a string") { try await ask("text CONTAINS 'ilk'") },
        ErrorSituation("`text CONTAINS[cd] 'milk'` on a string") { try await ask("text CONTAINS[cd] 'milk'") },
        ErrorSituation("`text LIKE 'M*'`") { try await ask("text LIKE 'M*'") },
        ErrorSituation("`text ENDSWITH 'k'`") { try await ask("text ENDSWITH 'k'") },
        ErrorSituation("`stars BEGINSWITH 'x'` on a number") { try await ask("stars BEGINSWITH 'x'") },
        ErrorSituation("`stars = 'five'` on a number") { try await ask("stars = 'five'") },
        ErrorSituation("`tags = 'a'` on a list") { try await ask("tags = 'a'") },
        ErrorSituation("look for bytes") { try await ask("photo = 'x'") },
        ErrorSituation("query a field that no record has") { try await ask("colour = 'red'") },
        ErrorSituation("query a field whose name is misspelt") { try await ask("star = 1") },
        ErrorSituation("query a type whose name is misspelt") { try await ask("TRUEPREDICATE", type: "Notes") },
        ErrorSituation("query a type of which no record was saved") { try await ask("TRUEPREDICATE", type: "List") },
        ErrorSituation("query user records") { try await ask("TRUEPREDICATE", type: "Users") },
        ErrorSituation("sort by a list") {
            try await ask("TRUEPREDICATE", NSSortDescriptor(key: "tags", ascending: true))
        },
    ]

    // MARK: Production

    /// The production database of a cloud whose schema has notes with a title.
    private static func deployed() async throws -> CKDatabase {
        let cloud = try LocalCloud()
        try await cloud.importSchema("DEFINE SCHEMA RECORD TYPE Note (title STRING);")
        try await cloud.deploySchema()
        return cloud.container(environment: .production).privateCloudDatabase
    }

    private static let production = [
        ErrorSituation("save a type that was not deployed") {
            try await deployed().save(CKRecord(recordType: "List"))
        },
        ErrorSituation("save a field that was not deployed") {
            let note = newNote()
            note["colour"] = "red"
            try await deployed().save(note)
        },
        ErrorSituation("query a field that is not QUERYABLE") {
            _ = try await deployed().records(
                matching: CKQuery(recordType: "Note", predicate: NSPredicate(format: "title = 'Milk'")))
        },
        ErrorSituation("query all records where `___recordID` is not QUERYABLE") {
            _ = try await deployed().records(
                matching: CKQuery(recordType: "Note", predicate: NSPredicate(value: true)))
        },
        ErrorSituation("look for a prefix in a field that is not SORTABLE") {
            _ = try await deployed().records(
                matching: CKQuery(recordType: "Note", predicate: NSPredicate(format: "title BEGINSWITH 'M'")))
        },
        ErrorSituation("look for words where no field is SEARCHABLE") {
            _ = try await deployed().records(
                matching: CKQuery(recordType: "Note", predicate: NSPredicate(format: "self CONTAINS 'milk'")))
        },
    ]

    // MARK: Accounts

    private static let accounts = [
        ErrorSituation("use the private database without an account, in process") {
            _ = try await CKContainer.local(account: nil).privateCloudDatabase.record(for: newNote().recordID)
        },
        ErrorSituation("save into the public database without an account") {
            try await CKContainer.local(account: nil).publicCloudDatabase.save(newNote())
        },
        ErrorSituation("change a public record of somebody else's") {
            let cloud = try LocalCloud()
            let note = try await saved(in: cloud.container(account: "mei").publicCloudDatabase)
            note["text"] = "Bread"
            try await cloud.container(account: "tom").publicCloudDatabase.save(note)
        },
    ]

    // MARK: Changes and subscriptions

    private static let changes = [
        ErrorSituation("fetch changes with a token older than what the service remembers of deletions") {
            let cloud = try LocalCloud()
            let database = cloud.container().privateCloudDatabase
            let zone = try await database.save(CKRecordZone(zoneName: "Notes"))
            let note = try await database.save(newNote(in: zone.zoneID))
            let changes = try await database.recordZoneChanges(inZoneWith: zone.zoneID, since: nil)
            try await database.deleteRecord(withID: note.recordID)
            try await cloud.forgetDeletions()
            _ = try await database.recordZoneChanges(inZoneWith: zone.zoneID, since: changes.changeToken)
        },
        ErrorSituation("fetch changes of the default zone") {
            _ = try await emptyDatabase().recordZoneChanges(inZoneWith: CKRecordZone.default().zoneID, since: nil)
        },
        ErrorSituation("fetch changes of the public database") {
            _ = try await CKContainer.local().publicCloudDatabase.recordZoneChanges(
                inZoneWith: CKRecordZone.default().zoneID, since: nil)
        },
        ErrorSituation("subscribe to the default zone") {
            _ = try await emptyDatabase().save(
                CKRecordZoneSubscription(zoneID: CKRecordZone.default().zoneID, subscriptionID: "notes"))
        },
        ErrorSituation("subscribe to a type of which no record was saved") {
            _ = try await emptyDatabase().save(
                CKQuerySubscription(
                    recordType: "List", predicate: NSPredicate(value: true), subscriptionID: "lists",
                    options: .firesOnRecordCreation))
        },
        ErrorSituation("subscribe twice to one thing") {
            let database = try emptyDatabase()
            _ = try await saved(in: database)
            for name in ["one", "two"] {
                _ = try await database.save(
                    CKQuerySubscription(
                        recordType: "Note", predicate: NSPredicate(value: true), subscriptionID: name,
                        options: .firesOnRecordCreation))
            }
        },
        ErrorSituation("fetch a subscription that does not exist") {
            _ = try await emptyDatabase().subscription(for: "notes")
        },
    ]

    // MARK: Schema and roles

    private static let schemas = [
        ErrorSituation("import what is no schema") {
            try await LocalCloud().importSchema("DEFINE SCHEMA RECORD TYPE Note (title TEXT);")
        },
        ErrorSituation("import a schema that drops what records hold") {
            let cloud = try LocalCloud()
            _ = try await saved(in: cloud.container().privateCloudDatabase)
            try await cloud.importSchema("DEFINE SCHEMA RECORD TYPE Note (stars NUMBER);")
        },
        ErrorSituation("give a role to an account that has not used the container") {
            let cloud = try LocalCloud()
            try await cloud.importSchema("DEFINE SCHEMA CREATE ROLE Curator; RECORD TYPE Note (title STRING);")
            try await cloud.assignRole("Curator", toAccount: "mei")
        },
        ErrorSituation("give a role that the schema does not make") {
            let cloud = try LocalCloud()
            _ = try await saved(in: cloud.container().privateCloudDatabase)
            try await cloud.assignRole("Curator")
        },
    ]

    // MARK: Where the service is

    private static let service = [
        ErrorSituation("use a cloud that was closed") {
            let cloud = try LocalCloud()
            let database = cloud.container().privateCloudDatabase
            await cloud.close()
            try await database.save(newNote())
        },
        ErrorSituation("open what is no directory") {
            _ = try LocalCloud(directory: URL(fileURLWithPath: "/dev/null"))
        },
    ]
}
