import CloudKitTesting
import NephosWire
import Testing

@testable import CloudKit

/// When an automatic engine works, and when it retries.
@Suite(.timeLimit(.minutes(10))) struct SyncSchedulerTests {
    private let zoneID = CKRecordZone.ID(zoneName: "Z")

    /// A scheduler whose first job ends with `outcome`, and its later jobs. Its retries never come.
    private struct Scheduler {
        let scheduler: SyncScheduler
        private let asleep = AsyncStream<Double>.makeStream()
        private let jobs = AsyncStream<SyncScheduler.Job>.makeStream()

        init(firstJob outcome: SyncScheduler.Outcome) {
            let (asleep, jobs, isFirst) = (asleep, jobs, Box(true))
            scheduler = SyncScheduler(
                SyncEngineEnvironment(sleep: { seconds in
                    asleep.continuation.yield(seconds)
                    try await Task.sleep(for: .seconds(86_400))
                }))
            scheduler.start { job in
                defer { isFirst.value = false }
                if isFirst.value { return outcome }
                jobs.continuation.yield(job)
                return .init(succeeded: job.work)
            }
        }

        /// Waits until the scheduler sleeps. Returns the seconds.
        func sleep() async -> Double? {
            var iterator = asleep.stream.makeAsyncIterator()
            return await iterator.next()
        }

        func nextJob() async -> SyncScheduler.Job? {
            var iterator = jobs.stream.makeAsyncIterator()
            return await iterator.next()
        }
    }

    @Test func `work of another account does not wait for a retry`() async throws {
        let scheduler = Scheduler(firstJob: .init(retries: [.init(work: .send, after: 86_400)]))
        scheduler.scheduler.schedule(.send)
        #expect(await scheduler.sleep() == 86_400)
        scheduler.scheduler.scheduleNow(.fetch)
        #expect(await scheduler.nextJob()?.work == [.fetch, .send])
        scheduler.scheduler.stop()
    }

    @Test func `a fetch does not wait for the retry of a send, and a send does`() async throws {
        let scheduler = Scheduler(firstJob: .init(retries: [.init(work: .send)]))
        scheduler.scheduler.schedule(.send)
        #expect(await scheduler.sleep() == 1)
        scheduler.scheduler.schedule([.send, .fetch])
        #expect(await scheduler.nextJob()?.work == .fetch)
        scheduler.scheduler.stop()
    }

    @Test func `a send of other zones does not wait for the retry of a zone`() async throws {
        let scheduler = Scheduler(firstJob: .init(retries: [.init(work: .send, zoneIDs: [zoneID])]))
        scheduler.scheduler.schedule(.send)
        #expect(await scheduler.sleep() == 1)
        scheduler.scheduler.schedule(.send)
        let job = await scheduler.nextJob()
        #expect(job?.work == .send && job?.heldZoneIDs(.send) == [zoneID] && job?.heldZoneIDs(.fetch) == [])
        scheduler.scheduler.stop()
    }

    @Test func `interrupted work runs again, and so does work that is scheduled meanwhile`() async throws {
        let (began, goOn) = (AsyncStream<Void>.makeStream(), AsyncStream<Void>.makeStream())
        let (runs, isFirst) = (AsyncStream<SyncScheduler.Work>.makeStream(), Box(true))
        let scheduler = SyncScheduler(SyncEngineEnvironment(sleep: { _ in }))
        scheduler.start { job in
            if isFirst.value {
                isFirst.value = false
                began.continuation.finish()
                for await _ in goOn.stream {}
                return .init()
            }
            runs.continuation.yield(job.work)
            return .init(succeeded: job.work)
        }
        scheduler.schedule(.fetch)
        for await _ in began.stream {}
        scheduler.interrupt()
        scheduler.schedule(.send)
        goOn.continuation.finish()
        var done: SyncScheduler.Work = []
        for await work in runs.stream {
            done.formUnion(work)
            if done == [.fetch, .send] { break }
        }
        scheduler.stop()
    }

    // MARK: An engine's work

    private func device(
        on container: CKContainer, sleep: @escaping @Sendable (Double) async throws -> Void
    ) -> SyncDevice {
        let device = SyncDevice()
        device.start(
            container.privateCloudDatabase, automatically: true,
            environment: SyncEngineEnvironment(sleep: sleep))
        return device
    }

    @Test func `cancelling operations leaves a retry scheduled`() async throws {
        let (asleep, isOver) = (AsyncStream<Void>.makeStream(), AsyncStream<Void>.makeStream())
        let cloud = try LocalCloud()
        let one = device(on: cloud.container()) { _ in
            asleep.continuation.finish()
            for await _ in isOver.stream {}
        }
        await one.wait { $0.contains("did fetch") }
        let fault = cloud.fail(.save, .all, with: .networkFailure)
        one.engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID))])
        one.edit(CKRecord.ID("a", "Z"), "1")
        for await _ in asleep.stream {}
        await one.engine.cancelOperations()
        fault.cancel()
        isOver.continuation.finish()
        await one.wait { $0.contains("sent [\"a\"] failed []") }
    }

    @Test func `sends that save nothing back off after the second`() async throws {
        let (waits, cloud) = (Box<[Double]>([]), try LocalCloud())
        // The look-ups that precede saves of records are the engine's own.
        cloud.fail(.zones, .first(3), level: .request, with: .quotaExceeded)
        let one = device(on: cloud.container()) { waits.value.append($0) }
        // The app saves a missing zone, and the record again.
        one.edit(CKRecord.ID("a", "Z"), "1")
        await one.wait { $0.contains("sent [\"a\"] failed []") }
        #expect(waits.value == [1, 2, 4, 8, 16, 32])
    }
}
