import CloudKit
import CloudKitLocal
import Testing

@Suite struct RealCodeQueryFormTests {
    private let cloud: LocalCloud
    private let database: CKDatabase
    private let shelf = FruitShelf()

    init() throws {
        cloud = try LocalCloud()
        database = cloud.container().privateCloudDatabase
    }

    /// The fruit as the database has it.
    private func fill() async throws -> [CKRecord] {
        try await database.save(CKRecordZone(zoneID: shelf.zoneID))
        try await database.modifyRecords(saving: [shelf.inbox, shelf.later] + shelf.fruit, deleting: [])
        let results = try await database.records(for: shelf.fruit.map(\.recordID))
        return try shelf.fruit.compactMap { try results[$0.recordID]?.get() }
    }

    @Test func `equal predicates have one hash, and their description is their format`() throws {
        let one = NSPredicate(format: "year >= %d", 1900)
        let same = NSPredicate(format: "%K >= %@", "year", 1900)
        #expect(one == same && one.hash == same.hash && Set([one, same]).count == 1)
        #expect(one != NSPredicate(format: "year > 1900") && one != NSPredicate(value: true))
        #expect(NSPredicate(format: "TRUEPREDICATE") == NSPredicate(value: true))
        #expect(one.copy() as? NSPredicate == one && String(describing: one) == "year >= 1900")
        let both = NSCompoundPredicate(andPredicateWithSubpredicates: [one, NSPredicate(format: "name == 'a'")])
        #expect(both.subpredicates.first == one)
        #expect(CKQuery(recordType: "Fruit", predicate: one).predicate == same)
        #expect(one.evaluate(with: ["year": 1901]) && !one.evaluate(with: ["year": 1899]))
    }

    @Test func `a predicate's arguments print their description in other formats`() {
        let id = CKRecord.ID(recordName: "apple")
        let date = Date(timeIntervalSince1970: 0)
        #expect(String(format: "%@, %@, %d", id, [1, 2] as CVarArg, 3) == "\(id), [1, 2], 3")
        let error = NSError(domain: CKErrorDomain, code: 11)
        #expect(String(format: "%@ %@", error as CVarArg, ["a": 1] as CVarArg) == "\(error) [\"a\": 1]")
        #expect(String(format: "%@", NSUUID().self as CVarArg).isEmpty == false)
        #expect(String(format: "%@ (%@)", date as CVarArg, NSNumber(value: 1.5)) == "\(date) (1.5)")
    }

    private func names(_ predicate: NSPredicate, sortedBy order: [NSSortDescriptor]? = nil) async throws -> [String] {
        let query = CKQuery(recordType: "Fruit", predicate: predicate)
        query.sortDescriptors = order
        let (matches, cursor) = try await database.records(matching: query, inZoneWith: shelf.zoneID)
        #expect(cursor == nil)
        return try matches.map { try $0.1.get().recordID.recordName }
    }

    private func expectMatches(_ forms: [QueryForm]) async throws {
        let fruit = try await fill()
        for form in forms {
            let found = Set(try await names(form.predicate))
            #expect(found == Set(form.matches), "\(form.label), in the cloud")
            let inMemory = fruit.filter(form.predicate.evaluate(with:)).map(\.recordID.recordName)
            #expect(Set(inMemory) == Set(form.matches), "\(form.label), in memory")
        }
    }

    @Test func `every form of a predicate in known apps finds its records`() async throws {
        try await expectMatches(shelf.formsOfApps)
    }

    @Test func `every form of a predicate that CKQuery documents finds its records`() async throws {
        try await expectMatches(shelf.documentedForms)
    }

    @Test func `an unsupported predicate is refused when the query is executed`() async throws {
        _ = try await fill()
        for (index, predicate) in shelf.refusedForms.enumerated() {
            await #expect("form \(index)") { try await names(predicate) } throws: { CKError.invalidArguments ~= $0 }
        }
    }

    @Test func `records are sorted by the sort descriptors`() async throws {
        _ = try await fill()
        let named = NSPredicate(format: "name BEGINSWITH ''")
        let located = NSPredicate(format: "distanceToLocation:fromLocation:(place, %@) < 1000000", FruitShelf.berlin)
        let byName = NSSortDescriptor(key: "name", ascending: true)
        #expect(try await names(named, sortedBy: [byName]) == ["apple", "banana", "apricot", "cherry"])
        #expect(
            try await names(named, sortedBy: [NSSortDescriptor(key: "start", ascending: false)])
                == ["cherry", "banana", "apricot", "apple"])
        #expect(
            try await names(named, sortedBy: [NSSortDescriptor(key: "state", ascending: false), byName])
                == ["cherry", "banana", "apricot", "apple"])
        let munich = CLLocation(latitude: 48.1, longitude: 11.6)
        let nearest = CKLocationSortDescriptor(key: "place", relativeLocation: munich)
        #expect(try await names(located, sortedBy: [nearest]) == ["banana", "apricot", "apple"])
        let newest = NSSortDescriptor(key: "creationDate", ascending: false)
        let newestByKeyPath = NSSortDescriptor(keyPath: \CKRecord.creationDate, ascending: false)
        #expect(newestByKeyPath.key == "creationDate" && !newestByKeyPath.ascending)
        #expect(NSSortDescriptor(keyPath: \CKRecord.modificationDate, ascending: true).key == "modificationDate")
        #expect(Set(try await names(named, sortedBy: [newest])) == ["apple", "apricot", "banana", "cherry"])
    }

    @Test func `records are found by their creator and last modifier`() async throws {
        let me = cloud.container(account: "me")
        let you = cloud.container(account: "you")
        let (mine, yours) = (CKRecord(recordType: "Fruit"), CKRecord(recordType: "Fruit"))
        for (container, record) in [(me, mine), (you, yours)] {
            record["name"] = "apple"
            try await container.publicCloudDatabase.save(record)
        }
        let myID = try await me.userRecordID()
        let yourID = try await you.userRecordID()
        let reference = CKRecord.Reference(recordID: yourID, action: .none)
        let current = CKRecord.ID(recordName: CKCurrentUserDefaultName)
        let forms: [(NSPredicate, CKRecord)] = [
            (NSPredicate(format: "creatorUserRecordID == %@", myID), mine),
            (NSPredicate(format: "creatorUserRecordID = %@", reference), yours),
            (NSPredicate(format: "creatorUserRecordID == %@", current), mine),
            (NSPredicate(format: "creatorUserRecordID != %@", yourID), mine),
            (NSPredicate(format: "creatorUserRecordID IN %@", [yourID]), yours),
            (NSPredicate(format: "%K == %@", CKRecord.SystemFieldKey.creatorUserRecordID, reference), yours),
            (NSPredicate(format: "lastModifiedUserRecordID == %@", yourID), yours),
            (NSPredicate(format: "name == %@ AND creatorUserRecordID == %@", "apple", myID), mine),
        ]
        for (index, form) in forms.enumerated() {
            let query = CKQuery(recordType: "Fruit", predicate: form.0)
            let (matches, _) = try await me.publicCloudDatabase.records(matching: query)
            #expect(matches.map(\.0) == [form.1.recordID], "form \(index)")
        }
    }
}
