import NephosStorage
import NephosWire
import Testing

@testable import NephosService

/// A signed save is carried out once while its signature is valid, also at the bound of the outcomes.
@Suite struct SignedOutcomeTests {
    private let cloud: TestCloud

    /// A user of a key has three outcomes, and a store two.
    init() {
        var configuration = ServiceConfiguration()
        configuration.outcomes = OutcomeBounds(perAccount: 3, inAll: 2)
        cloud = TestCloud(configuration)
    }

    /// Sends a save as the user of a server-to-server key, with the request key of its signature.
    private func save(
        _ number: Int, _ user: String = "one", container: String = "iCloud.test"
    ) async throws(ServiceError) -> [RecordResult] {
        var context = cloud.context(user, .public, container: container)
        context.requestKey = "signed-\(user)-\(number)"
        let request = ModifyRecordsRequest(
            operations: [.force("\(user) \(number)", ["n": .int64(Int64(number))])], wantsServerRecord: true)
        let records = try await cloud.service.modifyRecords(request, context).records
        await cloud.service.settle()
        return records
    }

    private func expectThrottled(_ number: Int, _ user: String = "one") async {
        let error = await #expect(throws: ServiceError.self) { _ = try await save(number, user) }
        #expect(error?.code == .throttled)
        #expect((1...1260) ~= error?.retryAfter ?? 0, "\(error?.retryAfter ?? 0)")
    }

    @Test func `a key at the bound gets no new save carried out, and others pay nothing`() async throws {
        var first: [RecordResult] = []
        for number in 0..<3 {
            cloud.advance(milliseconds: 1000)
            let saved = try await save(number)
            #expect(saved.map(\.summary) == ["saved"])
            if number == 0 { first = saved }
        }
        await expectThrottled(3)
        await expectThrottled(4)
        // A repetition has its answer, in either case.
        #expect(try await save(0) == first)
        #expect(try await save(0, "two").map(\.summary) == ["saved"])
        #expect(try await save(3, container: "iCloud.other").map(\.summary) == ["saved"])
        for number in 1..<3 { #expect(try await save(number, "two").map(\.summary) == ["saved"]) }
        await expectThrottled(3, "two")
        #expect(try await save(0) == first)
        await cloud.service.close()
    }

    @Test func `a purge keeps the outcomes while their signatures are valid`() async throws {
        let first = try await save(0)
        for number in 1..<3 { _ = try await save(number) }
        _ = try await save(0, "two")
        cloud.advance(milliseconds: Limits.requestKeyPurgeInterval + 60_000)
        // The save makes the purge due.
        _ = try await save(1, "two")
        try await cloud.settle()
        #expect(try await save(0) == first)
        cloud.advance(milliseconds: Limits.signedOutcomeLifetime)
        #expect(try await save(3).map(\.summary) == ["saved"])
        try await cloud.settle()
        let kept = try await cloud.withStore { store in
            try await store.engine.read { reader in
                let id = try #require(try reader.account(named: "one")).id
                return try (0..<4).filter {
                    try reader.requestKey(account: id, key: "signed-one-\($0)", isSure: true) != nil
                }
            }
        }
        // Beyond the bound the oldest goes.
        #expect(kept.contains(3) && !kept.contains(0))
        await cloud.service.close()
    }

    @Test func `outcomes count by their bytes too`() async throws {
        var configuration = ServiceConfiguration()
        configuration.outcomes = OutcomeBounds(bytesPerAccount: 100)
        let cloud = TestCloud(configuration)
        for user in ["one", "two"] {
            let request = ModifyRecordsRequest(operations: [.force(user)], wantsServerRecord: true)
            func send(_ number: Int) async throws(ServiceError) {
                var context = cloud.context(user, .public)
                context.requestKey = "signed-\(user)-\(number)"
                _ = try await cloud.service.modifyRecords(request, context)
                await cloud.service.settle()
            }
            try await send(0)
            #expect(await code { () async throws(ServiceError) in try await send(1) } == .throttled)
        }
        await cloud.service.close()
    }
}
