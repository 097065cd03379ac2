import NephosCrypto
import NephosWire
import Testing

@testable import NephosService
@testable import NephosStorage

/// What the items of a request have in common is read once, and the work of a request in the write is bounded.
@Suite struct BatchReadsTests {
    /// A cloud with files: the readers of a store in memory use the writer's connection, whose work is counted.
    private func withCloud(_ body: (TestCloud) async throws -> Void) async throws {
        let stores = TemporaryStores()
        defer { stores.remove() }
        let cloud = TestCloud(ServiceConfiguration(), stores: try stores.open())
        try await body(cloud)
        await cloud.service.close()
    }

    /// The work of the writer's statements during `body`, in the units of `ReadMeter`.
    private func workOfWrites(_ cloud: TestCloud, _ body: () async throws -> Void) async throws -> Int {
        try await cloud.settle()
        try await cloud.withStore { try await $0.engine.write { $0.connection.meter.begin(.work(.max)) } }
        try await body()
        return try await cloud.withStore { try await $0.engine.write { $0.connection.meter.end().work } }
    }

    private func save(_ database: TestDatabase, _ operations: [RecordOperation]) async throws {
        for start in stride(from: 0, to: operations.count, by: 400) {
            let results = try await database.modify(Array(operations[start..<min(start + 400, operations.count)]))
            try #require(results.allSatisfy { $0.summary == "saved" }, "\(results)")
        }
    }

    private func summaries(_ database: TestDatabase, _ operations: [RecordOperation]) async throws -> [String] {
        try await database.modify(operations, atomic: false).map(\.summary)
    }

    // MARK: Lists of devices

    /// Gives the account a list of devices.
    private func enroll(_ count: UInt8, _ database: TestDatabase) async throws {
        let (place, first) = (try await database.keyPlace(), ListedDevice(1))
        var list = DeviceList()
        for number in 1...count {
            let entry = first.entry(.add, ListedDevice(number), after: list, in: place)
            _ = try await database.cloud.service.enroll(
                EnrollRequest(position: list.count, entry: entry), database.context)
            let follows = list.append(entry, in: place)
            try #require(follows)
        }
    }

