import NephosService
import NephosWire
import Testing

/// The service's checks of encrypted values, which it cannot open.
@Suite struct EncryptionRuleTests {
    private func secret(_ name: String, _ value: FieldValue = .sealed(.string)) -> RecordOperation {
        var operation = RecordOperation.create(name)
        operation.record.fields["secret"] = Field(value, isEncrypted: true)
        return operation
    }

    @Test func `a cleartext value is refused at its item, and the other items are saved`() async throws {
        let database = TestDatabase(TestCloud())
        try await database.makeZoneKey()
        let results = try await database.modify([
            secret("a", .string("clear")), secret("b").withKey(), .create("c", ["x": .int64(1)]),
        ])
        #expect(results.map(\.summary) == ["error 12", "saved", "saved"])
        #expect(
            results[0].error?.reason.contains("'secret' of record 'a' is sent as encrypted, and the value is not")
                == true)
    }

    @Test(
        arguments: [
            [], [1], [2] + [UInt8](repeating: 7, count: 88), [1] + [UInt8](repeating: 7, count: 79),
        ] as [[UInt8]])
    func `a malformed encrypted value is refused`(bytes: [UInt8]) async throws {
        let database = TestDatabase(TestCloud())
        try await database.makeZoneKey()
        let value = FieldValue.sealed(SealedFieldValue(type: .string, bytes: bytes))
        #expect(try await database.modify([secret("a", value).withKey()])[0].summary == "error 12")
    }

    @Test(arguments: [FieldType.reference, .asset, .list(.reference), .list(.asset)])
    func `assets and references are not encrypted`(type: FieldType) async throws {
        let database = TestDatabase(TestCloud())
        try await database.makeZoneKey()
        let error = try await database.modify([secret("a", .sealed(type)).withKey()])[0].error
        #expect(error?.clientErrorCode == 12 && error?.reason.hasSuffix("cannot be encrypted") == true)
    }

    @Test func `a save needs the key of its values, wrapped under the zone's current key`() async throws {
        let database = TestDatabase(TestCloud())
        func needsKeys(_ operation: RecordOperation) async throws -> Bool? {
            try await database.modify([operation])[0].error?.needsKeys
        }
        #expect(try await needsKeys(secret("a").withKey()) == true, "the zone has no key")
        #expect(try await needsKeys(secret("a").withKey(version: 0)) == true)
        try await database.makeZoneKey()
        #expect(try await needsKeys(secret("a")) == true, "the record has no key")
        #expect(try await needsKeys(secret("a").withKey(8)) == true, "it is another")
        #expect(try await needsKeys(secret("a").withKey(version: 2)) == true)
        #expect(try await needsKeys(secret("a").withKey()) == nil)
        try await database.makeZoneKey(version: 2)
        #expect(try await needsKeys(secret("b").withKey()) == true, "the zone's key is a newer one")
        #expect(try await needsKeys(secret("b").withKey(version: 2)) == nil)
    }

    @Test func `a later save need not repeat a record's key, and another record's value is refused`() async throws {
        let database = TestDatabase(TestCloud())
        try await database.makeZoneKey()
        _ = try await database.modify([secret("a").withKey()])
        var update = secret("a")
        update.operationType = .forceUpdate
        #expect(try await database.modify([update])[0].summary == "saved")
        #expect(try await database.modify([secret("b")])[0].error?.needsKeys == true)
        let keys = try await database.cloud.service.lookupKeys(
            LookupKeysRequest(zoneID: nil, wantsGroup: true, recordNames: ["a", "b"]), database.context)
        #expect(keys.group == [try await database.sampleGroupKey(version: 1)])
        #expect(keys.records == [.init(recordName: "a", keys: [.sample()])])
    }

    @Test func `a key ID is bound to one key, and another key under it changes nothing`() async throws {
        let database = TestDatabase(TestCloud())
        try await database.makeZoneKey()
        _ = try await database.modify([secret("a").withKey()])
        var update = secret("a").withKey()
        update.operationType = .forceUpdate
        update.record.keys[0].wrapped[3] = 9
        #expect(try await database.modify([update])[0].error?.needsKeys == true)
    }

    @Test func `of two concurrent first keys of a zone one wins, and both clients learn which`() async throws {
        let database = TestDatabase(TestCloud())
        try await database.makeZoneKey()
        let first = try await database.sampleGroupKey(version: 1)
        var other = first
        other.box[0] = 99
        ListedDevice(1).sign(&other, of: try await database.groupPlace())
        let answer = try await database.cloud.service.putGroupKey(
            PutGroupKeyRequest(zoneID: nil, key: other), database.context)
        #expect(answer.group == [first])
        await #expect(throws: ServiceError.self, "versions have no gaps") {
            try await database.makeZoneKey(version: 3)
        }
        #expect(try await database.makeZoneKey(version: 2).group.map(\.version) == [1, 2])
    }

    @Test func `a zone that is made again has no key of the old one`() async throws {
        let database = try await TestDatabase(TestCloud()).making(zone: "Z")
        try await database.makeZoneKey()
        let zone = ZoneIDDictionary(zoneName: "Z")
        for type in [ZoneOperation.OperationType.delete, .create] {
            _ = try await database.cloud.service.modifyZones(
                ModifyZonesRequest(operations: [ZoneOperation(operationType: type, zoneID: zone)]), database.context)
        }
        let keys = try await database.cloud.service.lookupKeys(
            LookupKeysRequest(zoneID: zone, wantsGroup: true, recordNames: []), database.context)
        #expect(keys == KeysResponse())
    }

    @Test func `keys exist in private databases only, and each account has its own`() async throws {
        let cloud = TestCloud()
        let mine = TestDatabase(cloud, "me")
        try await mine.makeZoneKey()
        let theirs = TestDatabase(cloud, "you")
        let request = LookupKeysRequest(zoneID: nil, wantsGroup: true, recordNames: ["a"])
        #expect(try await cloud.service.lookupKeys(request, theirs.context) == KeysResponse())
        for scope in [DatabaseScope.public, .shared] {
            await #expect(throws: ServiceError.self) {
                try await cloud.service.lookupKeys(request, cloud.context("me", scope))
            }
        }
        await #expect(throws: ServiceError.self) {
            try await cloud.service.lookupKeys(request, cloud.context(nil))
        }
    }

    @Test func `a service that keeps no keys for devices refuses them`() async throws {
        let database = TestDatabase(TestCloud())
        await #expect(throws: ServiceError.self) {
            try await database.cloud.service.enroll(
                EnrollRequest(position: 0, entry: [1], escrow: [1]), database.context)
        }
    }

    @Test func `the bytes of a value count towards a record's size, not their base64`() async throws {
        let database = TestDatabase(TestCloud())
        try await database.makeZoneKey()
        func save(_ count: Int) async throws -> String {
            let bytes = [1] + [UInt8](repeating: 7, count: 8) + [UInt8](repeating: 0, count: count - 9)
            let value = FieldValue.sealed(SealedFieldValue(type: .bytes, bytes: bytes))
            return try await database.modify([secret("a\(count)", value).withKey()])[0].summary
        }
        #expect(try await save(1_000_000) == "saved")
        #expect(try await save(1_100_000) == "error 27")
    }
}
