import CloudKit
import Foundation
import Synchronization
import Testing

@testable import CloudKitTesting

/// A test that awaits a request which it stopped itself ends after a while, and says why.
@Suite struct TimedOutRequestTests {
    private static let options = CloudOptions(idleTimeout: .milliseconds(50))
    private static let limit = "0.05 seconds, in which no other came"

    private func note(_ name: String) -> CKRecord {
        CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name))
    }

    @Test(arguments: [Fault.Stage.beforeArrival, .afterCommit, .amidAnswer], [false, true])
    func `an awaited request that is held fails its test, also where the test handles the error`(
        stage: Fault.Stage, handles: Bool
    ) async throws {
        let failure = await #expect(throws: CloudFailure.self) {
            try await withCloud(Self.options) { cloud in
                _ = cloud.hold(.save, record: "a", at: stage)
                do {
                    try await CKContainer.default().privateCloudDatabase.save(note("a"))
                } catch let error as CKError where handles {
                    #expect(error.code == .operationCancelled)
                }
            }
        }
        let problems = try #require(failure).problems
        #expect(problems.count == (handles ? 1 : 2), "\(problems)")
        #expect(problems[0].hasPrefix("`save"), "\(problems)")
        #expect(problems[0].contains("held a request that was not released for \(Self.limit)"), "\(problems)")
    }

    @Test(arguments: [false, true])
    func `an awaited request of a terminated app fails its test`(isRelaunched: Bool) async throws {
        let failure = await #expect(throws: CloudFailure.self) {
            try await withCloud(Self.options) { cloud in
                let phone = cloud.device("phone")
                let database = phone.container.privateCloudDatabase
                phone.terminate()
                if isRelaunched { phone.relaunch() }
                try await database.save(note("a"))
            }
        }
        let text = try #require(failure).problems[0]
        #expect(text.hasPrefix("The app on 'phone' was terminated, and its request `records/modify"), "\(text)")
        #expect(text.contains("\"a\"") && text.contains(Self.limit), "\(text)")
    }

    @Test func `a file's upload of a terminated app is named`() async throws {
        let failure = await #expect(throws: CloudFailure.self) {
            try await withCloud(CloudOptions()) { cloud in
                let phone = cloud.device("phone")
                let file = try phone.diskDirectory.appendingPathComponent("file")
                try Data("text".utf8).write(to: file)
                let record = note("a")
                record["file"] = CKAsset(fileURL: file)
                let held = cloud.hold(.assets, .nth(2))
                let database = phone.container.privateCloudDatabase
                let saving = Task { try await database.save(record) }
                try await held.arrived()
                phone.terminate()
                cloud.state.idleLimit = .milliseconds(50)
                held.release()
                _ = try await saving.value
            }
        }
        #expect(try #require(failure).problems[0].contains("its request `upload "), "\(failure?.problems ?? [])")
    }

    @Test func `with the trait the issue has the line of the hold`() async throws {
        let test = try #require(Test.current)
        let line = Atomic(0)
        await withKnownIssue {
            await #expect(throws: CKError.self) {
                try await CloudTrait(options: Self.options).provideScope(for: test, testCase: Test.Case.current) {
                    _ = try LocalCloud.current.hold(.save, line: 77)
                    try await CKContainer.default().privateCloudDatabase.save(note("a"))
                }
            }
        } matching: { issue in
            line.store(issue.sourceLocation?.line ?? 0, ordering: .relaxed)
            return issue.comments.contains { $0.rawValue.contains("was not released") }
        }
        #expect(line.load(ordering: .relaxed) == 77)
    }

    @Test func `what was cancelled or released in time fails no test`() async throws {
        try await withCloud(CloudOptions()) { cloud in
            let database = CKContainer.default().privateCloudDatabase
            for isCancelled in [true, false] {
                let held = cloud.hold(.save)
                let saving = Task { try await database.save(note("a")) }
                try await held.arrived()
                if isCancelled { saving.cancel() } else { held.release() }
                _ = await saving.result
            }
            let phone = cloud.device("phone")
            let old = phone.container.privateCloudDatabase
            phone.terminate()
            let saving = Task { try await old.save(note("b")) }
            saving.cancel()
            _ = await saving.result
        }
    }

    @Test func `a cloud that its test has ended logs nothing`() async throws {
        let lines = Mutex<[String]>([])
        let cloud = try await LocalCloud.forTest(CloudOptions(log: { line in lines.withLock { $0.append(line) } }))
        // No container of a device: those ask the service for nothing then.
        let database = cloud.container().privateCloudDatabase
        try await database.save(note("a"))
        await cloud.end()
        await #expect(throws: CKError.self) { try await database.save(note("b")) }
        #expect(lines.withLock { $0 } == [])
    }
}
