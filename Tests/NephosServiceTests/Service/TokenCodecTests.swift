import NephosCrypto
import NephosPostgresTesting
import NephosSQLite
import NephosStorage
import NephosWire
import Testing

@testable import NephosService

/// Opaque strings are accepted only as they were issued.
@Suite struct TokenCodecTests {
    private static let query = Query(
        recordType: "Place",
        sortBy: [
            QuerySortDescriptor(
                .field("at"), relativeLocation: LocationValue(latitude: 47, longitude: 8))
        ])

    private func places(_ secret: [UInt8] = [UInt8](repeating: 7, count: 32)) async throws -> QueryCloud {
        let cloud = QueryCloud(secret: secret)
        let records = (0..<6).map { number in
            RecordOperation.create(
                "p\(number)", ["at": .location(LocationValue(latitude: 47, longitude: 8 + Double(number)))],
                type: "Place")
        }
        try await cloud.modify(records + [.create("nowhere", type: "Place")])
        return cloud
    }

    /// The code that a marker gets; nil for a page.
    private func code(_ marker: String, of query: Query = Self.query, _ cloud: QueryCloud) async -> ServiceError
        .ClientCode?
    {
        do throws(ServiceError) {
            _ = try await cloud.page(query, limit: 2, marker: marker)
            return nil
        } catch {
            #expect(error.code == .badRequest)
            return error.clientCode
        }
    }

