import CloudKit
import Testing

@Suite struct SmallArchiveTests {
    private func copy<Object: NSObject & NSCoding>(_ object: Object, secure: Bool) throws -> Object? {
        let data = try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: secure)
        return try NSKeyedUnarchiver.unarchivedObject(ofClass: Object.self, from: data)
    }

    @Test(arguments: [true, false])
    func `an asset can be archived by itself`(secure: Bool) throws {
        let url = URL(fileURLWithPath: "/tmp/picture")
        #expect(try copy(CKAsset(fileURL: url), secure: secure)?.fileURL == url)
        let record = CKRecord(recordType: "Note")
        record["file"] = CKAsset(fileURL: url)
        record["files"] = [CKAsset(fileURL: url)]
        let opened = try #require(try copy(record, secure: secure))
        #expect((opened["file"] as? CKAsset)?.fileURL == url && (opened["files"] as? [CKAsset])?.count == 1)
    }

    @Test(arguments: [true, false])
    func `sharing options can be archived`(secure: Bool) throws {
        let options = CKAllowedSharingOptions(
            allowedParticipantPermissionOptions: .readOnly, allowedParticipantAccessOptions: .specifiedRecipientsOnly)
        options.allowsAccessRequests = true
        let opened = try #require(try copy(options, secure: secure))
        #expect(opened.allowedParticipantPermissionOptions == .readOnly)
        #expect(opened.allowedParticipantAccessOptions == .specifiedRecipientsOnly)
        #expect(opened.allowsAccessRequests && !opened.allowsParticipantsToInviteOthers)
    }

    @Test func `an operation group is unarchived with and without a name`() throws {
        for name in [nil, "import"] {
            let group = CKOperationGroup()
            group.name = name
            group.expectedSendSize = .megabytes
            let data = try NSKeyedArchiver.archivedData(withRootObject: group, requiringSecureCoding: true)
            let copy = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKOperationGroup.self, from: data))
            #expect(copy.name == name && copy.operationGroupID == group.operationGroupID)
            #expect(copy.expectedSendSize == .megabytes && copy.quantity == 0)
        }
    }

    @available(*, deprecated)
    @Test func `zone options are unarchived as themselves`() throws {
        let options = CKFetchRecordZoneChangesOperation.ZoneOptions()
        options.resultsLimit = 7
        let data = try NSKeyedArchiver.archivedData(withRootObject: options, requiringSecureCoding: true)
        let copy = try NSKeyedUnarchiver.unarchivedObject(
            ofClass: CKFetchRecordZoneChangesOperation.ZoneOptions.self, from: data)
        #expect(copy?.resultsLimit == 7)
        let base = try NSKeyedUnarchiver.unarchivedObject(
            ofClass: CKFetchRecordZoneChangesOperation.ZoneConfiguration.self, from: data)
        #expect(base?.resultsLimit == 7)
    }

    @Test func `metadata of a share that Apple's framework archived opens with its container`() throws {
        var archive = AppleArchive()
        let container = archive.add(
            "CKContainerID", values: ["ContainerIdentifier": archive.add("iCloud.org.example.App"), "Environment": 1])
        let metadata = archive.add(
            "CKShareMetadata",
            values: [
                "ContainerID": container, "RootRecordID": archive.recordID("root", zone: "Z", owner: "_owner"),
                "ParticipantType": 3, "ParticipantStatus": 1, "ParticipantPermission": 2, "Share": archive.null,
                "RootRecord": archive.null, "OwnerIdentity": archive.null, "PublicToken": archive.null,
            ])
        let data = try archive.data(top: ["root": metadata])
        let opened = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKShare.Metadata.self, from: data))
        #expect(opened.containerIdentifier == "iCloud.org.example.App")
        #expect(opened.hierarchicalRootRecordID?.zoneID.ownerName == "_owner")
        #expect(opened.participantRole == .privateUser && opened.participantStatus == .pending)
        // And ours again.
        #expect(try copy(opened, secure: true)?.containerIdentifier == "iCloud.org.example.App")
    }
}
