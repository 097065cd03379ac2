import CloudKit
import CloudKitLocal
import Testing

/// The examples of the reference: each stands in `Sources/CloudKit/CloudKit.docc/Examples`, for the symbol it is named after. What
/// follows the line `// Shown by:` checks it, and is not in the reference.
@Suite struct ReferenceTests {
    private let container: CKContainer
    private let database: CKDatabase

    init() throws {
        container = try CKContainer.local()
        database = container.privateCloudDatabase
    }

    @Test func `the example of CKRecord`() async throws {
        let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "shopping"))
        note["text"] = "Milk"
        note["stars"] = 5
        note["tags"] = ["food", "today"]
        note["due"] = Date(timeIntervalSinceNow: 86_400)
        try await database.save(note)

        let text: String? = note["text"]
        let stars = note["stars"] as? Int
        note["tags"] = nil  // removes the field with the next save
        // Shown by:
        #expect(text == "Milk" && stars == 5 && note.recordChangeTag != nil)
        try await database.save(note)
        #expect(try await database.record(for: note.recordID)["tags"] == nil)
    }

    @Test func `the example of CKRecord.ID`() async throws {
        let generated = CKRecord.ID()  // a UUID for a name, in the default zone
        let named = CKRecord.ID(recordName: "shopping")
        let zoned = CKRecord.ID(recordName: "shopping", zoneID: CKRecordZone.ID(zoneName: "Notes"))
        // Shown by:
        #expect(UUID(uuidString: generated.recordName) != nil)
        #expect(named != zoned && named.zoneID == CKRecordZone.default().zoneID)
    }

    @Test func `the example of CKRecord.RecordType`() async throws {
        let type: CKRecord.RecordType = "Note"
        let notes = CKQuery(recordType: type, predicate: NSPredicate(value: true))
        // Shown by:
        #expect(notes.recordType == "Note")
    }

    @Test func `the example of CKRecord.FieldKey`() async throws {
        let note = CKRecord(recordType: "Note")
        let textKey: CKRecord.FieldKey = "text"
        note[textKey] = "Milk"
        let changed: [CKRecord.FieldKey] = note.changedKeys()
        // Shown by:
        #expect(changed == ["text"])
    }

    @Test func `the example of CKRecord.Reference`() async throws {
        let list = CKRecord(recordType: "List")
        let item = CKRecord(recordType: "Item")
        item["list"] = CKRecord.Reference(record: list, action: .deleteSelf)  // goes when the list goes
        _ = try await database.modifyRecords(saving: [list, item], deleting: [])

        let items = CKQuery(recordType: "Item", predicate: NSPredicate(format: "list == %@", list.recordID))
        let (matches, _) = try await database.records(matching: items)
        // Shown by:
        #expect(matches.map(\.0) == [item.recordID])
    }

    @Test func `the example of CKRecordValue`() async throws {
        let note = CKRecord(recordType: "Note")
        let values: [String: any CKRecordValue] = ["text": "Milk" as NSString, "stars": 5 as NSNumber]
        note.setValuesForKeys(values)
        // Shown by:
        #expect(note["text"] == "Milk" && note["stars"] == 5)
    }

    @Test func `the example of CKRecordZone`() async throws {
        let zone = try await database.save(CKRecordZone(zoneName: "Notes"))
        let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(zoneID: zone.zoneID))
        try await database.save(note)

        try await database.deleteRecordZone(withID: zone.zoneID)  // with everything in it
        // Shown by:
        #expect(try await database.allRecordZones().map(\.zoneID) == [CKRecordZone.default().zoneID])
    }

    @Test func `the example of CKRecordZone.ID`() async throws {
        let mine = CKRecordZone.ID(zoneName: "Notes")
        let theirs = CKRecordZone.ID(zoneName: "Notes", ownerName: "_0123456789abcdef")
        // Shown by:
        #expect(mine.ownerName == CKCurrentUserDefaultName && mine != theirs)
    }

    @Test func `the example of CKCurrentUserDefaultName`() async throws {
        let note = try await database.save(CKRecord(recordType: "Note"))
        let isMine = note.creatorUserRecordID?.recordName == CKCurrentUserDefaultName
        // Shown by:
        #expect(isMine)
    }

    @Test func `the example of CKContainer`() async throws {
        let container = CKContainer(identifier: "iCloud.org.example.App")
        let shelf = container.publicCloudDatabase  // everybody's to read
        let desk = container.privateCloudDatabase  // the account's own
        // Shown by:
        #expect(shelf.databaseScope == .public && desk.databaseScope == .private)
    }

    @Test func `the example of CKAccountStatus`() async throws {
        switch try await container.accountStatus() {
        case .available: print("The private database can be used.")
        case .noAccount: print("Sign in to keep notes.")
        default: print("Not now.")
        }
        // Shown by:
        #expect(try await container.accountStatus() == .available)
    }

    @Test func `the example of CKDatabase`() async throws {
        let milk = try await database.save(CKRecord(recordType: "Note"))
        let fetched = try await database.record(for: milk.recordID)

        let (saved, deleted) = try await database.modifyRecords(
            saving: [CKRecord(recordType: "Note")], deleting: [fetched.recordID])
        for result in saved.values { _ = try result.get() }
        // Shown by:
        #expect(deleted.count == 1)
    }

    @Test func `the example of CKDatabase.Scope`() async throws {
        let scope: CKDatabase.Scope = .private
        let database = container.database(with: scope)
        // Shown by:
        #expect(database.databaseScope == scope)
    }

    @Test func `the example of CKAsset`() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("photo.jpg")
        let photo = CKRecord(recordType: "Photo")
        photo["image"] = CKAsset(fileURL: file)
        let image = photo["image"] as? CKAsset
        // Shown by:
        #expect(image?.fileURL == file)
    }

    @Test func `the example of CKQuery`() async throws {
        for stars in 1...5 {
            let note = CKRecord(recordType: "Note")
            note["stars"] = stars
            try await database.save(note)
        }
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "stars >= %@", 3 as NSNumber))
        query.sortDescriptors = [NSSortDescriptor(key: "stars", ascending: false)]
        let (matches, cursor) = try await database.records(matching: query, desiredKeys: ["stars"], resultsLimit: 50)
        for (recordID, result) in matches { print(recordID.recordName, try result.get()["stars"] ?? 0) }
        // Shown by:
        #expect(matches.count == 3 && cursor == nil)
    }

    @Test func `the example of CKQueryOperation`() async throws {
        try await database.save(CKRecord(recordType: "Note"))
        let operation = CKQueryOperation(
            query: CKQuery(recordType: "Note", predicate: NSPredicate(value: true)))
        operation.resultsLimit = 50
        operation.recordMatchedBlock = { recordID, result in print(recordID.recordName, result) }
        let cursor = try await withCheckedThrowingContinuation { continuation in
            operation.queryResultBlock = { continuation.resume(with: $0) }
            database.add(operation)
        }
        // Shown by:
        #expect(cursor == nil)
    }

    @Test func `the example of CKQueryOperation.Cursor`() async throws {
        for _ in 1...3 { try await database.save(CKRecord(recordType: "Note")) }
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
        var (notes, cursor) = try await database.records(matching: query, resultsLimit: 2)
        while let next = cursor {
            let page = try await database.records(continuingMatchFrom: next, resultsLimit: 2)
            notes += page.matchResults
            cursor = page.queryCursor
        }
        // Shown by:
        #expect(notes.count == 3)
    }

    @Test func `the example of CKModifyRecordsOperation`() async throws {
        let note = CKRecord(recordType: "Note")
        let operation = CKModifyRecordsOperation(recordsToSave: [note], recordIDsToDelete: [])
        operation.savePolicy = .changedKeys
        operation.perRecordSaveBlock = { recordID, result in
            if case .failure(let error) = result { print(recordID.recordName, error) }
        }
        try await withCheckedThrowingContinuation { continuation in
            operation.modifyRecordsResultBlock = { continuation.resume(with: $0) }
            database.add(operation)
        }
        // Shown by:
        #expect(note.recordChangeTag != nil)
    }

    @Test func `the example of CKFetchRecordsOperation`() async throws {
        let note = try await database.save(CKRecord(recordType: "Note"))
        let operation = CKFetchRecordsOperation(recordIDs: [note.recordID])
        operation.desiredKeys = ["text"]
        operation.perRecordResultBlock = { recordID, result in print(recordID.recordName, result) }
        try await withCheckedThrowingContinuation { continuation in
            operation.fetchRecordsResultBlock = { continuation.resume(with: $0) }
            database.add(operation)
        }
    }

    @Test func `the example of CKModifyRecordZonesOperation`() async throws {
        let zone = CKRecordZone(zoneName: "Notes")
        let operation = CKModifyRecordZonesOperation(recordZonesToSave: [zone], recordZoneIDsToDelete: [])
        try await withCheckedThrowingContinuation { continuation in
            operation.modifyRecordZonesResultBlock = { continuation.resume(with: $0) }
            database.add(operation)
        }
        // Shown by:
        #expect(try await database.recordZone(for: zone.zoneID).zoneID == zone.zoneID)
    }

    @Test func `the example of CKFetchRecordZoneChangesOperation`() async throws {
        let zone = try await database.save(CKRecordZone(zoneName: "Notes"))
        let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: [zone.zoneID],
            configurationsByRecordZoneID: [zone.zoneID: .init(previousServerChangeToken: nil)])
        operation.recordWasChangedBlock = { recordID, result in print("changed", recordID.recordName, result) }
        operation.recordWithIDWasDeletedBlock = { recordID, type in print("deleted", recordID.recordName, type) }
        operation.recordZoneFetchResultBlock = { zoneID, result in
            if case .success(let (token, _, _)) = result { print("keep", token, "for", zoneID.zoneName) }
        }
        try await withCheckedThrowingContinuation { continuation in
            operation.fetchRecordZoneChangesResultBlock = { continuation.resume(with: $0) }
            database.add(operation)
        }
    }

    @Test func `the example of CKServerChangeToken`() async throws {
        let zone = try await database.save(CKRecordZone(zoneName: "Notes"))
        let token = try await database.recordZoneChanges(inZoneWith: zone.zoneID, since: nil).changeToken
        let data = try NSKeyedArchiver.archivedData(withRootObject: token, requiringSecureCoding: true)
        let kept = try NSKeyedUnarchiver.unarchivedObject(ofClass: CKServerChangeToken.self, from: data)
        // Shown by:
        #expect(kept == token)
    }

    @Test func `the example of CKSubscription`() async throws {
        try await database.save(CKRecord(recordType: "Note"))
        let subscription = CKQuerySubscription(
            recordType: "Note", predicate: NSPredicate(format: "stars > 3"), subscriptionID: "good notes",
            options: [.firesOnRecordCreation, .firesOnRecordUpdate])
        subscription.notificationInfo = CKSubscription.NotificationInfo(alertBody: "A good note")
        // Shown by:
        let note = CKRecord(recordType: "Note")
        note["stars"] = 4
        try await database.save(note)
        #expect(try await database.save(subscription).subscriptionID == "good notes")
    }

    @Test func `the example of CKSubscription.NotificationInfo`() async throws {
        let info = CKSubscription.NotificationInfo()
        info.shouldSendContentAvailable = true  // wakes the app, and shows nothing
        let subscription = CKDatabaseSubscription(subscriptionID: "everything")
        subscription.notificationInfo = info
        // Shown by:
        #expect(try await database.save(subscription).notificationInfo?.shouldSendContentAvailable == true)
    }

    @Test func `the example of CKDatabaseSubscription`() async throws {
        let subscription = CKDatabaseSubscription(subscriptionID: "everything")
        try await database.save(subscription)  // once for all of the account's devices

        let notifications = try await container.notifications()
        // Shown by:
        _ = notifications
        #expect(try await database.subscription(for: "everything") is CKDatabaseSubscription)
    }

    @Test func `the example of CKModifySubscriptionsOperation`() async throws {
        let subscription = CKDatabaseSubscription(subscriptionID: "everything")
        let operation = CKModifySubscriptionsOperation(
            subscriptionsToSave: [subscription], subscriptionIDsToDelete: [])
        operation.perSubscriptionSaveBlock = { subscriptionID, result in print(subscriptionID, result) }
        try await withCheckedThrowingContinuation { continuation in
            operation.modifySubscriptionsResultBlock = { continuation.resume(with: $0) }
            database.add(operation)
        }
        // Shown by:
        #expect(try await database.allSubscriptions().count == 1)
    }

    @Test func `the example of CKShare`() async throws {
        let cloud = try LocalCloud()
        let (container, friend) = (cloud.container(account: "alice"), cloud.container(account: "bob"))
        let database = container.privateCloudDatabase
        let zone = try await database.save(CKRecordZone(zoneName: "Lists"))
        let list = CKRecord(recordType: "List", recordID: CKRecord.ID(zoneID: zone.zoneID))
        let share = CKShare(rootRecord: list)
        share[CKShare.SystemFieldKey.title] = "A list"  // readable before it is accepted
        share.publicPermission = .readOnly  // whoever has the link may read
        _ = try await database.modifyRecords(saving: [list, share], deleting: [])
        guard let link = share.url else { return }  // to be sent as it is: its end has the key of encrypted values

        let metadata = try await friend.shareMetadata(for: link)
        try await friend.accept(metadata)
        let lists = try await friend.sharedCloudDatabase.allRecordZones()
        // Shown by:
        #expect(lists.map(\.zoneID.zoneName) == ["Lists"])
    }

    @Test func `the example of CKRecord.setParent`() async throws {
        let zone = try await database.save(CKRecordZone(zoneName: "Lists"))
        let list = CKRecord(recordType: "List", recordID: CKRecord.ID(zoneID: zone.zoneID))
        let item = CKRecord(recordType: "Item", recordID: CKRecord.ID(zoneID: zone.zoneID))
        item.setParent(list)  // whoever gets the list by a share gets the item too
        _ = try await database.modifyRecords(saving: [list, item], deleting: [])
        // Shown by:
        #expect(try await database.record(for: item.recordID).parent?.recordID == list.recordID)
    }

    @Test func `the example of CKRecord.encodeSystemFields`() async throws {
        let note = try await database.save(CKRecord(recordType: "Note"))
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        note.encodeSystemFields(with: archiver)
        archiver.finishEncoding()
        let kept = archiver.encodedData  // beside the app's own copy of the note

        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: kept)
        unarchiver.requiresSecureCoding = true
        if let known = CKRecord(coder: unarchiver) {
            known["text"] = "Milk"  // has its name and change tag, so a save finds conflicts, and no values
            try await database.save(known)
        }
        // Shown by:
        #expect(try await database.record(for: note.recordID)["text"] == "Milk")
        await #expect(throws: CKError.self) { try await database.save(note) }
    }

    @Test func `the example of CKNotification`() async throws {
        let cloud = try LocalCloud()
        let (container, other) = (cloud.container(), cloud.container())
        let database = container.privateCloudDatabase
        let zone = try await database.save(CKRecordZone(zoneName: "Notes"))
        try await database.save(CKDatabaseSubscription(subscriptionID: "everything"))  // once for an account
        let notifications = try await container.notifications()  // from here on nothing is missed
        // Shown by:
        let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(zoneID: zone.zoneID))
        try await other.privateCloudDatabase.save(note)
        // It comes.
        for await notification in notifications {
            guard let change = notification as? CKDatabaseNotification else { continue }
            print("fetch what changed in the database of scope", change.databaseScope.rawValue)
            break  // an app goes on
        }
    }

    @Test func `the example of CKError`() async throws {
        do {
            _ = try await database.record(for: CKRecord.ID(recordName: "shopping"))
        } catch let error as CKError where error.code == .unknownItem {
            print("There is no such note.")
        } catch let error as CKError {
            print(error.localizedDescription, "Try again in \(error.retryAfterSeconds ?? 0) s.")
        }
    }

    @Test func `the example of CKError.Code`() async throws {
        do {
            _ = try await database.recordZone(for: CKRecordZone.ID(zoneName: "Notes"))
        } catch CKError.zoneNotFound {
            try await database.save(CKRecordZone(zoneName: "Notes"))
        }
        // Shown by:
        #expect(try await database.allRecordZones().count == 2)
    }

    @Test func `the example of CKPartialErrorsByItemIDKey`() async throws {
        func report(_ error: CKError) -> Int {
            let errors = error.userInfo[CKPartialErrorsByItemIDKey] as? [AnyHashable: any Error] ?? [:]
            for (item, error) in errors { print(item, error.localizedDescription) }
            return errors.count
        }
        // Shown by:
        let recordID = CKRecord.ID(recordName: "shopping")
        let partial = CKError(
            .partialFailure, userInfo: [CKPartialErrorsByItemIDKey: [recordID: CKError(.unknownItem)]])
        #expect(report(partial) == 1)
    }
}