    @Test func `a continuation marker is valid only for its query, account and store`() async throws {
        let cloud = try await places()
        let marker = try #require(try await cloud.page(Self.query, limit: 2).continuationMarker)
        #expect(await code(marker, cloud) == nil)
        var other = Self.query
        other.sortBy = []
        #expect(await code(marker, of: other, cloud) == .invalidArguments)
        #expect(await code(marker, try await places([UInt8](repeating: 8, count: 32))) == .invalidArguments)
        let request = QueryRecordsRequest(query: Self.query, continuationMarker: marker)
        for (account, scope) in [("somebody", DatabaseScope.private), ("me", .public)] {
            var context = cloud.context
            (context.account, context.scope) = (account, scope)
            let error = await #expect(throws: ServiceError.self) {
                try await cloud.service.queryRecords(request, context)
            }
            // The types of the public database are those of the private one.
            #expect(error?.clientCode == .invalidArguments)
        }
    }

    @Test func `a marker with any byte changed is refused`() async throws {
        let cloud = try await places()
        let marker = try #require(try await cloud.page(Self.query, limit: 2).continuationMarker)
        for index in marker.indices {
            for replacement in ["A", "w", "_"] where replacement != String(marker[index]) {
                let forged = String(marker[..<index]) + replacement + String(marker[marker.index(after: index)...])
                #expect(await code(forged, cloud) == .invalidArguments)
            }
        }
        for forged in ["", "A", "====", "nul\0", "é", String(repeating: "A", count: 100_000)] {
            #expect(await code(forged, cloud) == .invalidArguments)
        }
    }

    /// As the one who has the store's secret would write them: that they are authenticated is not all that keeps queries
    /// from running for ever.
    @Test(arguments: [-1e308, -1, .infinity, -.infinity, .nan, 1e308, .leastNonzeroMagnitude])
    func `a marker with any distance leads to an end`(distance: Double) async throws {
        let cloud = try await places()
        let user = try await cloud.service.currentUser(cloud.context).userRecordName
        let strings = TokenCodec(
            key: try #require(AuthenticationKey([UInt8](repeating: 7, count: 32))), database: "private \(user)")
        let decoded = DecodedQuery(QueryRecordsRequest(query: Self.query))
        let key = OrderedBytes.coordinate(distance)
        for key in [key, [], Array(key.prefix(3)), key + key] {
            let cursor = QueryCursor(
                phase: .ordered(QueryPosition(key: key, name: "p", zone: 1)), start: 1, given: GivenRecords(),
                order: nil)
            var marker: String? = cursor.text(strings, query: decoded.text.bytes)
            var pages = 0
            while let next = marker, pages < 20 {
                marker = try await cloud.page(Self.query, limit: 2, marker: next).continuationMarker
                pages += 1
            }
            #expect(pages < 20)
        }
    }

    @Test func `the end marker of a fetch is not a token to start another with`()
        async throws
    {
        let database = try await TestDatabase(TestCloud()).making(zone: "Z")
        _ = try await database.modify((0..<4).map { .create("n\($0)") })
        let page = try await database.changes(limit: 2)
        let end = try #require(page.fetchEnd)
        await #expect(throws: ServiceError.changeTokenExpired) { try await database.changes(since: end) }
        // A token may bound a fetch.
        let bounded = try await database.changes(limit: 200, fetchEnd: page.syncToken)
        #expect(bounded.records.count == 2 && !bounded.moreComing)
        await #expect(throws: ServiceError.changeTokenExpired) { try await database.databaseChanges(since: end) }
        let token = try await database.databaseChanges().syncToken
        await #expect(throws: ServiceError.changeTokenExpired) { try await database.changes(since: token) }
    }

    @Test func `a token is refused for another account, container or zone`() async throws {
        let cloud = TestCloud()
        let mine = try await TestDatabase(cloud).making(zone: "Z")
        let theirs = try await TestDatabase(cloud, "you").making(zone: "Z")
        let token = try await mine.databaseChanges().syncToken
        await #expect(throws: ServiceError.changeTokenExpired) { try await theirs.databaseChanges(since: token) }
        let elsewhere = try await TestDatabase(TestCloud()).making(zone: "Z")
        await #expect(throws: ServiceError.changeTokenExpired) { try await elsewhere.databaseChanges(since: token) }
    }

    @Test func `tokens outlive the process because the secret is stored`() async throws {
        let stores = TemporaryStores()
        defer { stores.remove() }
        var token: String?
        for round in 0..<2 {
            let cloud = TestCloud(ServiceConfiguration(), stores: try stores.open())
            let database = round == 0 ? try await TestDatabase(cloud).making(zone: "Z") : TestDatabase(cloud, zone: "Z")
            if round == 0 {
                _ = try await database.modify([.create("a")])
                token = try await database.changes().syncToken
                _ = try await database.modify([.create("b")])
            } else {
                #expect(try await database.changes(since: token).summary == ["b"])
            }
            await cloud.service.close()
        }
    }

    @Test func `a token of lost changes has expired`() throws {
        let strings = TokenCodec(key: .random(), database: "private _a")
        let token = ChangeToken(feed: .zone(3), sequence: 12).text(strings)
        for last in [Int64(11), 12, 13] {
            let position = try? FeedPosition(
                .zone(3), token: token, fetchEnd: nil, strings, last: last, forgotten: 0)
            #expect((position != nil) == (last >= 12))
        }
    }

    @Test func `a change token round-trips, and other bytes do not decode`() {
        let tokens = [
            ChangeToken(feed: .database, sequence: 0), ChangeToken(feed: .zone(7), sequence: .max),
            ChangeToken(feed: .database, sequence: 3, firstFetchEnd: 9),
            ChangeToken(feed: .zone(1 << 40), sequence: 1, firstFetchEnd: .max),
        ]
        for token in tokens {
            #expect(ChangeToken(bytes: token.bytes) == token)
            for count in 0..<token.bytes.count { #expect(ChangeToken(bytes: Array(token.bytes.prefix(count))) == nil) }
            #expect(ChangeToken(bytes: token.bytes + [0]) == nil)
        }
        #expect(ChangeToken(bytes: ChangeToken(feed: .database, sequence: -1).bytes) == nil)
    }

    @Test func `an administrator's list accepts only its own markers`() async throws {
        let cloud = TestCloud()
        _ = try await TestDatabase(cloud).making(zone: "Z")
        for marker in ["0", "1", "-9223372036854775808", "x", ""] {
            let error = await #expect(throws: ServiceError.self) {
                try await cloud.service.listAccountZones(
                    ListAccountZonesRequest(account: nil, continuationMarker: marker), cloud.context())
            }
            #expect(error?.clientCode == .invalidArguments)
        }
    }
}
