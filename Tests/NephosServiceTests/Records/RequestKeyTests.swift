import NephosStorage
import NephosWire
import Testing

@testable import NephosService

/// A request that is repeated with its key is carried out once.
@Suite struct RequestKeyTests {
    private func modify(
        _ database: TestDatabase, _ key: String, _ operations: [RecordOperation], digest: [UInt8] = [],
        atomic: Bool? = nil
    ) async throws -> [RecordResult] {
        var request = ModifyRecordsRequest(
            operations: operations, zoneID: database.zoneID, atomic: atomic, wantsServerRecord: true)
        request.requestKey = key
        request.bodyDigest = digest
        return try await database.cloud.service.modifyRecords(request, database.context).records
    }

    @Test func `a repetition gets the first answer and changes nothing`() async throws {
        let cloud = TestCloud()
        let database = TestDatabase(cloud)
        let first = try await modify(database, "k1", [.create(nil, ["n": .int64(1)]), .create("a")])
        #expect(first.map(\.summary) == ["saved", "saved"])
        // Another client's change does not matter.
        _ = try await database.modify([.force("a", ["n": .int64(7)])])
        let again = try await modify(database, "k1", [.create(nil, ["n": .int64(1)]), .create("a")])
        #expect(again == first)
        #expect(try await database.lookup("a")[0].record?.fields.decoded()["n"]?.value == .int64(7))
        // Where both may win, it does not either.
        _ = try await modify(database, "k2", [.force("a", ["n": .int64(8)])])
        _ = try await database.modify([.force("a", ["n": .int64(9)])])
        _ = try await modify(database, "k2", [.force("a", ["n": .int64(8)])])
        #expect(try await database.lookup("a")[0].record?.fields.decoded()["n"]?.value == .int64(9))
        await cloud.service.close()
    }

    @Test func `what was refused in part is so again, and what was refused is tried again`() async throws {
        let cloud = TestCloud()
        let database = TestDatabase(cloud)
        _ = try await database.modify([.create("a")])
        let mixed = try await modify(database, "mixed", [.create("a"), .create("b")], atomic: false)
        #expect(mixed.map(\.summary) == ["error 14", "saved"])
        _ = try await database.modify([.delete("a")])
        #expect(try await modify(database, "mixed", [.create("a"), .create("b")], atomic: false) == mixed)
        #expect(try await modify(database, "refused", [.create("b")]).map(\.summary) == ["error 14"])
        _ = try await database.modify([.delete("b")])
        #expect(try await modify(database, "refused", [.create("b")]).map(\.summary) == ["saved"])
        await cloud.service.close()
    }

    @Test func `a key is one account's and one request's`() async throws {
        let cloud = TestCloud()
        let (mine, others) = (TestDatabase(cloud, "me"), TestDatabase(cloud, "you"))
        #expect(try await modify(mine, "k", [.create("a")], digest: [1]).map(\.summary) == ["saved"])
        #expect(try await modify(others, "k", [.create("a")], digest: [2]).map(\.summary) == ["saved"])
        let error = await #expect(throws: ServiceError.self) {
            _ = try await modify(mine, "k", [.create("b")], digest: [2])
        }
        #expect(error?.reason.contains("another request") == true)
        #expect(try await mine.existing("b") == [])
        for wrong in ["", "a b", "ü", String(repeating: "k", count: 65)] {
            let error = await #expect(throws: ServiceError.self) { _ = try await modify(mine, wrong, [.create("b")]) }
            #expect(error?.reason.contains("nephosRequestKey") == true)
        }
        await cloud.service.close()
    }

    @Test func `requests with one key at the same time are one`() async throws {
        let cloud = TestCloud()
        let database = TestDatabase(cloud)
        _ = try await database.modify([.create("other")])
        let answers = try await withThrowingTaskGroup(of: [RecordResult].self) { group in
            for _ in 0..<8 { group.addTask { try await modify(database, "k", [.create(nil, ["n": .int64(1)])]) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(answers.compactMap { $0.first?.record?.recordName }).count == 1)
        await cloud.service.close()
    }

    @Test func `an outcome is kept for an hour`() async throws {
        let cloud = TestCloud()
        let database = TestDatabase(cloud)
        _ = try await modify(database, "k", [.force("a", ["n": .int64(1)])])
        let engine = try #require(cloud.service.openStores.first).engine
        func kept() async throws -> Bool { try await engine.read { try $0.requestKeyTime(behind: 0) } != nil }
        cloud.advance(milliseconds: Limits.requestKeyLifetime)
        _ = try await modify(database, "k", [.force("a", ["n": .int64(1)])])
        await cloud.service.settle()
        #expect(try await kept())
        cloud.advance(milliseconds: Limits.requestKeyPurgeInterval + 1)
        _ = try await database.modify([.force("a")])
        await cloud.service.settle()
        #expect(try await !kept())
        await cloud.service.close()
    }
}
