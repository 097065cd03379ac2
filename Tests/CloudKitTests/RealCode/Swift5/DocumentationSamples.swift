// swift-format-ignore-file

import CloudKit
import CloudKitLocal
import Testing

// The samples of Apple's documentation, as they stand there.

func fetchShare(forZone zone: CKRecordZone,
                completion: @escaping (Result<CKShare, Error>) -> Void) {
    let database = CKContainer.default().privateCloudDatabase

    // Use the 'CKRecordNameZoneWideShare' constant to create the record ID.
    let recordID = CKRecord.ID(recordName: CKRecordNameZoneWideShare,
                               zoneID: zone.zoneID)

    // Fetch the share record from the specified record zone.
    database.fetch(withRecordID: recordID) { share, error in
        if let error = error {
            // If the fetch fails, inform the caller.
            completion(.failure(error))
        } else if let share = share as? CKShare {
            // Otherwise, pass the fetched share record to the
            // completion handler.
            completion(.success(share))
        } else {
            fatalError("Unable to fetch record with ID: \(recordID)")
        }
    }
}

private protocol Samples {
    func own(_ itemRecord: CKRecord, _ listRecord: CKRecord)
    func itemsQuery(of listRecord: CKRecord) -> CKQueryOperation
    func encrypt() -> (CKRecord, NSString?)
}

private struct DocumentationSamples: Samples {
    @available(*, deprecated)
    func own(_ itemRecord: CKRecord, _ listRecord: CKRecord) {
        itemRecord["owningList"] = CKReference(record: listRecord, action: .deleteSelf)
    }

    @available(*, deprecated)
    func itemsQuery(of listRecord: CKRecord) -> CKQueryOperation {
        // Match item records with an owningList field that points to the specified list record.
        let listID = listRecord.recordID
        let recordToMatch = CKReference(recordID: listID, action: .deleteSelf)
        let predicate = NSPredicate(format: "owningList == %@", recordToMatch)
        // Create the query object.
        let query = CKQuery(recordType: "Item", predicate: predicate)
        let queryOp = CKQueryOperation(query: query)
        queryOp.queryCompletionBlock = { (cursor, error) in
            // Process the results…
        }
        // Add the CKQueryOperation to a queue to execute it and process the results asynchronously.
        return queryOp
    }

    func encrypt() -> (CKRecord, NSString?) {
        let record = CKRecord(recordType: "Property")

        // Encrypt the name of the property's owner.
        record.encryptedValues["ownerName"] = "Maria Ruiz"

        // Decrypt the name of the property's owner, using the
        // appropriate data type, and assign it to a local variable.
        var clientName = record.encryptedValues["ownerName"] as? NSString
        defer { clientName = nil }
        return (record, clientName)
    }
}

@Suite struct DocumentationSampleTests {
    private let samples: any Samples = DocumentationSamples()

    @Test func `the share of a zone is fetched by its constant name from the default container`() async {
        // In a process of its own, where no other test uses the default container.
        await #expect(processExitsWith: .success) {
            let cloud = try LocalCloud()
            cloud.becomeDefault()
            let database = CKContainer.default().privateCloudDatabase
            let zone = try await database.save(CKRecordZone(zoneName: "Shared"))
            let missing = await withCheckedContinuation { done in
                fetchShare(forZone: CKRecordZone(zoneName: "None")) { done.resume(returning: $0) }
            }
            let unshared = await withCheckedContinuation { done in
                fetchShare(forZone: zone) { done.resume(returning: $0) }
            }
            guard case .failure(CKError.zoneNotFound) = missing, case .failure(CKError.unknownItem) = unshared else {
                fatalError("\(missing), \(unshared)")
            }
        }
    }

    @Test func `an item that refers to its list is deleted with the list`() async throws {
        let database = try CKContainer.local().privateCloudDatabase
        let zone = try await database.save(CKRecordZone(zoneName: "Lists"))
        let listRecord = CKRecord(recordType: "List", recordID: CKRecord.ID(zoneID: zone.zoneID))
        let items = (1...3).map { _ in CKRecord(recordType: "Item", recordID: CKRecord.ID(zoneID: zone.zoneID)) }
        for itemRecord in items { samples.own(itemRecord, listRecord) }
        try await database.modifyRecords(saving: [listRecord] + items, deleting: [])
        #expect(try await database.record(for: items[0].recordID)["owningList"] != nil)
        try await database.deleteRecord(withID: listRecord.recordID)
        for result in try await database.records(for: items.map(\.recordID)).values {
            #expect { try result.get() } throws: { CKError.unknownItem ~= $0 }
        }
    }

    @Test func `a query by a reference finds the items of one list`() async throws {
        let database = try CKContainer.local().privateCloudDatabase
        let lists = ["list", "other"].map { CKRecord(recordType: "List", recordID: CKRecord.ID(recordName: $0)) }
        let items = (0..<6).map { CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: "item\($0)")) }
        for (index, itemRecord) in items.enumerated() where index < 5 { samples.own(itemRecord, lists[index % 2]) }
        try await database.modifyRecords(saving: lists + items, deleting: [])
        let found = Found()
        let queryOp = samples.itemsQuery(of: lists[0])
        queryOp.recordMatchedBlock = { id, result in found.add(id, result) }
        queryOp.database = database
        await withCheckedContinuation { done in
            queryOp.completionBlock = { done.resume() }
            OperationQueue().addOperation(queryOp)
        }
        #expect(found.names.sorted() == ["item0", "item2", "item4"])
    }

    @Test func `an encrypted name comes back from the cloud`() async throws {
        let database = try CKContainer.local().privateCloudDatabase
        let (record, clientName) = samples.encrypt()
        #expect(clientName == "Maria Ruiz")
        try await database.save(record)
        let fetched = try await database.record(for: record.recordID)
        #expect(fetched.encryptedValues["ownerName"] as? NSString == "Maria Ruiz")
    }
}

private final class Found: @unchecked Sendable {
    private let lock = NSLock()
    private var found: [String] = []

    var names: [String] { lock.withLock { found } }

    func add(_ id: CKRecord.ID, _ result: Result<CKRecord, Error>) {
        if case .success = result { lock.withLock { found.append(id.recordName) } }
    }
}
