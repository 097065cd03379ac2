import CloudKit
import CloudKitLocal
import Foundation
import Synchronization
import Testing

/// Code from before `async` waits for completion handlers with semaphores, on whatever thread it has.
@Suite struct BlockedThreadTests {
    /// Blocks the calling thread until the handler of a fetch has run `then`; whether it was called.
    private static func fetch(
        _ id: CKRecord.ID, in database: CKDatabase, then: @escaping @Sendable () -> Void
    ) -> Bool {
        let semaphore = DispatchSemaphore(value: 0)
        database.fetch(withRecordID: id) { _, _ in
            then()
            semaphore.signal()
        }
        return semaphore.wait(timeout: .now() + .seconds(20)) == .success
    }

    private func store() async throws -> (CKDatabase, CKRecord.ID) {
        let database = try CKContainer.local().privateCloudDatabase
        return (database, try await database.save(CKRecord(recordType: "Note")).recordID)
    }

    @Test func `handlers are called while every thread of the tasks waits for one`() async throws {
        let (database, id) = try await store()
        let group = DispatchGroup()
        let answers = Mutex(0)
        for _ in 0..<(2 * ProcessInfo.processInfo.activeProcessorCount + 16) {
            DispatchQueue.global().async(group: group) {
                if Self.fetch(id, in: database, then: {}) { answers.withLock { $0 += 1 } }
            }
        }
        await withCheckedContinuation { continuation in
            group.notify(queue: DispatchQueue(label: "end")) { continuation.resume() }
        }
        #expect(answers.withLock { $0 } == 2 * ProcessInfo.processInfo.activeProcessorCount + 16)
    }

    @Test func `handlers may wait for each other thirty deep`() async throws {
        let (database, id) = try await store()
        let depth = Mutex(0)
        @Sendable func descend(_ left: Int) {
            guard left > 0 else { return }
            if Self.fetch(id, in: database, then: { descend(left - 1) }) { depth.withLock { $0 += 1 } }
        }
        await withCheckedContinuation { continuation in
            DispatchQueue(label: "start").async {
                descend(30)
                continuation.resume()
            }
        }
        #expect(depth.withLock { $0 } == 30)
        let container = try CKContainer.local()
        let statuses = Mutex<[CKAccountStatus]>([])
        await withCheckedContinuation { continuation in
            container.accountStatus { status, _ in
                _ = Self.fetch(id, in: database) { statuses.withLock { $0.append(status) } }
                continuation.resume()
            }
        }
        #expect(statuses.withLock { $0 } == [.available])
    }
}