    @Test func `a request reads the device list of an account once for all its shares`() async throws {
        try await withCloud { cloud in
            let (count, devices) = (30, 60)
            let alice = try await TestDatabase(cloud, "alice").making(zone: "Z")
            let (bob, carol) = (TestDatabase(cloud, "bob"), TestDatabase(cloud, "carol"))
            for account in [alice, bob] { try await enroll(UInt8(devices), account) }
            let zone = ZonePlace(account: try await alice.keyPlace(), zoneName: "Z")
            var guids: [String] = []
            for index in 0..<count {
                let results = try await alice.modify([.create("r\(index)"), .share("s\(index)", of: "r\(index)")])
                guids.append(try #require(results[1].record?.shareDetails?.shortGUID))
            }
            func saves(signed: Bool) async throws -> Int {
                let request = LookupRecordsRequest(
                    records: (0..<count).map { .init(recordName: "s\($0)") }, zoneID: alice.zoneID)
                let shares = try await cloud.service.lookupRecords(request, alice.context).records.compactMap(\.record)
                try #require(shares.count == count)
                let operations = shares.enumerated().map { index, share in
                    var operation = RecordOperation.update(share)
                    operation.record.share = ShareToModify()
                    if signed {
                        operation.record.share?.signedParticipants = ParticipantList(
                            number: 1, keyID: [], accountKey: [], isOpen: false, participants: []
                        ).signed(by: ListedDevice(1).signing, for: GroupPlace(zone: zone, group: "s\(index)"))
                    }
                    return operation
                }
                return try await workOfWrites(cloud) { try await save(alice, operations) }
            }
            let unsigned = try await saves(signed: false)
            let signed = try await saves(signed: true)
            #expect(signed - unsigned < count * devices / 2, "\(unsigned), signed \(signed)")

            func accepts(_ account: TestDatabase) async throws -> Int {
                let request = ShortGUIDsRequest(shortGUIDs: guids.map { .init(value: $0) })
                return try await workOfWrites(cloud) {
                    _ = try await cloud.service.acceptShares(request, account.context)
                }
            }
            _ = try await carol.cloud.service.currentUser(carol.context)
            let (without, with) = (try await accepts(carol), try await accepts(bob))
            #expect(with - without < count * devices / 2, "\(without), with devices \(with)")
        }
    }

    // MARK: Moves

    @Test func `a request reads the shares of a zone once for all records that it moves`() async throws {
        try await withCloud { cloud in
            let (count, shares) = (40, ZoneShares.sharesRead + 1)
            let zone = try await TestDatabase(cloud, "alice").making(zone: "Z")
            try await save(
                zone, (0..<shares).flatMap { [.create("r\($0)"), .share("s\($0)", of: "r\($0)")] })
            try await save(zone, [.create("root"), .share("share", of: "root"), .create("top"), .create("out")])
            try await save(zone, (0...Limits.sharedRecordsPerCommit).map { .create("leaf\($0)", parent: "top") })
            try await save(zone, (0..<2 * count).map { .create("a\($0)") })
            func moves(_ names: [String]) async throws -> Int {
                try await workOfWrites(cloud) { try await save(zone, names.map { .force($0, parent: "root") }) }
            }
            let small = try await moves((0..<count).map { "a\($0)" })
            // With the first of them the commit has used up what it moves.
            let large = try await moves(["top"] + (count..<2 * count).map { "a\($0)" })
            #expect(large - small < count * shares / 2, "\(small), with a large subtree \(large)")
        }
    }

    @Test func `a large subtree moves under a share if the same request moves the shared roots out of it`()
        async throws
    {
        let zone = try await TestDatabase(TestCloud(), "alice").making(zone: "Z")
        try await save(zone, [.create("root"), .share("share", of: "root"), .create("top"), .create("out")])
        try await save(zone, (0...Limits.sharedRecordsPerCommit).map { .create("leaf\($0)", parent: "top") })
        try await save(zone, [.create("inner", parent: "leaf0"), .share("innerShare", of: "inner"), .create("other")])
        let move = RecordOperation.force("top", parent: "root")
        #expect(try await summaries(zone, [move]) == ["error 30"])
        #expect(try await summaries(zone, [.force("inner", parent: "out"), move]) == ["saved", "saved"])
        #expect(try await summaries(zone, [.force("top", parent: "other")]) == ["saved"])
        // Now the root comes into the subtree with the request that moves the subtree.
        let found = try await summaries(zone, [.force("inner", parent: "leaf1"), move])
        #expect(found.contains("error 30"), "\(found)")
    }

    @Test func `the moves of a request have one bound for the records below them`() async throws {
        let zone = try await TestDatabase(TestCloud(), "alice").making(zone: "Z")
        let (last, leaves) = (20, Limits.sharedRecordsPerCommit + 1)
        try await save(
            zone,
            (0...last).flatMap { index -> [RecordOperation] in
                [
                    .create("p\(index)", parent: index == 0 ? nil : "m\(index - 1)"),
                    .create("q\(index)", parent: "p\(index)"), .create("m\(index)", parent: "p\(index)"),
                ]
            })
        try await save(zone, (0..<leaves).map { .create("leaf\($0)", parent: "m\(last)") })
        let moves = (0...last).map { RecordOperation.force("m\($0)", parent: "q\($0)") }
        // Each has all leaves below it.
        let found = try await summaries(zone, moves)
        #expect(found.first == "saved" && found.last == "error 27", "\(found)")
        for index in moves.indices where found[index] != "saved" {
            #expect(try await summaries(zone, [moves[index]]) == ["saved"])
        }
    }

    // MARK: Participants

    @Test func `the shares of a request list a limited number of people, else the request is refused whole`()
        async throws
    {
        let zone = try await TestDatabase(TestCloud(), "alice").making(zone: "Z")
        let shares = Limits.listedPerRequest / Limits.shareParticipants
        var operations = (0..<shares).flatMap { index -> [RecordOperation] in
            [
                .create("r\(index)"),
                .share("s\(index)", of: "r\(index)", inviting: Limits.shareParticipants),
            ]
        }
        try await save(zone, operations)
        operations = (0...shares).flatMap { index -> [RecordOperation] in
            [
                .create("t\(index)"),
                .share("u\(index)", of: "t\(index)", inviting: index == 0 ? 1 : Limits.shareParticipants),
            ]
        }
        let error = await #expect(throws: ServiceError.self) { try await zone.modify(operations) }
        #expect(error?.clientCode == .limitExceeded && error?.reason.contains("list 2001") == true, "\(error as Any)")
        #expect(try await zone.existing("t0").isEmpty)
    }

    @Test func `a save stops at the first participant too many`() throws {
        var made = 0
        let participants = ParticipantEdits(
            share: ShareRow(
                id: 1, zone: ZoneKey(owner: .everyone, id: 1), name: "s", root: "r", guid: "g",
                publicPermission: SharePermission.none.number), rows: [], editor: .owner, now: 0, owner: 1,
            makeID: {
                made += 1
                return "\(made)"
            }, makeGUID: { "g" })
        let wishes = (0..<Limits.listedParticipants).map { index in
            ParticipantEdits.Wish(
                dictionary: ParticipantDictionary(userIdentity: UserIdentityDictionary()), account: nil,
                address: "a\(index)@example.org")
        }
        let error = #expect(throws: ServiceError.self) {
            try participants.change(ShareToModify(), wishes, requesters: nil, blocked: nil)
        }
        #expect(error?.clientCode == .tooManyParticipants && made == Limits.shareParticipants)
    }
}

extension RecordOperation {
    /// A new share of a record's hierarchy.
    fileprivate static func share(_ name: String, of root: String, inviting count: Int = 0) -> RecordOperation {
        var operation = RecordOperation.create(name, type: "cloudkit.share")
        let participants = (0..<count).map { _ in
            var participant = ParticipantDictionary(userIdentity: UserIdentityDictionary())
            participant.oneTimeGUID = ""
            return participant
        }
        operation.record.share = ShareToModify(
            forRecord: .init(recordName: root), publicPermission: count == 0 ? .readOnly : SharePermission.none,
            participants: participants)
        return operation
    }
}
