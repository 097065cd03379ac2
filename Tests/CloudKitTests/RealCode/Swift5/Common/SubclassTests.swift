import CloudKit
import CloudKitLocal
import Testing

@Suite struct RealCodeSubclassTests {
    @Test func `a test database's override applies to both forms of a method`() async throws {
        let database = ShelfDatabase()
        let record = CKRecord(recordType: "Book", recordID: CKRecord.ID(recordName: "a"))
        #expect(try await database.save(record) === record)
        #expect(try await database.record(for: record.recordID) === record)
        #expect(try await database.deleteRecord(withID: record.recordID) == record.recordID)
        await #expect(throws: CKError(.unknownItem)) { try await database.record(for: record.recordID) }
        database.failure = CKError(.quotaExceeded)
        await #expect(throws: CKError(.quotaExceeded)) { try await database.save(record) }
        #expect(try await database.allRecordZones().map(\.zoneID) == [CKRecordZone.default().zoneID])
        #expect(try await database.save(CKRecordZone(zoneName: "Z")).zoneID.zoneName == "Z")
        let subscription = CKDatabaseSubscription(subscriptionID: "s")
        #expect(try await database.save(subscription) === subscription)
        #expect(database.databaseScope == .public)
    }

    @Test func `an app's extensions of records and subscriptions apply to shares and subclasses, too`() throws {
        let root = CKRecord(recordType: "Book", recordID: CKRecord.ID(recordName: "a"))
        let share = try #require(CKShare(archivedData: CKShare(rootRecord: root).encodedSystemFields))
        #expect(share.recordID == root.share?.recordID && share.recordType == CKRecord.SystemType.share)
        let database = CKDatabaseSubscription(subscriptionID: "d")
        #expect(CKDatabaseSubscription(archivedData: database.encoded) == database)
        let zone = CKRecordZoneSubscription(zoneID: CKRecordZone.ID(zoneName: "Z"), subscriptionID: "z")
        #expect(CKRecordZoneSubscription(archivedData: zone.encoded) == zone)
        let query = CKQuerySubscription(
            recordType: "Book", predicate: NSPredicate(format: "year > 1900"), subscriptionID: "q",
            options: .firesOnRecordCreation)
        #expect(CKQuerySubscription(archivedData: query.encoded) == query)
    }

    @Test func `a test's database runs operations itself`() {
        let database = ShelfDatabase()
        let save = CKModifyRecordsOperation(recordsToSave: [CKRecord(recordType: "Book")], recordIDsToDelete: nil)
        var results: [Result<CKRecord, any Error>] = []
        save.perRecordSaveBlock = { results.append($1) }
        save.modifyRecordsResultBlock = { if case .success = $0 { results += results } }
        database.add(save)
        let fetch = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: [CKRecordZone.default().zoneID], configurationsByRecordZoneID: nil)
        var changed = 0
        fetch.recordWasChangedBlock = { _, _ in changed += 1 }
        database.add(fetch)
        #expect(results.count == 2 && changed == 1 && database.operations == [save, fetch])
    }

    @Test func `a method that a test's database does not override fails and says why`() async throws {
        let error = await #expect(throws: CKError.self) {
            try await ShelfDatabase().records(for: [CKRecord.ID(recordName: "a")])
        }
        #expect(error?.code == .badContainer)
        #expect(error?.localizedDescription.contains("belongs to no container") == true)
    }

    @Test func `a test's container has the account and database that the test sets`() async throws {
        let container = ShelfContainer()
        #expect(container.privateCloudDatabase === container.database)
        #expect(try await container.accountStatus() == .available)
        container.status = .restricted
        #expect(try await container.accountStatus() == .restricted)
        #expect(try await container.userRecordID().recordName == "reader")
        await #expect(throws: CKError(.alreadyShared)) { try await container.accept(InvitationMetadata()) }
        #expect(EmptyContainer().privateCloudDatabase.databaseScope == .private)
        #expect(CKContainer.make("iCloud.org.example.made").containerIdentifier == "iCloud.org.example.made")
    }

    @Test func `an archive of a test's record decodes to the test's class`() throws {
        let record = BackdatedRecord(recordType: "Book", recordID: CKRecord.ID(recordName: "a"))
        record["backdatedTo"] = Date(timeIntervalSince1970: 5)
        let data = try NSKeyedArchiver.archivedData(withRootObject: [record], requiringSecureCoding: true)
        let read = try NSKeyedUnarchiver.unarchivedObject(ofClasses: [NSArray.self, CKRecord.self], from: data)
        #expect((read as? [CKRecord])?.first?.creationDate == Date(timeIntervalSince1970: 5))
        let pinned = try NSKeyedArchiver.archivedData(
            withRootObject: PinnedRecord(recordType: "Book"), requiringSecureCoding: true)
        #expect(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: pinned)?.recordType == "Book")
        #expect(PinnedRecord(recordType: "Book").share?.recordID.recordName == "pinned")
    }

    @Test func `tokens and metadata without content can be made, and such a token has expired`() async throws {
        #expect(NamedToken(name: "mine")?.name == "mine")
        let token = try #require(try NamedToken.blank())
        #expect(try NamedToken.blank() == token)
        #expect(InvitationMetadata().hierarchicalRootRecordID?.recordName == "root")
        #expect(InvitationMetadata().participantStatus == .pending)
        #expect(try InvitationMetadata.blank()?.participantRole == .unknown)
        let database = try CKContainer.local().privateCloudDatabase
        let zone = try await database.save(CKRecordZone(zoneName: "Z")).zoneID
        let error = await #expect(throws: CKError.self) {
            try await database.recordZoneChanges(inZoneWith: zone, since: token)
        }
        #expect(error?.code == .changeTokenExpired)
        let kept = try NSKeyedArchiver.archivedData(withRootObject: [zone: token], requiringSecureCoding: true)
        let read = try NSKeyedUnarchiver.unarchivedDictionary(
            ofKeyClass: CKRecordZone.ID.self, objectClass: CKServerChangeToken.self, from: kept)
        #expect(read == [zone: token])
    }

    @Test func `a test replaces properties of queries, assets and zones`() {
        let query = PickyQuery(recordType: "Book", predicate: NSPredicate(value: true))
        #expect((query as CKQuery).recordType == "Picky")
        let asset: CKAsset = LooseAsset(fileURL: URL(fileURLWithPath: "/tmp/a"))
        #expect(asset.fileURL == nil)
        let zone: CKRecordZone = LentZone(zoneName: "Z")
        #expect(zone.capabilities == .fetchChanges && zone.zoneID.zoneName == "Z")
    }

    @Test func `an error without a description has the words of Apple's Foundation`() {
        let error: any Error = CKError(.accountTemporarilyUnavailable)
        #expect(error.localizedDescription == "The operation couldn’t be completed. (CKErrorDomain error 36.)")
        #expect((error as NSError).localizedDescription == error.localizedDescription)
        #expect(CKError(.zoneBusy, userInfo: [NSLocalizedDescriptionKey: "Busy"]).localizedDescription == "Busy")
    }
}
