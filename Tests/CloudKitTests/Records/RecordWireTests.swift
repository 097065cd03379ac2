import CloudKit
import NephosWire
import Testing

/// Records as the service's protocol carries them.
@Suite struct RecordWireTests {
    private let zoneID = CKRecordZone.ID(zoneName: "z")

    private func sent(_ value: (any CKRecordValueProtocol)?) -> FieldValue? {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n", zoneID: zoneID))
        record["k"] = value
        return record.fieldsToSend(.changed)["k"]?.value
    }

    @Test func `integers are INT64 and floating-point numbers DOUBLE`() {
        #expect(sent(5) == .int64(5))
        #expect(sent(true) == .int64(1))
        #expect(sent(false) == .int64(0))
        #expect(sent(Int8(-1)) == .int64(-1))
        #expect(sent(UInt64(1) << 63 - 1) == .int64(.max))
        // What no field holds is refused before anything is sent.
        #expect(sent(UInt64(1) << 63) == nil)
        #expect(sent(5.0) == .double(5))
        #expect(sent(Float(0.5)) == .double(0.5))
        #expect(sent(NSNumber(value: 7)) == .int64(7))
        #expect(sent(NSNumber(value: 7.0)) == .double(7))
        #expect(sent(NSNumber(value: true)) == .int64(1))
    }

    @Test func `numbers that were fetched cast to every type that can represent them`() {
        let record = CKRecord.record(
            wire: RecordDictionary(recordName: "n", recordType: "Note", recordChangeTag: "t"),
            fields: RecordFields([
                .init(name: "one", field: Field(.int64(1))), .init(name: "five", field: Field(.int64(5))),
                .init(name: "half", field: Field(.double(0.5))), .init(name: "four", field: Field(.double(4))),
                .init(name: "flags", field: Field(.list(of: .int64, [.int64(1), .int64(0)]))),
            ]))
        #expect(record["one"] as? Bool == true)
        #expect(record["one"] as? Int == 1)
        #expect(record["one"] as? Double == 1)
        #expect(record["five"] as? Bool == nil)
        #expect(record["five"] as? UInt8 == 5)
        #expect(record["five"] as? NSNumber == 5)
        #expect(record["half"] as? Double == 0.5)
        #expect(record["half"] as? Int == nil)
        #expect(record["four"] as? Int == 4)
        #expect(record["flags"] as? [Bool] == [true, false])
        #expect(record["flags"] as? [Int] == [1, 0])
        let flag: Bool? = record["one"]
        #expect(flag == true)
    }

    @Test func `dates keep fractions of a millisecond`() {
        #expect(sent(Date(timeIntervalSince1970: 1)) == .timestamp(1000))
        #expect(sent(Date(timeIntervalSince1970: -1.5)) == .timestamp(-1500))
        let exact = Date(timeIntervalSinceReferenceDate: 785_000_000.123_456_7)
        #expect(sent(exact) == .timestamp(Timestamp(exact)))
        #expect(sent(exact) != .timestamp(Timestamp(milliseconds: Timestamp(exact).milliseconds)))
    }

    @Test func `strings and data round-trip`() {
        #expect(sent("text") == .string("text"))
        #expect(sent("") == .string(""))
        #expect(sent(Data([1, 2])) == .bytes([1, 2]))
    }

    @Test func `lists have their element type, and an empty list has none`() {
        #expect(sent(["a", "b"]) == .list(of: .string, [.string("a"), .string("b")]))
        #expect(sent([1, 2]) == .list(of: .int64, [.int64(1), .int64(2)]))
        #expect(sent([String]()) == .list(of: .unknown, []))
        #expect(sent([Date(timeIntervalSince1970: 1)]) == .list(of: .timestamp, [.timestamp(1000)]))
    }

    @Test func `whole numbers beside floating-point ones become floating-point numbers`() {
        #expect(sent(NSArray(array: [1, 2.5])) == .list(of: .double, [.double(1), .double(2.5)]))
        #expect(sent(NSArray(array: [2.5, 1, true])) == .list(of: .double, [.double(2.5), .double(1), .double(1)]))
        #expect(sent(NSArray(array: [true, 2])) == .list(of: .int64, [.int64(1), .int64(2)]))
    }

