import CloudKitLocal
import Testing

@testable import CloudKit

/// The schema's rules for an app, in production and in the public database.
@Suite struct SchemaRuleTests {
    private static let schema = """
        DEFINE SCHEMA
            RECORD TYPE Artwork (
                "___recordID" REFERENCE QUERYABLE,
                title         STRING QUERYABLE,
                body          STRING QUERYABLE,
                year          INT64 QUERYABLE SORTABLE
            );
        """

    private func artwork(_ name: String, _ type: String = "Artwork") -> CKRecord {
        let record = CKRecord(recordType: type, recordID: CKRecord.ID(recordName: name))
        record["title"] = "T"
        return record
    }

    @Test(arguments: Transport.allCases)
    func `production refuses an unknown type, an unknown field and another type, by name`(transport: Transport)
        async throws
    {
        try await Cloud.with(transport) { cloud in
            try await cloud.importSchema(Self.schema, deploys: true)
            let database = cloud.container(environment: .production).privateCloudDatabase
            try await database.save(artwork("a"))
            var error = await expectFailure(.invalidArguments) { try await database.save(artwork("b", "Sculpture")) }
            #expect(
                error?.localizedDescription.contains("Cannot create new type Sculpture in production schema") == true)
            error = await expectFailure(.invalidArguments) {
                let record = artwork("b")
                record["colour"] = "red"
                try await database.save(record)
            }
            #expect(
                error?.localizedDescription.contains(
                    "Cannot create or modify field 'colour' in record 'Artwork' in production schema") == true)
            error = await expectFailure(.invalidArguments) {
                let record = artwork("b")
                record["year"] = "1888"
                try await database.save(record)
            }
            #expect(
                error?.localizedDescription.contains("field 'year' for type 'Artwork', defined to be: INT64") == true)
            // Development is another place, where the same is made as it is saved.
            try await cloud.database().save(artwork("b", "Sculpture"))
        }
    }

    @Test(arguments: Transport.allCases)
    func `parent in a predicate is the type's field of that name, or else the record's own parent`(
        transport: Transport
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let root = artwork("root")
            let leaf = artwork("leaf")
            leaf.setParent(root)
            let other = CKRecord(recordType: "Copy", recordID: CKRecord.ID(recordName: "copy"))
            other.setParent(leaf)
            other["parent"] = CKRecord.Reference(record: root, action: .none)
            _ = try await database.modifyRecords(saving: [root, leaf, other], deleting: [])
            let predicate = NSPredicate(format: "parent == %@", root.recordID)
            for (type, name) in [("Artwork", "leaf"), ("Copy", "copy")] {
                let results = try await database.records(matching: CKQuery(recordType: type, predicate: predicate))
                #expect(results.matchResults.map(\.0.recordName) == [name])
            }
            #expect([root, leaf, other].map(predicate.evaluate(with:)) == [false, true, true])
            let unshared = CKQuery(recordType: "Artwork", predicate: NSPredicate(format: "share != %@", root.recordID))
            #expect(try await database.records(matching: unshared).matchResults.count == 2)
        }
    }

    @Test(arguments: Transport.allCases)
    func `a number fits a numeric field if no precision is lost`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            try await cloud.importSchema(
                """
                DEFINE SCHEMA
                    RECORD TYPE Item (
                        price DOUBLE QUERYABLE, amount INT64 QUERYABLE, prices LIST<DOUBLE> QUERYABLE, made TIMESTAMP
                    );
                """)
            let database = cloud.database()
            let item = CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: "a"))
            item["price"] = 5
            item["amount"] = 3.0
            item["prices"] = [1, 2]
            try await database.save(item)
            let fetched = try await database.record(for: item.recordID)
            #expect(fetched["price"] as Double? == 5)
            #expect(fetched["price"] as Int? == 5)
            #expect(fetched["amount"] as Int? == 3)
            #expect(fetched["prices"] as [Double]? == [1, 2])
            for format in ["price == 5", "price == 5.0", "amount == 3", "prices CONTAINS 2"] {
                let query = CKQuery(recordType: "Item", predicate: NSPredicate(format: format))
                #expect(try await database.records(matching: query).matchResults.count == 1, "\(format)")
            }
            for (key, value) in [("amount", 3.5), ("made", 5.0)] {
                let refused = CKRecord(recordType: "Item")
                refused[key] = value
                await expectFailure(.invalidArguments) { try await database.save(refused) }
            }
            let large = CKRecord(recordType: "Item")
            large["price"] = Int64(1) << 53
            try await database.save(large)
            large["price"] = (Int64(1) << 53) + 1
            await expectFailure(.invalidArguments) { try await database.save(large) }
        }
    }

    @Test(arguments: Transport.allCases)
    func `production refuses unindexed queries in Apple's words`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            try await cloud.importSchema(Self.schema, deploys: true)
            let database = cloud.container(environment: .production).privateCloudDatabase
            try await database.save(artwork("a"))
            func reason(_ format: String, sortedBy key: String? = nil) async -> String {
                let query = CKQuery(recordType: "Artwork", predicate: NSPredicate(format: format))
                query.sortDescriptors = key.map { [NSSortDescriptor(key: $0, ascending: true)] }
                let error = await expectFailure(.invalidArguments) { _ = try await database.records(matching: query) }
                return error?.localizedDescription ?? ""
            }
            #expect(await reason("title = 'T'", sortedBy: "title").contains("Field 'title' is not marked sortable"))
            #expect(await reason("title BEGINSWITH 'T'").contains("Field 'title' is not marked sortable"))
            #expect(await reason("unknown = 'T'").contains("Field 'unknown' is not marked queryable"))
            #expect(await reason("self CONTAINS 'T'").contains("is not marked searchable"))
            let query = CKQuery(recordType: "Artwork", predicate: NSPredicate(format: "title = 'T'"))
            query.sortDescriptors = [NSSortDescriptor(key: "year", ascending: false)]
            #expect(try await database.records(matching: query).matchResults.count == 1)
        }
    }

    @Test(arguments: Transport.allCases)
    func `in the public database everyone reads, signed-in accounts create, and the creator changes`(
        transport: Transport
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let mei = cloud.container("mei").publicCloudDatabase
            let tom = cloud.container("tom").publicCloudDatabase
            let nobody = cloud.container(nil).publicCloudDatabase
            let record = try await mei.save(artwork("a"))
            let seen = try await tom.record(for: record.recordID)
            seen["title"] = "Tom's"
            let error = await expectFailure(.permissionFailure) { try await tom.save(seen) }
            #expect(error?.localizedDescription.contains("WRITE operation not permitted") == true)
            await expectFailure(.permissionFailure) { try await tom.deleteRecord(withID: record.recordID) }
            #expect(try await nobody.record(for: record.recordID)["title"] == "T")
            let results = try await tom.modifyRecords(
                saving: [seen, artwork("b")], deleting: [], savePolicy: .allKeys
            ).saveResults
            #expect(results.values.count { (try? $0.get()) != nil } == 1)
            record["title"] = "Mei's"
            try await mei.save(record)
            let all = CKQuery(recordType: "Artwork", predicate: NSPredicate(value: true))
            #expect(try await nobody.records(matching: all).matchResults.count == 2)
        }
    }

    @Test func `an account with a role may do what the role is granted`() async throws {
        let cloud = try LocalCloud()
        try await cloud.importSchema(
            "DEFINE SCHEMA CREATE ROLE Curator; RECORD TYPE Pick (n INT64, GRANT CREATE TO Curator);")
        let database = cloud.container(account: "mei").publicCloudDatabase
        await expectFailure(.permissionFailure) { try await database.save(CKRecord(recordType: "Pick")) }
        try await cloud.assignRole("Curator", toAccount: "mei")
        try await database.save(CKRecord(recordType: "Pick"))
        try await cloud.revokeRole("Curator", fromAccount: "mei")
        await expectFailure(.permissionFailure) { try await database.save(CKRecord(recordType: "Pick")) }
        await #expect(throws: LocalCloudError.self) { try await cloud.assignRole("Editor", toAccount: "mei") }
    }

    @Test func `a cloud's schema is exported, imported, deployed and reset in code`() async throws {
        let cloud = try LocalCloud()
        let database = cloud.container().privateCloudDatabase
        try await database.save(artwork("a"))
        #expect(try await cloud.exportSchema().contains("RECORD TYPE Artwork ("))
        await #expect(throws: LocalCloudError.self) { try await cloud.importSchema("DEFINE SCHEMA") }
        do {
            try await cloud.importSchema("DEFINE SCHEMA RECORD TYPE Artwork (title STRING QUERYABLE, SORTABLE);")
            Issue.record("a field cannot be called SORTABLE")
        } catch let error as LocalCloudError {
            #expect(error.description.hasPrefix("line 1, column 60: Encountered \"SORTABLE\""))
        }
        try await cloud.deploySchema()
        #expect(try await cloud.exportSchema(environment: .production) == cloud.exportSchema())
        try await cloud.resetSchema()
        await expectFailure(.unknownItem) { _ = try await database.record(for: CKRecord.ID(recordName: "a")) }
        await cloud.close()
    }
}
