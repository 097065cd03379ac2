import NephosPostgresTesting
import NephosWire
import Testing

@testable import NephosService

struct FetchOfSeveralPagesTests {
    private func customZone() async throws -> TestDatabase {
        try await TestDatabase(TestCloud()).making(zone: "Z")
    }

    @Test func `a record that changes during a fetch comes in the next fetch, not twice in this one`() async throws {
        let database = try await customZone()
        _ = try await database.modify(["a", "b", "c", "d"].map { .create($0) })
        let first = try await database.changes(limit: 2)
        #expect(first.summary == ["a", "b"] && first.moreComing)
        _ = try await database.modify([.force("a", ["x": .int64(1)]), .force("d", ["x": .int64(1)]), .create("e")])
        let second = try await database.changes(since: first.syncToken, limit: 2, fetchEnd: first.fetchEnd)
        #expect(second.summary == ["c"])
        var end = second
        if end.moreComing { end = try await database.changes(since: end.syncToken, fetchEnd: end.fetchEnd) }
        #expect(!end.moreComing && end.fetchEnd == nil)
        #expect(try await database.changes(since: end.syncToken).summary == ["a", "d", "e"])
    }

    @Test func `without the fetch's end marker a page has all later changes`() async throws {
        let database = try await customZone()
        _ = try await database.modify([.create("a"), .create("b")])
        let first = try await database.changes(limit: 1)
        _ = try await database.modify([.force("a", ["x": .int64(1)])])
        #expect(try await database.changes(since: first.syncToken).summary == ["b", "a"])
    }

    @Test func `the end marker of another zone's fetch, or garbage, has expired`() async throws {
        let database = try await customZone()
        _ = try await database.modify([.create("a"), .create("b")])
        let first = try await database.changes(limit: 1)
        let other = try await database.making(zone: "Other")
        _ = try await other.modify([.create("a"), .create("b")])
        let end = try await other.changes(limit: 1).fetchEnd
        #expect(end != nil)
        for fetchEnd in [end, "garbage", ""] {
            await #expect(throws: ServiceError.changeTokenExpired) {
                try await database.changes(since: first.syncToken, fetchEnd: fetchEnd)
            }
        }
    }

    @Test func `a first fetch of several pages omits earlier deletions`() async throws {
        let database = try await customZone()
        _ = try await database.modify((0..<6).map { .create("n\($0)") })
        _ = try await database.modify([.delete("n1"), .delete("n4")])
        let first = try await database.changes(limit: 2)
        #expect(first.summary == ["n0", "n2"])
        _ = try await database.modify([.delete("n0"), .delete("n5")])
        let rest = try await database.changes(since: first.syncToken)
        #expect(rest.summary == ["n3", "-n0", "-n5"] && !rest.moreComing)
        #expect(try await database.changes(since: rest.syncToken).summary == [])
    }

    @Test func `a page ends when its records fill an answer`() async throws {
        let database = try await customZone()
        let text = String(repeating: "x", count: 300_000)
        for name in 0..<20 { _ = try await database.modify([.create("n\(name)", ["text": .string(text)])]) }
        var (names, token, more, pages): ([String], String?, Bool, Int) = ([], nil, true, 0)
        while more {
            let page = try await database.changes(since: token)
            #expect(RecordChangesResponse(changes: page).encoded().count < Limits.changesSize + 400_000)
            names += page.summary
            (token, more, pages) = (page.syncToken, page.moreComing, pages + 1)
        }
        #expect(names == (0..<20).map { "n\($0)" } && pages == 3)
    }

    @Test func `one answer for many zones is bounded, and every zone makes progress`() async throws {
        let cloud = TestCloud()
        var zones: [TestDatabase] = []
        let text = String(repeating: "x", count: 400_000)
        for name in 0..<9 {
            let zone = try await TestDatabase(cloud).making(zone: "Z\(name)")
            _ = try await zone.modify([.create("a", ["text": .string(text)]), .create("b", ["text": .string(text)])])
            zones.append(zone)
        }
        func fetch(_ tokens: [String?]) async throws -> [RecordZoneChanges] {
            let request = RecordZoneChangesRequest(
                zones: zip(zones, tokens).map { .init(zoneID: $0.zoneID ?? .defaultZone, syncToken: $1) })
            return try await cloud.service.recordZoneChanges(request, cloud.context()).zones.compactMap { zone in
                if case .changes(let changes) = zone { changes } else { nil }
            }
        }
        let first = try await fetch(Array(repeating: nil, count: 9))
        #expect(first.map(\.records.count) == [2, 2, 2, 1, 1, 1, 1, 1, 1])
        #expect(first.map(\.moreComing) == first.map { $0.records.count == 1 })
        let second = try await fetch(first.map(\.syncToken))
        #expect(second.map(\.summary) == first.map { $0.moreComing ? ["b"] : [] })
        let tooMany = RecordZoneChangesRequest(zones: Array(repeating: .init(zoneID: .defaultZone), count: 401))
        let error = await #expect(throws: ServiceError.self) {
            try await cloud.service.recordZoneChanges(tooMany, cloud.context())
        }
        #expect(error?.clientCode == .limitExceeded)
    }

    @Test func `a database's fetch of several pages has every zone once, and omits zones deleted before`() async throws
    {
        let database = TestDatabase(TestCloud())
        for name in ["A", "B", "C", "D", "E"] { _ = try await database.making(zone: name) }
        try await database.deleteZone("B")
        let first = try await database.databaseChanges(limit: 2)
        #expect(first.summary == ["A", "C"] && first.moreComing)
        _ = try await database.making(zone: "A").modify([.create("a")])
        try await database.deleteZone("D")
        let second = try await database.databaseChanges(since: first.syncToken, fetchEnd: first.fetchEnd)
        #expect(second.summary == ["E"] && !second.moreComing)
        let third = try await database.databaseChanges(since: second.syncToken)
        #expect(third.summary == ["A", "-D"])
    }
}
