import NephosCrypto
import NephosStorage
import NephosWire
import Testing

@testable import NephosService

/// A store that was restored from a backup: tokens from before the backup stay valid, later ones expire, and no change is
/// missed.
@Suite struct RestoredStoreTests {
    private let stores = TemporaryStores()

    /// Runs `before` and then, in the same store, `after`; then `restored` in a store that was restored from between the two.
    private func withBackup<Before: Sendable, After: Sendable>(
        before: (TestDatabase) async throws -> Before, after: (TestDatabase, Before) async throws -> After,
        restored: (TestDatabase, Before, After) async throws -> Void
    ) async throws {
        defer { stores.remove() }
        // Identifiers go on too.
        let clock = TestCloud.Clock()
        let first = TestCloud(ServiceConfiguration(), stores: try stores.open(), clock: clock)
        let old = try await before(try await TestDatabase(first).making(zone: "Z"))
        await first.service.close()
        let copy = try stores.restored("iCloud.test")
        defer { copy.remove() }
        let second = TestCloud(ServiceConfiguration(), stores: try stores.open(), clock: clock)
        let new = try await after(TestDatabase(second, zone: "Z"), old)
        await second.service.close()
        let third = TestCloud(ServiceConfiguration(), stores: try copy.open(), clock: clock)
        try await restored(TestDatabase(third, zone: "Z"), old, new)
        await third.service.close()
    }

    private func isExpired(_ body: () async throws -> Any) async -> Bool {
        do {
            _ = try await body()
            return false
        } catch {
            return (error as? ServiceError)?.clientCode == .changeTokenExpired
        }
    }

    @Test func `after a restore older sync tokens are valid, and newer and half-fetched ones expire`() async throws {
        try await withBackup { database in
            _ = try await database.modify((1...4).map { .create("r\($0)") })
            return (
                zone: try await database.changes().syncToken, database: try await database.databaseChanges().syncToken
            )
        } after: { database, old in
            // What the backup has as the first comes last now.
            _ = try await database.modify([.force("r1", ["x": .int64(1)]), .create("lost")])
            let page = try await database.changes(limit: 1)
            #expect(page.moreComing && page.summary == ["r2"])
            let end = try await database.changes()
            return (
                page: page.syncToken, end: end.syncToken, since: try await database.changes(since: old.zone).syncToken,
                database: try await database.databaseChanges().syncToken, fetchEnd: page.fetchEnd
            )
        } restored: { database, old, new in
            let unchanged = try await database.changes(since: old.zone)
            #expect(unchanged.summary == [] && unchanged.syncToken == old.zone)
            #expect(try await database.databaseChanges(since: old.database).summary == [])
            for token in [new.page, new.end, new.since] {
                #expect(await isExpired { try await database.changes(since: token) })
            }
            #expect(await isExpired { try await database.changes(since: old.zone, fetchEnd: new.fetchEnd) })
            #expect(await isExpired { try await database.databaseChanges(since: new.database) })
            #expect(try await database.changes().summary == ["r1", "r2", "r3", "r4"])
            // Later saves reach clients from before the backup, and a current token is valid.
            _ = try await database.modify([.create("new")])
            let next = try await database.changes(since: old.zone)
            #expect(next.summary == ["new"])
            #expect(try await database.changes(since: next.syncToken).summary == [])
            #expect(await isExpired { try await database.changes(since: new.end) })
        }
    }

