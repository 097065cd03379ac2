import NephosCrypto
import NephosService
import NephosWire
import Testing

/// The service's checks of device lists, and of the keys that devices sign.
@Suite struct DeviceListRuleTests {
    private let database = TestDatabase(TestCloud())
    private let first = ListedDevice(1)
    private let second = ListedDevice(2)
    private let third = ListedDevice(3)

    @discardableResult
    private func enroll(
        _ entry: [UInt8], at position: Int64, _ boxes: [AccountKeyBox] = []
    ) async throws -> [[UInt8]] {
        try await database.cloud.service.enroll(
            EnrollRequest(position: position, entry: entry, boxes: boxes), database.context
        ).entries
    }

    private func list() async throws -> DeviceList {
        let answer = try await database.cloud.service.accountKeys(EmptyKeysRequest(), database.context)
        return try #require(DeviceList(answer.entries, in: try await database.keyPlace()))
    }

    private func expectRefusal(
        _ reason: String, _ body: () async throws -> Void, _ location: SourceLocation = #_sourceLocation
    ) async {
        let error = await #expect(throws: ServiceError.self, sourceLocation: location) { try await body() }
        #expect(error?.reason.contains(reason) == true, "\(error?.reason ?? "")", sourceLocation: location)
    }

    @Test func `of two concurrent first devices one makes the list, and the other gets it`() async throws {
        let place = try await database.keyPlace()
        let entries = [first, second].map { $0.entry(.add, $0, after: DeviceList(), in: place) }
        let answers = try await withThrowingTaskGroup(of: [[UInt8]].self) { group in
            for entry in entries { group.addTask { try await enroll(entry, at: 0) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers[0] == answers[1] && answers[0].count == 1 && entries.contains(answers[0][0]))
    }

    @Test func `unchained entries, and entries without a listed device's signature, change nothing`() async throws {
        let place = try await database.keyPlace()
        var other = place
        other.container = "iCloud.other"
        let none = DeviceList()
        for bad in [
            first.entry(.add, second, after: none, in: place), first.entry(.revoke, first, after: none, in: place),
            first.entry(.add, first, after: none, version: 2, in: place),
            first.entry(.add, first, after: none, in: other),
            [1], Array(first.entry(.add, first, after: none, in: place).dropLast()) + [0xFF],
        ] as [[UInt8]] {
            await expectRefusal("does not follow") { try await enroll(bad, at: 0) }
        }
        try await database.enrollFirst()
        let list = try await list()
        for bad in [
            second.entry(.add, second, after: list, in: place), first.entry(.add, first, after: list, in: place),
            first.entry(.add, second, after: none, in: place),
            first.entry(.add, second, after: list, version: 2, in: place),
            first.entry(.revoke, second, after: list, in: place),
        ] {
            await expectRefusal("does not follow") { try await enroll(bad, at: 1) }
        }
        let good = first.entry(.add, second, after: list, in: place)
        await expectRefusal("has 1 entries") { try await enroll(good, at: 2) }
        await expectRefusal("not on the list") { try await enroll(good, at: 1, [third.accountBox(1)]) }
        await expectRefusal("of no version") { try await enroll(good, at: 1, [second.accountBox(2)]) }
        #expect(try await self.list() == list)
        #expect(try await enroll(good, at: 1, [second.accountBox(1)]).count == 2)
    }

    @Test func `a revocation renews the account key for the remaining devices and ends the device's signatures`()
        async throws
    {
        let place = try await database.keyPlace()
        try await database.enrollFirst()
        for device in [second, third] {
            let list = try await list()
            try await enroll(first.entry(.add, device, after: list, in: place), at: list.count, [device.accountBox(1)])
        }
        let before = try await list()
        let revoke = first.entry(.revoke, second, after: before, in: place)
        await expectRefusal("for every device that stays") { try await enroll(revoke, at: 3, [first.accountBox(2)]) }
        let same = first.entry(.revoke, second, after: before, version: 1, in: place)
        await expectRefusal("does not follow") { try await enroll(same, at: 3) }
        try await enroll(revoke, at: 3, [first.accountBox(2), third.accountBox(2)])
        let list = try await list()
        #expect(!list.isListed(second.signing.publicKey) && list.accountKeyVersion == 2)
        let boxes = try await database.cloud.service.accountKeys(EmptyKeysRequest(), database.context).boxes
        #expect(Set(boxes.map(\.device)) == [first.box.publicKey, third.box.publicKey])
        await expectRefusal("does not follow") {
            try await enroll(second.entry(.add, ListedDevice(4), after: list, in: place), at: 4)
        }
        await expectRefusal("was revoked") {
            try await enroll(first.entry(.add, second, after: list, in: place), at: 4)
        }
        let group = try await database.groupPlace()
        func put(_ key: WrappedGroupKey) async throws {
            _ = try await database.cloud.service.putGroupKey(
                PutGroupKeyRequest(zoneID: nil, key: key), database.context)
        }
        await expectRefusal("not signed") { try await put(second.groupKey(1, of: group, for: 2)) }
        await expectRefusal("present account key") { try await put(first.groupKey(1, of: group, for: 1)) }
        try await put(third.groupKey(1, of: group, for: 2))
    }

    @Test func `a zone's key is signed by a listed device, for that zone, in the next version`() async throws {
        let group = try await database.groupPlace()
        func put(_ key: WrappedGroupKey, _ boxes: [GroupBox] = []) async throws {
            _ = try await database.cloud.service.putGroupKey(
                PutGroupKeyRequest(zoneID: nil, key: key, boxes: boxes), database.context)
        }
        await expectRefusal("present account key") { try await put(first.groupKey(1, of: group)) }
        try await database.enrollFirst()
        var elsewhere = group
        elsewhere.zone.zoneName = "Other"
        var forged = first.groupKey(1, of: group)
        forged.box[0] ^= 1
        for key in [forged, second.groupKey(1, of: group), first.groupKey(1, of: elsewhere)] {
            await expectRefusal("not signed") { try await put(key) }
        }
        await expectRefusal("has the version 1") { try await put(first.groupKey(2, of: group)) }
        await expectRefusal("takes no part") {
            try await put(
                first.groupKey(1, of: group),
                [GroupBox(userRecordName: "_nobody", key: first.groupKey(1, of: group, isBox: true))])
        }
        let keys = try await database.cloud.service.lookupKeys(
            LookupKeysRequest(zoneID: nil, wantsGroup: true), database.context)
        #expect(keys.group.isEmpty, "what is refused changes nothing")
        try await put(first.groupKey(1, of: group))
    }
}
