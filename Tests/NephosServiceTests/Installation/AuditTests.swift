import NephosPostgres
import NephosPostgresTesting
import NephosStorage
import NephosTesting
import NephosWire
import Testing

@testable import NephosService

/// The audit of an installation, which is chained in batches.
@Suite struct AuditTests {
    private let test: TestInstallation
    private let token: String

    init() async throws {
        test = try await TestInstallation(failsForLog: false)
        token = try await test.prepare()
    }

    private var installation: Installation { test.installation }

    private func makeBatches(_ count: Int) async throws {
        for _ in 0..<count {
            _ = try await test.signIn(apiToken: token)
            await installation.finishAudit()
            test.clock.advance(milliseconds: 1000)
        }
    }

    private func batch(_ number: Int64) async throws -> InstallationEntry {
        try #require(try await installation.read { try $0.installationEntry(.auditBatch, AuditBatch.name(number)) })
    }

    private func expectProblem(
        _ expected: String, noted: AuditHead? = nil,
        after change: @escaping @Sendable (StorageTransaction) throws -> Void
    ) async throws {
        try await installation.write(change)
        #expect(try await installation.verifyAudit(noted).problem == expected)
    }

    @Test func `an event is listed at once, and chained after a minute`() async throws {
        let before = try await installation.audit(after: 0).events
        #expect(before.map(\.event) == ["container made", "account made", "address verified", "API token made"])
        #expect(try await installation.verifyAudit(nil).batches == 0)
        let server = Task { await installation.chainAudit() }
        await eventually { test.clock.sleeping > 0 }
        test.clock.advance(milliseconds: Limits.auditInterval)
        await eventually { (try? await installation.verifyAudit(nil).batches) ?? 0 > 0 }
        server.cancel()
        await server.value
        #expect(try await installation.audit(after: 0).events == before)
        let found = try await installation.verifyAudit(nil)
        #expect(found.problem == nil && found.since == before.first?.time)
    }

    @Test func `equal events of a batch are one with a count`() async throws {
        await installation.finishAudit()
        for _ in 0..<3 { _ = try await test.signIn(apiToken: token) }
        _ = try await test.signIn(apiToken: token, address: [192, 0, 2, 9])
        await installation.finishAudit()
        let events = try await installation.audit(after: 1).events
        #expect(events.map(\.event) == ["signed in", "signed in"])
        #expect(events.map(\.count) == [3, nil])
        #expect(events.map(\.address) == ["c0000201", "c0000209"])
    }

