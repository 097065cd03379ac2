import NephosStorage
import NephosTesting
import Testing

@testable import NephosService

/// The purge of expired entries of an installation.
@Suite struct InstallationPurgeTests {
    @Test func `a clock that is ahead for seconds purges nothing`() async throws {
        let test = try await TestInstallation(failsForLog: false)
        try await test.installation.audit("event", "x", by: TestInstallation.root)
        await test.installation.finishAudit()
        let purge = Task { await test.installation.purgeExpired() }
        defer { purge.cancel() }
        func advance(_ milliseconds: Int64) async {
            await eventually { test.clock.sleeping > 0 }
            test.clock.advance(milliseconds: milliseconds)
            await eventually { test.clock.sleeping > 0 }
        }
        func batches() async throws -> Int { try await test.installation.verifyAudit(nil).batches }

        for _ in 0..<(Limits.steadyClock / 1000) { await advance(1000) }
        await advance(Limits.auditRetention)
        for _ in 1..<20 { await advance(1000) }
        #expect(try await batches() == 1)
        for _ in 0...(Limits.steadyClock / 1000) { await advance(1000) }
        #expect(try await batches() == 0)
    }

    @Test func `a clock that has just started is not steady`() {
        let half = Limits.steadyClock / 2
        var clock = SteadyClock(at: 5_000_000)
        let found = [1, 2, 4].map { clock.isSteady(at: 5_000_000 + $0 * half, elapsed: half) }
        #expect(found == [false, true, false])
    }

    @Test func `a clock that is corrected slowly takes no step`() {
        var clock = SteadyClock(at: 0)
        let found = (1...700).map { clock.isSteady(at: $0 * 1100, elapsed: 1000) }
        #expect(found.firstIndex(of: true) == 545 && !found[545...].contains(false))
    }
}
