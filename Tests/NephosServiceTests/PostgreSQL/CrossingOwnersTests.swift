import NephosPostgres
import NephosPostgresTesting
import NephosStorage
import NephosTesting
import NephosWire
import Testing

@testable import NephosService

/// Two owners who share with each other, on two servers that carry out random requests side by side: no feed misses a change,
/// and no two writes wait for each other.
@Suite(.overPostgreSQL, .oneAtATime) struct CrossingOwnersTests {
    private static let owners = ["alice", "bob"]

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `owners who share with each other miss no change and never deadlock`(_ seed: UInt64) async throws {
        let (options, address) = (TestCluster.options(connections: 6), try TestCluster.address.get())
        let clock = TestCloud.Clock()
        let stores = try (0..<2).map { _ in try PostgresStores(address, options: options) }
        let clouds = stores.map { TestCloud(ServiceConfiguration(), stores: $0, clock: clock) }
        var shares: [Share] = []
        for owner in Self.owners { shares.append(try await Share(of: owner, clouds[0])) }
        for (share, other) in zip(shares, Self.owners.reversed()) { try await share.accept(as: other, clouds[1]) }

        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask { [shares] in
                    var random = SeededGenerator(seed: seed &* 100 &+ UInt64(task))
                    for step in 0..<15 {
                        let cloud = clouds[Int.random(in: 0..<2, using: &random)]
                        let share = shares[Int.random(in: 0..<2, using: &random)]
                        await share.act(Int.random(in: 0..<8, using: &random), "t\(task)-\(step)", cloud)
                    }
                }
            }
            for owner in Self.owners {
                group.addTask { [shares] in
                    var follower = SharedFollower(account: owner)
                    for round in 0..<40 { try await follower.fetch(clouds[round % 2]) }
                    for _ in 0..<3 { await clouds[0].service.settle() }
                    _ = shares
                }
            }
            try await group.waitForAll()
        }
        for cloud in clouds { await cloud.service.settle() }
        for (share, other) in zip(shares, Self.owners.reversed()) {
            let names = try await share.names(clouds[0])
            #expect(names.count > 1, "seed \(seed)")
            var follower = SharedFollower(account: other)
            try await follower.fetch(clouds[1])
            #expect(follower.names == names, "\(other)'s feed, seed \(seed)")
        }
        for provider in stores { #expect(provider.waits?.deadlocks == 0, "seed \(seed)") }
        for cloud in clouds { await cloud.service.close() }
    }

    /// A follower that fetches while owners write ends where one does that fetches at the end.
    @Test(arguments: [4, 5, 6] as [UInt64])
    func `a token of the shared database skips no change of either owner`(_ seed: UInt64) async throws {
        let (options, address) = (TestCluster.options(connections: 6), try TestCluster.address.get())
        let clock = TestCloud.Clock()
        let clouds = try (0..<2).map { _ in
            TestCloud(ServiceConfiguration(), stores: try PostgresStores(address, options: options), clock: clock)
        }
        var shares: [Share] = []
        for owner in Self.owners {
            shares.append(try await Share(of: owner, clouds[0]))
            try await shares.last?.accept(as: "carol", clouds[1])
        }
        let follower = try await withThrowingTaskGroup(of: SharedFollower?.self) { group in
            for (number, share) in shares.enumerated() {
                for writer in 0..<3 {
                    group.addTask {
                        for step in 0..<12 {
                            let operation = RecordOperation.force("w\(writer)-\(step)", [:], parent: "root")
                            _ = try await share.own(clouds[(number + writer) % 2]).modify([operation])
                        }
                        return nil
                    }
                }
            }
            group.addTask {
                var follower = SharedFollower(account: "carol")
                for round in 0..<40 { try await follower.fetch(clouds[round % 2]) }
                return follower
            }
            var follower: SharedFollower?
            for try await found in group { follower = found ?? follower }
            return follower
        }
        var last = try #require(follower)
        try await last.fetch(clouds[0])
        var names: Set<String> = []
        for share in shares { names.formUnion(try await share.names(clouds[0])) }
        #expect(last.names == names && names.count == 1 + 36, "seed \(seed)")
        #expect(last.restarts == 0)
        for cloud in clouds { await cloud.service.close() }
    }
}

/// A share of everything below the record "root" in its owner's zone "Z".
private struct Share: Sendable {
    let owner: String
    let zone: ZoneIDDictionary
    private let guid: String

    init(of owner: String, _ cloud: TestCloud) async throws {
        self.owner = owner
        let own = try await TestDatabase(cloud, owner).making(zone: "Z")
        let body = """
            {"zoneID":{"zoneName":"Z"},"operations":[
            {"operationType":"create","record":{"recordName":"root","recordType":"Note"}},
            {"operationType":"create","record":{"recordName":"share","recordType":"cloudkit.share",
            "forRecord":{"recordName":"root"},"publicPermission":"READ_WRITE"}}]}
            """
        let saved = try await cloud.service.modifyRecords(
            ModifyRecordsRequest(decoding: Array(body.utf8)), own.context
        ).records
        guid = try #require(saved.last?.record?.shareDetails?.shortGUID, "\(saved)")
        let name = try await cloud.service.currentUser(cloud.context(owner)).userRecordName
        zone = ZoneIDDictionary(zoneName: "Z", ownerRecordName: name)
    }

