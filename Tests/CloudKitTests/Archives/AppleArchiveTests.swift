import CloudKit
import CloudKitLocal
import NephosWire
import Testing

/// Archives that Apple's framework made can be decoded.
@Suite struct AppleArchiveTests {
    private let created = Date(timeIntervalSinceReferenceDate: 700_000_000.125)
    private let modified = Date(timeIntervalSinceReferenceDate: 700_000_100.5)

    /// The keys that Apple writes for a record, those that say nothing to us among them.
    private func systemFields(_ archive: inout AppleArchive, type: String = "Item") -> [String: Any] {
        [
            "RecordType": archive.add(type), "RecordID": archive.recordID("item-1", zone: "Lists"),
            "ETag": archive.add("k3f"), "RecordCtime": archive.date(created), "RecordMtime": archive.date(modified),
            "CreatorUserRecordID": archive.recordID("__defaultOwner__", zone: "_defaultZone"),
            "LastModifiedUserRecordID": archive.recordID("_0123456789abcdef0123456789abcdef", zone: "_defaultZone"),
            "ModifiedByDevice": archive.add("A phone"),
            "ParentReference": archive.reference(archive.recordID("list-1", zone: "Lists"), deleteSelf: false),
            "ShareReference": archive.reference(archive.recordID("share-1", zone: "Lists"), deleteSelf: false),
            "KnownToServer": true, "WasCached": false, "Permission": 0, "HasUpdatedParentReference": false,
            "ZoneProtectionDataEtag": archive.add("e"), "TombstonedPublicKeyIDs": archive.array([]),
        ]
    }

    private func expectSystemFields(_ record: CKRecord) {
        let zoneID = CKRecordZone.ID(zoneName: "Lists")
        #expect(record.recordType == "Item")
        #expect(record.recordID == CKRecord.ID(recordName: "item-1", zoneID: zoneID))
        #expect(record.recordChangeTag == "k3f")
        #expect(record.creationDate == created)
        #expect(record.modificationDate == modified)
        #expect(record.creatorUserRecordID == CKRecord.ID(recordName: CKCurrentUserDefaultName))
        #expect(record.lastModifiedUserRecordID?.recordName == "_0123456789abcdef0123456789abcdef")
        #expect(record.parent?.recordID == CKRecord.ID(recordName: "list-1", zoneID: zoneID))
        #expect(record.share?.recordID == CKRecord.ID(recordName: "share-1", zoneID: zoneID))
    }

    @Test func `system fields are read at the top level of Apple's archive`() throws {
        var archive = AppleArchive()
        let top = systemFields(&archive)
        let coder = try NSKeyedUnarchiver(forReadingFrom: archive.data(top: top))
        coder.requiresSecureCoding = true
        let record = try #require(CKRecord(coder: coder))
        coder.finishDecoding()
        expectSystemFields(record)
        #expect(record.allKeys() == [])
        #expect(record.changedKeys() == [])
        record["gone"] = nil
        #expect(record.changedKeys() == ["gone"])
    }

