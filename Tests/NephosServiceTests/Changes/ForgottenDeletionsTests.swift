import NephosPostgresTesting
import NephosWire
import Testing

@testable import NephosService

struct ForgottenDeletionsTests {
    private static let day: Int64 = 24 * 60 * 60 * 1000
    private let cloud = TestCloud(deletionRetention: 10 * day)

    private func customZone() async throws -> TestDatabase { try await TestDatabase(cloud).making(zone: "Z") }

    @Test func `a token from before a purged tombstone has expired, a newer one has not`() async throws {
        let database = try await customZone()
        _ = try await database.modify([.create("a"), .create("b"), .create("c")])
        let before = try await database.changes().syncToken
        _ = try await database.modify([.delete("b")])
        let after = try await database.changes(since: before).syncToken
        let later = try await database.changes().syncToken
        cloud.advance(milliseconds: 9 * Self.day)
        try await cloud.settle()
        #expect(try await database.changes(since: before).summary == ["-b"])
        cloud.advance(milliseconds: 2 * Self.day)
        try await cloud.settle()
        await #expect(throws: ServiceError.changeTokenExpired) { try await database.changes(since: before) }
        for token in [after, later] { #expect(try await database.changes(since: token).summary == []) }
        let again = try await database.changes()
        #expect(again.summary == ["a", "c"])
        #expect(try await database.changes(since: again.syncToken).summary == [])
    }

    @Test func `changing records is enough to purge old tombstones`() async throws {
        let database = try await customZone()
        _ = try await database.modify([.create("a"), .create("b")])
        let token = try await database.changes().syncToken
        _ = try await database.modify([.delete("a")])
        try await cloud.settle()
        cloud.advance(milliseconds: 11 * Self.day)
        _ = try await database.modify([.create("c")])
        try await cloud.settle()
        await #expect(throws: ServiceError.changeTokenExpired) { try await database.changes(since: token) }
    }

    @Test(.timeLimit(.minutes(15)))
    func `old tombstones are purged periodically in an idle store`() async throws {
        let database = try await customZone()
        _ = try await database.modify([.create("a")])
        let token = try await database.changes().syncToken
        _ = try await database.modify([.delete("a")])
        try await cloud.settle()
        let forgetting = Task { await cloud.service.forgetOldDeletions() }
        defer { forgetting.cancel() }
        cloud.advance(milliseconds: 11 * Self.day)
        var error: ServiceError?
        while error == nil {
            // Until the clock's next tick comes after the wait for it has begun.
            cloud.advance(milliseconds: Limits.purgeInterval)
            do throws(ServiceError) {
                _ = try await database.changes(since: token)
            } catch let failure {
                error = failure
            }
        }
        #expect(error == .changeTokenExpired)
    }

    @Test func `an administrator purges a container's tombstones older than a given age`() async throws {
        let database = try await customZone()
        _ = try await database.modify([.create("a"), .create("b")])
        let token = try await database.changes().syncToken
        _ = try await database.modify([.delete("a")])
        cloud.advance(milliseconds: 2 * Self.day)
        _ = try await database.modify([.delete("b")])
        let forget = cloud.service.forgetDeletions(_:_:)
        var forgotten = try await forget(ForgetDeletionsRequest(olderThan: 3 * Self.day), cloud.context())
        #expect(forgotten == ForgetDeletionsResponse(records: 0, zones: 0))
        #expect(try await database.changes(since: token).summary == ["-a", "-b"])
        forgotten = try await forget(ForgetDeletionsRequest(olderThan: Self.day), cloud.context())
        #expect(forgotten == ForgetDeletionsResponse(records: 1, zones: 0))
        await #expect(throws: ServiceError.changeTokenExpired) { try await database.changes(since: token) }
        forgotten = try await forget(ForgetDeletionsRequest(olderThan: 0), cloud.context())
        #expect(forgotten == ForgetDeletionsResponse(records: 1, zones: 0))
        forgotten = try await forget(ForgetDeletionsRequest(olderThan: .max), cloud.context())
        #expect(forgotten == ForgetDeletionsResponse(records: 0, zones: 0))
        let error = await #expect(throws: ServiceError.self) {
            try await forget(ForgetDeletionsRequest(olderThan: 0), cloud.context(container: "iCloud.misspelt"))
        }
        #expect(error?.clientCode == .badContainer)
    }