    func own(_ cloud: TestCloud) -> TestDatabase { TestDatabase(cloud, owner, zone: "Z") }

    func accept(as account: String, _ cloud: TestCloud) async throws {
        _ = try await cloud.service.acceptShares(
            ShortGUIDsRequest(shortGUIDs: [.init(value: guid)]), cloud.context(account))
    }

    /// One of the requests that change rows of several owners, or of all.
    func act(_ number: Int, _ name: String, _ cloud: TestCloud) async {
        let other = owner == "alice" ? "bob" : "alice"
        switch number {
        case 0, 1: _ = try? await own(cloud).modify([.force(name, ["n": .int64(1)], parent: "root")])
        case 2, 3: await participant(other, cloud, [.force("p-\(name)", ["n": .int64(2)], parent: "root")])
        case 4: try? await accept(as: "carol", cloud)
        // A participant leaves by deleting the share.
        case 5: await participant("carol", cloud, [.delete("share")])
        case 6: _ = try? await own(cloud).save(.database("s-\(name)"))
        default:
            // A field of a new name takes the store alone, and so does the index of a query of it.
            let field = "f\(name.utf8.reduce(0) { $0 + Int($1) } % 5)"
            _ = try? await own(cloud).modify([.force("x-\(name)", [field: .int64(1)], parent: "root")])
            let query = Query(recordType: "Note", filterBy: [Filter(.field(field), .equals, .int64(1))])
            _ = try? await cloud.service.queryRecords(
                QueryRecordsRequest(query: query, zoneID: own(cloud).zoneID), own(cloud).context)
            _ = try? await own(cloud).making(zone: "T-\(name)")
            try? await own(cloud).deleteZone("T-\(name)")
        }
    }

    private func participant(_ account: String, _ cloud: TestCloud, _ operations: [RecordOperation]) async {
        let request = ModifyRecordsRequest(operations: operations, zoneID: zone, wantsServerRecord: true)
        _ = try? await cloud.service.modifyRecords(request, cloud.context(account, .shared))
    }

    /// The names of the owner's records.
    func names(_ cloud: TestCloud) async throws -> Set<String> {
        var (names, token, hasMore): (Set<String>, String?, Bool) = ([], nil, true)
        while hasMore {
            let page = try await own(cloud).changes(since: token)
            names.formUnion(page.records.compactMap { $0.record?.recordName })
            (token, hasMore) = (page.syncToken, page.moreComing)
        }
        return names.subtracting(["share"])
    }
}

/// A device that fetches its account's shared database by tokens.
private struct SharedFollower: Sendable {
    let account: String
    private var token: String?
    private var zones: [String: (token: String?, names: Set<String>)] = [:]
    private(set) var restarts = 0

    init(account: String) { self.account = account }

    var names: Set<String> {
        var names: Set<String> = []
        for zone in zones.values { names.formUnion(zone.names) }
        return names.subtracting(["share"])
    }

    mutating func fetch(_ cloud: TestCloud) async throws {
        let context = cloud.context(account, .shared)
        var hasMore = true
        while hasMore {
            let page = try await cloud.service.databaseChanges(DatabaseChangesRequest(syncToken: token), context)
            for zone in page.zones {
                if zone.deleted {
                    zones[zone.zoneID.ownerRecordName ?? ""] = nil
                } else {
                    try await fetch(zone.zoneID, context, cloud)
                }
            }
            (token, hasMore) = (page.syncToken, page.moreComing)
        }
    }

    private mutating func fetch(
        _ zone: ZoneIDDictionary, _ context: RequestContext, _ cloud: TestCloud
    ) async throws {
        let owner = zone.ownerRecordName ?? ""
        var known: (token: String?, names: Set<String>) = zones[owner] ?? (nil, [])
        var hasMore = true
        while hasMore {
            switch await Self.page(zone, known.token, context, cloud) {
            case .success(let page):
                Self.take(page, &known.names)
                (known.token, hasMore) = (page.syncToken, page.moreComing)
            case .failure(let error) where error.clientCode == .changeTokenExpired && known.token != nil:
                known = (nil, [])
                restarts += 1
            case .failure(let error) where error.clientCode == .zoneNotFound: hasMore = false
            case .failure(let error): throw error
            }
        }
        zones[owner] = known
    }

    private static func page(
        _ zone: ZoneIDDictionary, _ token: String?, _ context: RequestContext, _ cloud: TestCloud
    ) async -> Result<RecordZoneChanges, ServiceError> {
        do {
            let request = RecordChangesRequest(zone: .init(zoneID: zone, syncToken: token))
            return .success(try await cloud.service.recordChanges(request, context).changes)
        } catch {
            return .failure(error)
        }
    }

    private static func take(_ page: RecordZoneChanges, _ names: inout Set<String>) {
        for result in page.records {
            switch result {
            case .record(let record): names.insert(record.recordName)
            case .deleted(let record): names.remove(record.recordName)
            case .failure: Issue.record("a record that cannot be read")
            }
        }
    }
}