    @Test func `refusals are in the next batch, without names that were typed`() async throws {
        for name in ["ada@example.org", "my password", "my password"] {
            _ = await code { () async throws(ServiceError) in
                try await test.signIn(name, password: "wrong", apiToken: token)
            }
        }
        installation.noteRefusal("/status", "iCloud.other", by: nil, address: "c0000201")
        installation.noteRefusal("/status", "iCloud.other", by: AuditActor(name: "id:1"), address: "c0000201")
        await installation.finishAudit()
        let id = try await installation.accountID(named: "ada@example.org")
        let refused = Set(
            try await installation.audit(after: 0).events.dropFirst(4).map {
                "\($0.event), \($0.actor), \($0.object), \($0.count ?? 1)"
            })
        #expect(
            refused == [
                "sign-in refused, , \(id), 1", "sign-in refused, , , 2", "refused: /status, , , 1",
                "refused: /status, id:1, iCloud.other, 1",
            ])
    }

    @Test func `refusals of a batch are bounded in number`() async throws {
        for number in 0..<2000 { installation.noteRefusal("/status", "", by: nil, address: "\(number)") }
        await installation.finishAudit()
        var (events, next): ([AuditedEvent], Int64?) = ([], 0)
        while let number = next {
            let page = try await installation.audit(after: number)
            events += page.events
            next = page.next
        }
        #expect(events.filter { $0.event == "refused: /status" }.count == 500)
        #expect(events.first { $0.event == "more refusals" }?.count == 1500)
    }

    @Test(arguments: [0, 1, 21])
    func `pages from the newest to the oldest have each event once, in their order`(batches: Int) async throws {
        try await makeBatches(batches)
        _ = try await test.signIn(apiToken: token)
        let all = try await installation.audit(after: 0)
        var expected = all.events
        var next = all.next
        while let number = next {
            let page = try await installation.audit(after: number)
            expected += page.events
            next = page.next
        }
        let newest = try await installation.audit(before: nil)
        var (found, previous, pages) = (newest.events, newest.previous, 1)
        while let number = previous {
            let page = try await installation.audit(before: number)
            found = page.events + found
            (previous, pages) = (page.previous, pages + 1)
        }
        #expect(found == expected && newest.events.last == expected.last)
        #expect(pages == max(1, (batches + Limits.auditBatchesPerPage - 1) / Limits.auditBatchesPerPage))
        #expect(try await installation.audit(before: 1).events.isEmpty)
        let pending = batches == 0 ? newest.events.count : 1
        #expect(try await installation.audit(before: .max).events == newest.events.dropLast(pending))
    }

    @Test func `a batch that was changed or removed is found`() async throws {
        try await makeBatches(4)
        #expect(try await installation.verifyAudit(nil).problem == nil)
        let second = try await batch(2)
        var changed = second
        changed.body = Array(
            String(decoding: second.body, as: UTF8.self).replacing("signed in", with: "signed up").utf8)
        try await expectProblem("batch 2 of the audit was changed") { [changed] in try $0.put(changed) }
        #expect(
            try await InstallationVerification(installation.engine, installation.environment).run().problems
                == ["batch 2 of the audit was changed"])
        try await expectProblem("batch 2 of the audit is missing") {
            try $0.removeInstallationEntry(.auditBatch, second.name)
        }
        try await installation.write { try $0.put(second) }
        #expect(try await installation.verifyAudit(nil).problem == nil)
        let last = AuditBatch.name(4)
        try await expectProblem("batch 4 of the audit is missing") {
            try $0.removeInstallationEntry(.auditBatch, last)
        }
    }

    @Test func `the oldest batches may be missing after a year alone`() async throws {
        try await makeBatches(3)
        let first = try await batch(1)
        try await expectProblem("batch 1 of the audit is missing") {
            try $0.removeInstallationEntry(.auditBatch, first.name)
        }
        test.clock.advance(milliseconds: Limits.auditRetention)
        #expect(try await installation.verifyAudit(nil).problem == nil)
        // After a year without events none is left.
        try await installation.write { [now = test.clock.now] in
            _ = try $0.purgeInstallationEntries(expiredBy: now, limit: 1000)
        }
        let found = try await installation.verifyAudit(nil)
        #expect(found.problem == nil && found.batches == 0)
        try await makeBatches(1)
        #expect(try await installation.verifyAudit(nil).problem == nil)
        let last = AuditBatch.name(4)
        try await expectProblem("batch 4 of the audit is missing") {
            try $0.removeInstallationEntry(.auditBatch, last)
        }
        #expect(
            try await InstallationVerification(installation.engine, installation.environment).run().problems
                == ["batch 4 of the audit is missing"])
    }

    @Test func `who cuts the audit and mends the chain differs from the log`() async throws {
        try await makeBatches(3)
        let logged = try #require(try await installation.verifyAudit(nil).head.flatMap(AuditHead.init))
        #expect(logged.number == 3)
        let second = try await batch(2)
        try await installation.write {
            try $0.removeInstallationEntry(.auditBatch, AuditBatch.name(3))
            try $0.put(AuditHead(number: 2, hash: AuditBatch.hash(second)), AuditHead.name)
        }
        #expect(try await installation.verifyAudit(nil).problem == nil)
        let expected = "batch 3 is missing, or not the one that the log had"
        #expect(try await installation.verifyAudit(logged).problem == expected)
        // Another third batch is not the logged one.
        try await makeBatches(1)
        #expect(try await installation.verifyAudit(nil).problem == nil)
        #expect(try await installation.verifyAudit(logged).problem == expected)
        #expect(try await installation.verifyAudit(AuditHead(number: 2, hash: AuditBatch.hash(second))).problem == nil)
    }

    @Test func `old batches are purged from the beginning`() async throws {
        try await makeBatches(2)
        test.clock.advance(milliseconds: Limits.auditRetention / 2)
        try await makeBatches(2)
        test.clock.advance(milliseconds: Limits.auditRetention / 2)
        try await installation.write { [now = test.clock.now] in
            _ = try $0.purgeInstallationEntries(expiredBy: now, limit: 1000)
        }
        let found = try await installation.verifyAudit(nil)
        #expect(found.problem == nil && found.batches == 2)
        #expect(found.head?.hasPrefix("4:") == true)
    }

    @Test(.overPostgreSQL) func `two servers chain what either has`() async throws {
        let stores = try PostgresStores(TestCluster.address.get(), options: TestCluster.options(connections: 4))
        let test = try await TestInstallation(stores, failsForLog: false)
        let other = try await test.again()
        for (number, server) in [test.installation, other, other, test.installation].enumerated() {
            try await server.audit("event \(number)", "x", by: TestInstallation.root)
            if number != 1 { await server.finishAudit() }
        }
        async let first: Void = test.installation.finishAudit()
        async let second: Void = other.finishAudit()
        _ = await (first, second)
        let found = try await other.verifyAudit(nil)
        #expect(found.problem == nil && found.batches == 3)
        let events = try await other.audit(after: 0).events.map(\.event)
        #expect(events.count == 4 && Set(events) == Set((0..<4).map { "event \($0)" }))
        await other.close()
        await test.installation.close()
        stores.close()
    }

    @Test func `a head is a number and a hash`() {
        let hash = String(repeating: "a", count: 64)
        #expect(AuditHead("17:\(hash)")?.number == 17)
        for text in ["", "17", "17:", ":\(hash)", "0:\(hash)", "-1:\(hash)", "17:abc", "x:\(hash)", "1:2:\(hash)"] {
            #expect(AuditHead(text) == nil, "\(text)")
        }
    }
}