    @Test func `a first fetch does not expire when tombstones are purged meanwhile`() async throws {
        let database = try await customZone()
        _ = try await database.modify([.create("a"), .create("b"), .create("c")])
        _ = try await database.modify([.delete("b")])
        let first = try await database.changes(limit: 1)
        try await cloud.service.forgetDeletions(before: .max)
        let second = try await database.changes(since: first.syncToken)
        #expect(first.summary == ["a"] && second.summary == ["c"])
        _ = try await database.modify([.delete("c")])
        try await cloud.service.forgetDeletions(before: .max)
        await #expect(throws: ServiceError.changeTokenExpired) { try await database.changes(since: first.syncToken) }
        await #expect(throws: ServiceError.changeTokenExpired) { try await database.changes(since: second.syncToken) }
    }

    @Test func `a zone of purged tombstones only gives a valid token`() async throws {
        let database = try await customZone()
        _ = try await database.modify([.create("a")])
        _ = try await database.modify([.delete("a")])
        try await cloud.service.forgetDeletions(before: .max)
        let page = try await database.changes()
        #expect(page.summary == [] && !page.moreComing)
        #expect(try await database.changes(since: page.syncToken).summary == [])
    }

    @Test func `the database's tokens expire with purged zone tombstones`() async throws {
        let database = try await customZone()
        _ = try await database.making(zone: "Gone").modify([.create("a")])
        let before = try await database.databaseChanges().syncToken
        try await database.deleteZone("Gone")
        let after = try await database.databaseChanges().syncToken
        try await cloud.settle()
        try await cloud.service.forgetDeletions(before: .max)
        await #expect(throws: ServiceError.changeTokenExpired) { try await database.databaseChanges(since: before) }
        #expect(try await database.databaseChanges(since: after).summary == [])
        let again = try await database.databaseChanges()
        #expect(again.summary == ["Z"])
        #expect(try await database.databaseChanges(since: again.syncToken).summary == [])
        let other = TestDatabase(cloud, "you")
        #expect(try await other.databaseChanges(since: try await other.databaseChanges().syncToken).summary == [])
    }

    @Test func `without a retention period nothing is purged`() async throws {
        let cloud = TestCloud(deletionRetention: nil)
        let database = try await TestDatabase(cloud).making(zone: "Z")
        _ = try await database.modify([.create("a")])
        let token = try await database.changes().syncToken
        _ = try await database.modify([.delete("a")])
        cloud.advance(milliseconds: 10_000 * Self.day)
        try await cloud.settle()
        #expect(try await database.changes(since: token).summary == ["-a"])
    }

    @Test func `zones that the user deleted are reported with the reason, until they are made again`() async throws {
        let database = try await customZone()
        for name in ["A", "B"] { _ = try await database.making(zone: name).modify([.create("a")]) }
        let token = try await database.databaseChanges().syncToken
        func remove(_ names: [String]?, _ reason: ZoneDeletionReason) async throws(ServiceError) -> [String] {
            try await cloud.service.removeZones(named: names, reason: reason, cloud.context())
        }
        #expect(try await remove(["A"], .encryptedDataReset) == ["A"])
        await #expect(throws: ServiceError.zoneNotFound("A")) { try await remove(["B", "A"], .purged) }
        #expect(try await remove(nil, .purged) == ["B", "Z"])
        let page = try await database.databaseChanges(since: token)
        #expect(
            page.zones.map(\.deletionReason) == [.encryptedDataReset, .purged, .purged]
                && page.summary == ["-A", "-B", "-Z"])
        let error = await #expect(throws: ServiceError.self) { try await database.changes() }
        #expect(error?.clientCode == .userDeletedZone && error?.code == .zoneNotFound)
        var reset = database
        reset.zone = "A"
        let other = await #expect(throws: ServiceError.self) { try await reset.lookup("a") }
        #expect(other?.clientCode == .zoneNotFound && other?.userDidResetEncryptedData == true)
        #expect(try await reset.modify([.create("a")]).first?.error?.userDidResetEncryptedData == true)
        let again = try await database.making(zone: "Z")
        #expect(try await again.changes().summary == [])
        #expect(try await database.databaseChanges(since: token).summary == ["-A", "-B", "Z"])
    }
}
