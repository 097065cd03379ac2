import CloudKit
import CloudKitTesting
import Foundation
import Testing

@Suite(.cloud) struct CloudClockTests {
    private func modified(_ name: String) async throws -> Date {
        let record = try await CKContainer.default().privateCloudDatabase.save(
            CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name)))
        return try #require(record.modificationDate)
    }

    @Test func `the service's times follow the clock`() async throws {
        let clock = try LocalCloud.current.clock
        clock.pause()
        let (before, time) = (clock.date, try await modified("a"))
        #expect(abs(time.timeIntervalSince(before)) < 0.002)
        clock.advance(by: .seconds(86_400))
        #expect(try await modified("b").timeIntervalSince(time) == 86_400)
    }

    @Test func `a sleeper continues once the clock has advanced, and not before`() async throws {
        let clock = try LocalCloud.current.clock
        clock.pause()
        let events = Box<[String]>([])
        let sleeper = Task {
            try await clock.sleep(for: .seconds(3600))
            events.value.append("awake")
        }
        let early = Task { try await clock.sleep(for: .seconds(60)) }
        while !early.isCancelled, clock.sleeperCount < 2 { await Task.yield() }
        clock.advance(by: .seconds(60))
        try await early.value
        #expect(events.value.isEmpty)
        clock.advance(by: .seconds(3540))
        try await sleeper.value
        #expect(events.value == ["awake"])
    }

    @Test(.timeLimit(.minutes(1))) func `an advance of a running clock brings later sleepers forward`() async throws {
        let clock = try LocalCloud.current.clock
        let sleeper = Task { try await clock.sleep(for: .seconds(3600)) }
        while clock.sleeperCount < 1 { await Task.yield() }
        // The rest passes by itself.
        clock.advance(by: .milliseconds(3_599_900))
        try await sleeper.value
    }

    @Test func `a cancelled sleeper wakes`() async throws {
        let clock = try LocalCloud.current.clock
        clock.pause()
        let sleeper = Task { try await clock.sleep(for: .seconds(3600)) }
        sleeper.cancel()
        await #expect(throws: CancellationError.self) { try await sleeper.value }
        #expect(clock.sleeperCount == 0)
    }

    @Test func `a clock that runs wakes by itself`() async throws {
        let clock = try LocalCloud.current.clock
        clock.pause()
        let sleeper = Task { try await clock.sleep(for: .milliseconds(5)) }
        while clock.sleeperCount < 1 { await Task.yield() }
        clock.resume()
        try await sleeper.value
    }
}
