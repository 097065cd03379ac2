import NephosStorage
import NephosWire
import Testing

@testable import NephosService

/// The remains of a deleted account in its store, and its later requests.
@Suite struct AccountErasureTests {
    private let cloud = TestCloud()
    private static let store = StoreID(container: "iCloud.test", environment: "development")

    private func withStore<T>(_ body: (Store) async throws -> T) async throws -> T {
        try await cloud.service.stores.using(Self.store, body)
    }

    private func caller(_ account: String) async throws -> Caller {
        try await withStore { try await $0.caller(cloud.context(account)) }
    }

    /// A list of alice's that bob may write in, and what else accounts have.
    private func makeList() async throws -> (zone: ZoneIDDictionary, guid: String) {
        let list = try await cloud.makeSharedList()
        return (list.zone, list.guid)
    }

    @Test func `between deletion and erasure no account sees more than after it`() async throws {
        let (zone, guid) = try await makeList()
        let account = try #require(try await caller("alice").account)
        var shared = TestDatabase(cloud, "bob", .shared)
        let token = try await cloud.service.databaseChanges(.init(), shared.context).syncToken
        // The background is not woken, nor still at what the list made.
        await cloud.service.settle()
        try await withStore { store in
            try await store.engine.write { try AccountDeletion(account: account).run(in: $0) }
        }
        #expect(try await cloud.service.listZones(shared.context).zones.isEmpty)
        shared.zone = "Z"
        let request = LookupRecordsRequest(records: [.init(recordName: "root")], zoneID: zone)
        let missing = missingZone("Z", "nothing of it is shared with the account, which has to accept a share first")
        await #expect(throws: missing) {
            _ = try await cloud.service.lookupRecords(request, shared.context)
        }
        let resolved = try await cloud.service.resolveShares(
            ShortGUIDsRequest(shortGUIDs: [.init(value: guid)]), cloud.context("carol"))
        guard case .failure(let error)? = resolved.results.first else {
            Issue.record("\(resolved)")
            return
        }
        #expect(error.serverErrorCode == .notFound)
        #expect(try await cloud.service.listShares(ListSharesRequest(), cloud.context()).shares.isEmpty)
        // The zone's own turn comes with the job.
        #expect(try await cloud.service.databaseChanges(.init(), shared.context).zones.isEmpty)
        let changes = try await cloud.service.databaseChanges(.init(syncToken: token), shared.context)
        #expect(changes.zones.isEmpty)
        await cloud.service.settle()
        let later = try await cloud.service.databaseChanges(.init(syncToken: changes.syncToken), shared.context)
        #expect(later.zones.map(\.zoneID) == [zone] && later.zones.allSatisfy(\.deleted))
    }

    @Test func `owners see the participant no more when the deletion returns, of however many shares`() async throws {
        _ = try await makeList()
        var owners = [("alice", "share")]
        for name in ["carol", "dave"] {
            let database = try await TestDatabase(cloud, name).making(zone: "Z")
            for number in 0..<30 {
                let operations = """
                    {"zoneID":{"zoneName":"Z"},"operations":[
                    {"operationType":"create","record":{"recordName":"root\(number)","recordType":"List"}},
                    {"operationType":"create","record":{"recordName":"share\(number)","recordType":"cloudkit.share",
                    "forRecord":{"recordName":"root\(number)"},"publicPermission":"READ_WRITE"}}]}
                    """
                let saved = try await cloud.service.modifyRecords(
                    ModifyRecordsRequest(decoding: Array(operations.utf8)), database.context)
                let guid = try #require(saved.records[1].record?.shareDetails?.shortGUID)
                _ = try await cloud.service.acceptShares(
                    ShortGUIDsRequest(shortGUIDs: [.init(value: guid)]), cloud.context("bob"))
                owners.append((name, "share\(number)"))
            }
        }
        _ = try await cloud.service.deleteAccount(DeleteAccountRequest(account: "bob"), cloud.context())
        for (owner, share) in owners {
            let found = try await cloud.service.lookupRecords(
                LookupRecordsRequest(records: [.init(recordName: share)], zoneID: ZoneIDDictionary(zoneName: "Z")),
                cloud.context(owner))
            let details = try #require(found.records.first?.record?.shareDetails)
            #expect(details.participants.map(\.role) == [.owner], "\(owner)'s \(share)")
        }
    }

    @Test func `a request that began before the deletion writes nothing after it`() async throws {
        let stale = try await caller("alice")
        _ = try await cloud.service.deleteAccount(DeleteAccountRequest(account: "alice"), cloud.context())
        await #expect(throws: ServiceError.self) {
            try await withStore { store in
                _ = try await store.write(by: stale) { transaction in
                    try transaction.insertZone(
                        owner: OwnerID(rawValue: stale.account?.id ?? 0), name: "Z",
                        sequence: try transaction.nextSequence())
                }
            }
        }
        // The name is another account's at once.
        #expect(try await caller("alice").account?.id != stale.account?.id)
    }

    @Test func `only the number of a deleted account remains`() async throws {
        let zone = try await makeList().zone
        let guest = TestDatabase(cloud, "bob")
        let account = try #require(try await caller("bob").account)
        for name in ["A", "B"] {
            let database = try await guest.making(zone: name)
            for start in 0..<3 {
                _ = try await database.modify((0..<200).map { .create("r\(start)-\($0)", ["x": .int64(1)]) })
            }
        }
        _ = try await guest.modify([.create("default")])
        try await withStore { store in
            try await store.engine.write { transaction in
                try transaction.put(
                    KeyRow(zone: ZoneKey(owner: account.owner, id: 0), kind: .listEntry, id: [1], body: [1]))
            }
        }
        for scope in [DatabaseScope.private, .shared] {
            _ = try await cloud.service.modifySubscriptions(
                .init(operations: [.create(SubscriptionDictionary(subscriptionID: "s", subscriptionType: .database))]),
                cloud.context("bob", scope))
        }
        _ = try await cloud.service.createToken(TokenRequest(apnsEnvironment: .development), cloud.context("bob"))

        let deleted = try await cloud.service.deleteAccount(DeleteAccountRequest(account: "bob"), cloud.context())
        #expect(
            deleted
                == DeleteAccountResponse(
                    account: "bob", userRecordName: account.userRecordName, zones: 2, shares: 0, joinedShares: 1,
                    subscriptions: 2, pushTokens: 1, assetBytes: 0))
        await cloud.service.settle()
        try await withStore { store in
            try await store.engine.read { reader in
                #expect(try reader.zones(owner: account.owner).isEmpty)
                #expect(try reader.jobs(limit: 1).isEmpty)
                for zone in try reader.deletedZones(owner: account.owner, after: 0, limit: 10) {
                    #expect(try reader.records(zone: zone.key, after: 0, limit: 1).isEmpty)
                }
                #expect(try reader.keys(zone: ZoneKey(owner: account.owner, id: 0), kind: .listEntry).isEmpty)
                #expect(try reader.pushTokens(account: account.id).isEmpty)
                for owner in account.subscriptionOwners {
                    #expect(try reader.subscriptions(owner: owner, account: account.id).isEmpty)
                }
                #expect(try reader.memberships(account: account.id).isEmpty)
                #expect(try reader.participations(account: account.id, limit: 1).isEmpty)
                let row = AccountRow(id: account.id, name: "", userRecordName: account.userRecordName, isDeleted: true)
                #expect(try reader.account(id: account.id) == row)
                #expect(try reader.zone(owner: .everyone, named: "_defaultZone") != nil)
            }
        }
        // Alice has lost a participant and nothing else.
        #expect(try await TestDatabase(cloud, "alice", zone: "Z").existing("root", "share") == ["root", "share"])
        _ = zone
    }

    @Test func `an erasure of public records takes those that the account created, in several steps`() async throws {
        let (bob, alice) = (TestDatabase(cloud, "bob", .public), TestDatabase(cloud, "alice", .public))
        for start in 0..<3 {
            for (database, name) in [(bob, "bob"), (alice, "alice")] {
                _ = try await database.modify((0..<200).map { .create("\(name)\(start)-\($0)", ["x": .int64(1)]) })
            }
        }
        // What refers to an erased record with an action of its own goes, too.
        let owner = FieldValue.reference(ReferenceValue(recordName: "bob0-0", action: .deleteSelf))
        _ = try await alice.modify([.create("owned", ["of": owner])])
        _ = try await cloud.service.deleteAccount(
            DeleteAccountRequest(account: "bob"), cloud.context(), erasesPublicRecords: true)
        await cloud.service.settle()
        #expect(try await alice.existing("bob0-0", "bob1-7", "bob2-199", "owned") == [])
        #expect(try await alice.existing("alice0-0", "alice2-199") == ["alice0-0", "alice2-199"])
        let left = try await withStore { store in
            try await store.engine.read { reader in
                let zone = try reader.zone(owner: .everyone, named: ZoneIDDictionary.defaultZoneName)
                let rows = try zone.map { try reader.records(zone: $0.key, after: 0, limit: 5000, size: .max) } ?? []
                #expect(try reader.jobs(limit: 1).isEmpty)
                return rows.count { !$0.isDeleted && $0.type != SystemRecordType.user }
            }
        }
        #expect(left == 600)
    }

    @Test func `the list of accounts omits deleted ones`() async throws {
        for name in ["a", "b", "c"] { _ = try await caller(name) }
        _ = try await cloud.service.deleteAccount(DeleteAccountRequest(account: "b"), cloud.context())
        let list = try await cloud.service.listAccounts(ListAccountsRequest(), cloud.context())
        #expect(list.accounts.map(\.name) == ["a", "c"] && list.continuationMarker == nil)
        await #expect(throws: ServiceError.self) {
            try await cloud.service.listAccounts(ListAccountsRequest(continuationMarker: "x"), cloud.context())
        }
    }
}