    @Test func `two restores of one backup issue other tokens, tags and cursors, and refuse each other's`() async throws
    {
        defer { stores.remove() }
        let clock = TestCloud.Clock()
        let first = TestCloud(ServiceConfiguration(), stores: try stores.open(), clock: clock)
        let database = try await TestDatabase(first).making(zone: "Z")
        _ = try await database.modify((1...4).map { .create("r\($0)", ["x": .int64($0)]) })
        let old = try await database.changes().syncToken
        await first.service.close()
        let copies = [try stores.restored("iCloud.test"), try stores.restored("iCloud.test")]
        defer { for copy in copies { copy.remove() } }
        let request = QueryRecordsRequest(
            query: Query(recordType: "Note", sortBy: [QuerySortDescriptor(.field("x"))]),
            zoneID: ZoneIDDictionary(zoneName: "Z"), resultsLimit: 1)
        var issued: [(token: String?, database: String?, record: RecordDictionary?, marker: String?)] = []
        // Each in turn, and the first once more with what the second issued.
        for copy in [copies[0], copies[1], copies[0]] {
            let cloud = TestCloud(ServiceConfiguration(), stores: try copy.open(), clock: clock)
            let database = TestDatabase(cloud, zone: "Z")
            for other in issued {
                #expect(await isExpired { try await database.changes(since: other.token) })
                #expect(await isExpired { try await database.databaseChanges(since: other.database) })
                var next = request
                next.continuationMarker = other.marker
                await #expect(throws: ServiceError.self) {
                    try await cloud.service.queryRecords(next, database.context)
                }
                let update = try await database.modify([.update(try #require(other.record), ["x": .int64(9)])])
                #expect(update[0].error?.serverErrorCode == .conflict, "\(update)")
            }
            issued = []
            let saved = try await database.modify([.force("r1", ["x": .int64(1)])])
            #expect(try await database.changes(since: old).summary == ["r1"])
            issued = [
                (
                    try await database.changes().syncToken, try await database.databaseChanges().syncToken,
                    saved[0].record,
                    try await cloud.service.queryRecords(request, database.context).continuationMarker
                )
            ]
            #expect(issued[0].marker != nil)
            await cloud.service.close()
        }
    }

    @Test func `a store that was restored again and again issues tokens that are valid`() async throws {
        let clock = TestCloud.Clock()
        var backups = [stores]
        defer { for backup in backups { backup.remove() } }
        var (token, tags, sequence): (String?, Set<String>, Int64) = (nil, [], 0)
        // A later slot may be in what an earlier restore lost, with one chance in two.
        for number in 0..<12 {
            let current = backups[backups.count - 1]
            let cloud = TestCloud(ServiceConfiguration(), stores: try current.open(), clock: clock)
            var database = TestDatabase(cloud, zone: "Z")
            if number == 0 { database = try await database.making(zone: "Z") }
            let known = token
            for value in 0..<2 {
                let saved = try await database.modify([.force("r", ["x": .int64(Int64(value))])])
                #expect(tags.insert(try #require(saved[0].record?.recordChangeTag)).inserted)
                let changes = try await database.changes(since: token)
                #expect(changes.summary == ["r"], "\(number)")
                #expect(try await database.changes(since: changes.syncToken).summary == [])
                token = changes.syncToken
            }
            if known != nil { #expect(try await database.changes(since: known).summary == ["r"]) }
            let store = try #require(cloud.service.openStores.first)
            let last = try await store.engine.write { try $0.nextSequence() }
            #expect(last > sequence)
            sequence = last
            await cloud.service.close()
            backups.append(try current.restored("iCloud.test"))
        }
    }

    @Test func `after a restore older cursors continue, newer ones are refused, and name cursors continue`()
        async throws
    {
        let ranked = Query(recordType: "Note", sortBy: [QuerySortDescriptor(.field("rank"))])
        let named = Query(recordType: "Note")
        func page(_ query: Query, _ marker: String?, _ database: TestDatabase) async throws -> QueryRecordsResponse {
            try await database.cloud.service.queryRecords(
                DecodedQuery(
                    QueryRecordsRequest(
                        query: query, zoneID: database.zoneID, resultsLimit: 2, continuationMarker: marker)),
                database.context)
        }
        try await withBackup { database in
            _ = try await database.modify((1...6).map { .create("r\($0)", ["rank": .int64($0)]) })
            return (
                ranked: try await page(ranked, nil, database).continuationMarker,
                named: try await page(named, nil, database).continuationMarker
            )
        } after: { database, old in
            _ = try await database.modify([.force("r1", ["rank": .int64(9)])])
            return (
                ranked: try await page(ranked, nil, database).continuationMarker,
                continued: try await page(ranked, old.ranked, database).continuationMarker
            )
        } restored: { database, old, new in
            let next = try await page(ranked, old.ranked, database).records
            #expect(next.map { $0.record?.recordName } == ["r3", "r4"])
            let place = try await page(named, old.named, database).records
            #expect(place.count == 2)
            for marker in [new.ranked, new.continued] {
                let error = await #expect(throws: ServiceError.self) { try await page(ranked, marker, database) }
                #expect(error?.reason.contains("restored from a backup") == true)
            }
        }
    }

    @Test func `accounts and zones reuse no number assigned in the lost time`() async throws {
        try await withBackup { database in
            _ = try await database.modify([.create("r1")])
        } after: { database, _ in
            let lost = TestDatabase(database.cloud, "lost")
            _ = try await lost.making(zone: "L")
            let engine = try #require(database.cloud.service.openStores.first).engine
            let account = try #require(try await engine.read { try $0.account(named: "lost") })
            let zones = try await engine.read { try $0.zones(owner: account.owner).map(\.key.id) }
            return (account: account.id, zones: zones)
        } restored: { database, _, lost in
            // No number of the time that is lost is another's now.
            for name in ["a", "b", "c"] {
                _ = try await TestDatabase(database.cloud, name).making(zone: "N")
                let engine = try #require(database.cloud.service.openStores.first).engine
                let account = try #require(try await engine.read { try $0.account(named: name) })
                #expect(account.id > lost.account)
                let zones = try await engine.read { try $0.zones(owner: account.owner).map(\.key.id) }
                #expect(!zones.isEmpty && zones.allSatisfy { id in !lost.zones.contains(id) })
            }
        }
    }

    @Test func `a token of a shared zone records the last change when its page was read`() throws {
        let strings = TokenCodec(key: .random(), database: "shared _a", lost: [100...200])
        let position = SharedZoneToken.Position(share: 3, joined: 5, sequence: 40, deletionsKnown: 40)
        for seen: Int64 in [0, 99, 201] {
            let token = SharedZoneToken(zone: 7, positions: [position, position], seen: seen)
            #expect(SharedZoneToken(token.text(strings), strings) == token)
        }
        #expect(
            SharedZoneToken(SharedZoneToken(zone: 7, positions: [position], seen: 100).text(strings), strings) == nil)
        for change in [\SharedZoneToken.Position.share, \.joined, \.sequence, \.deletionsKnown] {
            var lost = position
            lost[keyPath: change] = 150
            #expect(
                SharedZoneToken(SharedZoneToken(zone: 7, positions: [position, lost]).text(strings), strings) == nil)
        }
    }
}