    @Test func `a whole record is read from Apple's archive with its values and changes`() throws {
        var archive = AppleArchive()
        let owner = archive.reference(archive.recordID("list-1", zone: "Lists"), deleteSelf: true)
        let location = archive.add(
            "CLLocation",
            values: [
                "kCLLocationCodingKeyCoordinateLatitude": 52.5, "kCLLocationCodingKeyCoordinateLongitude": 13.4,
                "kCLLocationCodingKeyTimestamp": 5.0,
            ])
        let path = archive.add("file:///tmp/picture.jpg")
        let url = archive.add("NSURL", values: ["NS.base": archive.null, "NS.relative": path])
        let asset = archive.add("CKAsset", values: ["AssetFileURL": url, "AssetSize": 5, "AssetHasSize": true])
        let values: [(String, AppleArchive.Reference)] = [
            ("title", archive.add("Milk")), ("count", archive.add(3)), ("price", archive.add(1.5)),
            ("due", archive.date(created)), ("owningList", owner), ("place", location), ("picture", asset),
            ("tags", archive.array([archive.add("a"), archive.add("b")])), ("blob", archive.add(Data([1, 2]))),
        ]
        let store = archive.add(
            "CKRecordValueStore",
            values: [
                "RecordValues": archive.dictionary(values),
                "OriginalValues": archive.dictionary([("title", archive.add("Butter"))]),
                "ChangedKeys": archive.set(["title", "cleared"]),
            ])
        let encrypted = archive.add("CKEncryptedData", values: ["EncryptedData": archive.add(Data([9]))])
        let encryptedStore = archive.add(
            "CKEncryptedRecordValueStore", "CKRecordValueStore",
            values: [
                "RecordValues": archive.dictionary([("pin", archive.add("1234")), ("sealed", encrypted)]),
                "OriginalValues": archive.dictionary([]), "ChangedKeys": archive.set([]),
            ])
        var fields = systemFields(&archive)
        fields["ValueStore"] = store
        fields["EncryptedValueStore"] = encryptedStore
        let root = archive.add("CKRecord", values: fields)

        let record = try #require(
            try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: archive.data(top: ["root": root])))
        expectSystemFields(record)
        #expect(record["title"] == "Milk")
        #expect(record["count"] == 3)
        #expect(record["price"] == 1.5)
        #expect(record["due"] == created)
        let listID = CKRecord.ID(recordName: "list-1", zoneID: CKRecordZone.ID(zoneName: "Lists"))
        #expect(record["owningList"] == CKRecord.Reference(recordID: listID, action: .deleteSelf))
        #expect((record["place"] as? CLLocation)?.coordinate.latitude == 52.5)
        #expect((record["picture"] as? CKAsset)?.fileURL?.path == "/tmp/picture.jpg")
        #expect(record["tags"] == ["a", "b"])
        #expect(record["blob"] == Data([1, 2]))
        #expect(record.changedKeys() == ["cleared", "title"])
        #expect(record.ancestorRecord()["title"] == "Butter")
        #expect(record.encryptedValues.allKeys() == ["pin"])
        #expect(record.encryptedValues["pin"] == "1234")
    }

    @Test func `a share is read from Apple's archive`() throws {
        var archive = AppleArchive()
        var fields = systemFields(&archive, type: "cloudkit.share")
        fields["PublicPermission"] = 2
        fields["RootRecordID"] = archive.recordID("list-1", zone: "Lists")
        let address = archive.add("https://www.icloud.com/share/0")
        fields["URL"] = archive.add("NSURL", values: ["NS.base": archive.null, "NS.relative": address])
        let root = archive.add("CKShare", "CKRecord", values: fields)
        let data = try archive.data(top: ["root": root])
        let record = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data))
        let share = try #require(record as? CKShare)
        #expect(share.publicPermission == .readOnly)
        #expect(share.url?.absoluteString == "https://www.icloud.com/share/0")
        #expect(share.recordChangeTag == "k3f")
    }

    /// A participant with the keys that Apple writes for one.
    private func participant(_ archive: inout AppleArchive, user: String) -> AppleArchive.Reference {
        let phonetic = archive.add(
            "NSPersonNameComponents",
            values: [
                "NS.nameComponentsPrivate": archive.add(
                    "_NSPersonNameComponentsData", values: ["NS.givenName": archive.add("Æn")])
            ])
        let names = archive.add(
            "_NSPersonNameComponentsData",
            values: [
                "NS.givenName": archive.add("Ann"), "NS.familyName": archive.add("Lee"), "NS.middleName": archive.null,
                "NS.nickname": archive.null, "NS.namePrefix": archive.null, "NS.nameSuffix": archive.null,
                "NS.phoneticRepresentation": phonetic,
            ])
        let lookupInfo = archive.add(
            "CKUserIdentityLookupInfo",
            values: [
                "EmailAddress": archive.add("\(user)@example.org"), "PhoneNumber": archive.null,
                "RecordID": archive.null, "ReportsMissing": true, "EncryptedPersonalInfo": archive.null,
            ])
        let identity = archive.add(
            "CKUserIdentity",
            values: [
                "UserRecordID": archive.recordID(user, zone: "_defaultZone"), "HasICloudAccount": true,
                "IsCached": false, "LookupInfo": lookupInfo, "ContactIdentifiers": archive.array([]),
                "NameComponents": archive.add(
                    "NSPersonNameComponents", values: ["NS.nameComponentsPrivate": names]),
                "OONProtectionData": archive.null, "ProtectionData": archive.add(Data([1])),
            ])
        return archive.add(
            "CKShareParticipant",
            values: [
                "ParticipantID": archive.add("id of \(user)"), "UserIdentity": identity, "Permission": 3, "Type": 3,
                "AcceptanceStatus": 2, "OriginalPermission": 3, "IsCurrentUser": false, "InvitationToken": archive.null,
                "ProtectionInfo": archive.null, "InviterID": archive.null, "wantsNewInvitationToken": false,
            ])
    }

    @Test func `a share's participants are read from Apple's archive`() throws {
        var archive = AppleArchive()
        var fields = systemFields(&archive, type: "cloudkit.share")
        let participants = [participant(&archive, user: "_ann"), participant(&archive, user: "_bob")].map(\.plist)
        fields["Participants"] = archive.add("NSMutableArray", "NSArray", values: ["NS.objects": participants])
        let root = archive.add("CKShare", "CKRecord", values: fields)
        let data = try archive.data(top: ["root": root])
        let share = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKShare.self, from: data))
        try expectAnnAndBob(share)
        let again = try NSKeyedArchiver.archivedData(withRootObject: share, requiringSecureCoding: true)
        try expectAnnAndBob(try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKShare.self, from: again)))
    }

    private func expectAnnAndBob(_ share: CKShare) throws {
        #expect(share.participants.map(\.participantID) == ["id of _ann", "id of _bob"])
        let ann = try #require(share.participants.first)
        #expect(ann.permission == .readWrite && ann.role == .privateUser && ann.acceptanceStatus == .accepted)
        #expect(ann.userIdentity.userRecordID?.recordName == "_ann" && ann.userIdentity.hasiCloudAccount)
        #expect(ann.userIdentity.lookupInfo?.emailAddress == "_ann@example.org")
        #expect(ann.userIdentity.nameComponents?.givenName == "Ann")
        #expect(ann.userIdentity.nameComponents?.familyName == "Lee")
        #expect(ann.userIdentity.nameComponents?.phoneticRepresentation?.givenName == "Æn")
        #expect(ann.userIdentity.nameComponents?.nickname == nil)
    }

    /// Apps' tests keep one, to hand it to code that expects a cursor.
    @Test func `a cursor is read from Apple's archive, and no query continues from it`() async throws {
        var archive = AppleArchive()
        let zoneID = archive.add(
            "CKRecordZoneID", values: ["ZoneName": archive.add("z"), "ownerName": archive.add("o")])
        let marker = archive.add(Data([10, 139, 1, 10, 6]))
        let root = archive.add("CKQueryCursor", values: ["CursorData": marker, "ZoneID": zoneID])
        let data = try archive.data(top: ["root": root])
        func cursor(_ data: Data) throws -> CKQueryOperation.Cursor {
            try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKQueryOperation.Cursor.self, from: data))
        }
        let opened = try cursor(data)
        let again = try cursor(NSKeyedArchiver.archivedData(withRootObject: opened, requiringSecureCoding: true))
        #expect(opened == again && opened.hash == again.hash)
        let database = try CKContainer.local().privateCloudDatabase
        let error = await #expect(throws: CKError.self) {
            _ = try await database.records(continuingMatchFrom: opened)
        }
        #expect(error?.code == .invalidArguments)
    }

    @Test func `identifiers and a reference are read from Apple's archive`() throws {
        var archive = AppleArchive()
        let reference = archive.reference(archive.recordID("a", zone: "z", owner: "_owner"), deleteSelf: true)
        let data = try archive.data(top: ["root": reference])
        let zoneID = CKRecordZone.ID(zoneName: "z", ownerName: "_owner")
        #expect(
            try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.Reference.self, from: data)
                == CKRecord.Reference(
                    recordID: CKRecord.ID(recordName: "a", zoneID: zoneID), action: .deleteSelf))
    }

    /// The names are known before any code of the program runs: here, nothing touches CloudKit before the archive.
    @Test func `an archive opens as the first call of a program`() async {
        await #expect(processExitsWith: .success) {
            var archive = AppleArchive()
            let root = archive.recordID("a", zone: "z")
            let data = try archive.data(top: ["root": root])
            let id = try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.ID.self, from: data)
            #expect(id?.recordName == "a")
            exit(id?.zoneID.zoneName == "z" ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }
}
