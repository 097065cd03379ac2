import CloudKit
import CloudKitLocal
import Testing

@Suite struct RealCodeMockTests {
    @Test func `a test sets a record's dates`() async throws {
        let record = DatedRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "a"))
        record.date = Date(timeIntervalSince1970: 1)
        record.user = CKRecord.ID(recordName: "user")
        record["title"] = "text"
        let asRecord: CKRecord = record
        #expect(asRecord.modificationDate == record.date && asRecord.creationDate == record.date)
        #expect(asRecord.recordChangeTag == "tag" && asRecord.creatorUserRecordID?.recordName == "user")
        #expect(NoteRecord(title: "x")["title"] as? String == "x")
        let dateless = DatedRecord(recordType: "Note")
        try await CKContainer.local().privateCloudDatabase.save(dateless)
        #expect(dateless.recordChangeTag != nil && dateless.modificationDate != nil)
    }

    @Test func `a test sets a container's account`() {
        let container = AccountContainer(identifier: "iCloud.org.example.mock")
        container.status = .noAccount
        container.accountStatus { status, error in #expect(status == .noAccount && error == nil) }
        container.fetchUserRecordID { id, _ in #expect(id == nil) }
        #expect(container.containerIdentifier == "iCloud.org.example.mock")
        #expect(container.privateCloudDatabase === container.database(with: .private))
    }

    @Test func `an app's model reads a share`() async throws {
        let container = try CKContainer.local()
        let share = CKShare(rootRecord: CKRecord(recordType: "List"))
        try await Sharing.invite("guest@example.org", to: share, in: container)
        let state = SharingState(share)
        #expect(state.isOwner && state.canEdit && state.names == [CKCurrentUserDefaultName, "guest@example.org"])
        let accepted: CKShare = AcceptedShare(rootRecord: CKRecord(recordType: "List"), shareID: CKRecord.ID())
        #expect(accepted.url != nil && !SharingState(accepted).isOwner)
        let zone = try await container.privateCloudDatabase.save(CKRecordZone(zoneName: "Z"))
        #expect(try await Sharing.zoneShare(in: container.privateCloudDatabase, zone: zone.zoneID) == nil)
    }
}
