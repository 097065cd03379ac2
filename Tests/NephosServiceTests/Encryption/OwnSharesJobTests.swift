import NephosCrypto
import NephosStorage
import NephosWire
import Testing

@testable import NephosService

/// The job that notes an account's own shares after the revocation of a device.
@Suite struct OwnSharesJobTests {
    private static let zones = ["A", "B", "C"]

    /// Shares of a zone: three with a key, one that ended, and one without a key.
    private func makeShares(in zone: ZoneKey, _ place: KeyPlace, _ transaction: StorageTransaction) throws {
        for number in 1...5 as ClosedRange<Int64> {
            let name = "s\(number)"
            let share = ShareRow(
                id: zone.id * 100 + number, zone: zone, name: name, root: "root\(number)",
                guid: "g\(zone.id) \(number)",
                endedAt: number == 4 ? 1 : 0, publicPermission: 1)
            try transaction.put(share)
            if number == 5 { continue }
            let group = GroupPlace(zone: ZonePlace(account: place, zoneName: "Z"), group: name)
            try transaction.put(StoredGroupKeys.row(ListedDevice(1).groupKey(1, of: group), of: name, zone))
        }
    }

    @Test(arguments: [1, 2, 3, 4, 7, 100])
    func `a revocation notes each own live share with a key once, however many fit in a step`(
        count: Int
    ) async throws {
        let cloud = TestCloud()
        for account in ["me", "other"] {
            for zone in Self.zones { _ = try await TestDatabase(cloud, account).making(zone: zone) }
        }
        let place = try await cloud.service.keyPlace(cloud.context())
        try await cloud.withStore { store in
            let stale = try await store.engine.write { transaction -> [String: Int] in
                var stale: [String: Int] = [:]
                var zones: [(account: String, zone: ZoneKey)] = []
                for name in ["me", "other"] {
                    let owner = try #require(try transaction.account(named: name)).owner
                    for zone in try transaction.zones(owner: owner) where Self.zones.contains(zone.name) {
                        zones.append((name, zone.key))
                        if zone.name != "B" { try makeShares(in: zone.key, place, transaction) }
                    }
                }
                let account = try #require(try transaction.account(named: "me")).id
                let indexes = IndexWriter(
                    definitions: try store.indexes.definitions(in: transaction), accounts: store.accounts)
                try transaction.insert(KeyAttentionJob(about: .ownShares(account)).row)
                var steps = 0
                while let row = try transaction.jobs(limit: 1).first, steps < 50 {
                    try transaction.removeJob(id: row.id)
                    let job = try #require(KeyAttentionJob(row))
                    _ = try job.step(limit: count * 8, indexes, store.notifier, now: 1, in: transaction)
                    steps += 1
                }
                for (account, zone) in zones {
                    for share in (1...5).map({ "s\($0)" }) {
                        let state = try GroupState.read(share, zone, transaction)
                        if state.attention > 0, state.stale == 1 { stale["\(account) \(share)", default: 0] += 1 }
                    }
                }
                return stale
            }
            #expect(stale == ["me s1": 2, "me s2": 2, "me s3": 2])
        }
        await cloud.service.close()
    }
}