    @Test func `references name their zone if it is not the record's`() {
        let inside = CKRecord.ID(recordName: "a", zoneID: CKRecordZone.ID(zoneName: "z"))
        let outside = CKRecord.ID(recordName: "a", zoneID: CKRecordZone.ID(zoneName: "y", ownerName: "_o"))
        #expect(
            sent(CKRecord.Reference(recordID: inside, action: .deleteSelf))
                == .reference(ReferenceValue(recordName: "a", action: .deleteSelf)))
        #expect(
            sent(CKRecord.Reference(recordID: outside, action: .none))
                == .reference(
                    ReferenceValue(
                        recordName: "a", zoneID: ZoneIDDictionary(zoneName: "y", ownerRecordName: "_o"),
                        action: .none)))
    }

    @Test func `the current user's zones are sent without an owner and return as __defaultOwner__`() {
        #expect(zoneID.wireValue == ZoneIDDictionary(zoneName: "z"))
        #expect(CKRecordZone.ID(wire: ZoneIDDictionary(zoneName: "z")) == zoneID)
        let wire = ZoneIDDictionary(zoneName: "z", ownerRecordName: "_me")
        #expect(CKRecordZone.ID(wire: wire, currentUserRecordName: "_me") == zoneID)
        #expect(CKRecordZone.ID(wire: wire).ownerName == "_me")
        #expect(CKRecordZone.ID(wire: wire, currentUserRecordName: "_you").ownerName == "_me")
        #expect(CKRecordZone.ID(wire: wire).wireValue == wire)
    }

    @Test func `a location is sent with all its measurements`() {
        let location = CLLocation(
            coordinate: CLLocationCoordinate2D(latitude: 52.5, longitude: 13.4), altitude: 34, horizontalAccuracy: 5,
            verticalAccuracy: 6, course: 90, speed: 1.5, timestamp: Date(timeIntervalSince1970: 2))
        let wire = LocationValue(
            latitude: 52.5, longitude: 13.4, horizontalAccuracy: 5, verticalAccuracy: 6, altitude: 34, speed: 1.5,
            course: 90, timestamp: 2000)
        #expect(sent(location) == .location(wire))
        #expect(CLLocation(wire: wire) == location)
        #expect(CLLocation(wire: LocationValue(latitude: 1, longitude: 2)).verticalAccuracy == -1)
    }

    @Test func `an asset waits for its upload before it is sent`() {
        let record = CKRecord(recordType: "Note")
        let file = CKAsset(fileURL: URL(fileURLWithPath: "/tmp/file"))
        let uploaded = CKAsset(wireValue: AssetValue(fileChecksum: "c", size: 3), fileURL: nil)
        record["file"] = file
        record["files"] = [uploaded, file]
        record["uploaded"] = uploaded
        #expect(record.fieldsToSend(.all).entries.map(\.name) == ["uploaded"])
        #expect(record.snapshot().assetsToUpload(.all).map(\.key) == ["file", "files"])
        #expect(record.snapshot().assetsToUpload(.all).allSatisfy { $0.asset === file })
    }

    @Test func `a fetched record has the service's metadata and no changes`() throws {
        let record = CKRecord.record(
            wire: RecordDictionary(
                recordName: "n", recordType: "Note", recordChangeTag: "t",
                zoneID: ZoneIDDictionary(zoneName: "z", ownerRecordName: "_me"),
                created: TimestampDictionary(timestamp: 1000, userRecordName: "_me"),
                modified: TimestampDictionary(timestamp: 2000, userRecordName: "_you", deviceID: "phone"),
                parent: ReferenceValue(recordName: "p"), share: ReferenceValue(recordName: "s")),
            fields: RecordFields([
                .init(name: "owner", field: Field(.reference(ReferenceValue(recordName: "o", action: .deleteSelf)))),
                .init(name: "file", field: Field(.asset(AssetValue(fileChecksum: "c", size: 3)))),
                .init(name: "cleared", field: Field(nil)),
            ]), currentUserRecordName: "_me")
        #expect(record.recordID == CKRecord.ID(recordName: "n", zoneID: zoneID))
        #expect(record.recordType == "Note")
        #expect(record.recordChangeTag == "t")
        #expect(record.creationDate == Date(timeIntervalSince1970: 1))
        #expect(record.creatorUserRecordID == CKRecord.ID(recordName: CKCurrentUserDefaultName))
        #expect(record.lastModifiedUserRecordID?.recordName == "_you")
        #expect(record.parent?.recordID == CKRecord.ID(recordName: "p", zoneID: zoneID))
        #expect(record.share?.recordID == CKRecord.ID(recordName: "s", zoneID: zoneID))
        #expect(record.allKeys() == ["file", "owner"])
        #expect(record.changedKeys() == [])
        let owner = try #require(record["owner"] as? CKRecord.Reference)
        #expect(owner.recordID.zoneID == zoneID)
        #expect(owner.action == .deleteSelf)
        let file = try #require(record["file"] as? CKAsset)
        #expect(file.fileURL == nil)
        #expect(file.wireValue?.size == 3)
        #expect(record.fieldsToSend(.changed).isEmpty)
    }

    @Test func `a record that does not name its zone is in the requested one`() {
        let wire = RecordDictionary(recordName: "_user", recordType: "Users", recordChangeTag: "t")
        #expect(CKRecord.record(wire: wire, zoneID: zoneID, fields: RecordFields()).recordID.zoneID == zoneID)
        #expect(CKRecord.record(wire: wire, fields: RecordFields()).recordID.zoneID == .default)
        #expect(CKRecord.record(wire: wire, fields: RecordFields()).recordID.recordName == "_user")
    }

    @Test func `a record of the type cloudkit.share is a CKShare`() {
        let share: CKRecord? = CKRecord.record(
            wire: RecordDictionary(
                recordName: CKRecordNameZoneWideShare, recordType: "cloudkit.share", recordChangeTag: "t"),
            zoneID: zoneID,
            fields: RecordFields([.init(name: "cloudkit.title", field: Field(.string("Groceries")))]))
        if let share = share as? CKShare {
            #expect(share[CKShare.SystemFieldKey.title] == "Groceries")
            #expect(share.ancestorRecord() is CKShare)
        } else {
            Issue.record("no CKShare")
        }
    }
}
