import CloudKit
import CloudKitTesting
import Foundation
import Testing

/// An app's code with handlers and blocks, which asks for its container in each of them.
private enum App {
    /// Saves a zone in a handler of another call.
    static func save(_ name: String, _ done: @escaping @Sendable ((any Error)?) -> Void) {
        CKContainer.default().accountStatus { _, _ in
            CKContainer.default().privateCloudDatabase.save(CKRecordZone(zoneName: name)) { _, error in
                if let error { return done(error) }
                CKContainer.default().fetchUserRecordID { _, error in done(error) }
            }
        }
    }

    static func save(_ name: String) async throws { try await finished { save(name, $0) } }

    /// Waits until a handler of `start` is called.
    static func finished(_ start: (@escaping @Sendable ((any Error)?) -> Void) -> Void) async throws {
        try await withCheckedThrowingContinuation { (waiting: CheckedContinuation<Void, any Error>) in
            start { error in
                if let error { waiting.resume(throwing: error) } else { waiting.resume() }
            }
        }
    }

    static var zones: Set<String> {
        get async throws {
            Set(try await CKContainer.default().privateCloudDatabase.allRecordZones().map(\.zoneID.zoneName))
        }
    }
}

/// A place where an app's code runs.
enum Callback: CaseIterable {
    case result, item, completion, containerOperation, ownQueue, ownQueueWithoutDatabase, discovery

    /// Calls `body` there.
    func run(_ body: @escaping @Sendable () -> Void) {
        let container = CKContainer.default()
        let zones = CKModifyRecordZonesOperation(recordZonesToSave: [CKRecordZone(zoneName: "First")])
        let fetch = CKFetchRecordsOperation.fetchCurrentUserRecordOperation()
        switch self {
        case .result: zones.modifyRecordZonesResultBlock = { _ in body() }
        case .item: zones.perRecordZoneSaveBlock = { _, _ in body() }
        case .completion, .ownQueue, .ownQueueWithoutDatabase: zones.completionBlock = body
        case .containerOperation: fetch.fetchRecordsResultBlock = { _ in body() }
        case .discovery: break
        }
        switch self {
        case .result, .item, .completion: container.privateCloudDatabase.add(zones)
        case .containerOperation: container.add(fetch)
        case .ownQueue:
            zones.database = container.privateCloudDatabase
            OperationQueue().addOperation(zones)
        case .ownQueueWithoutDatabase: OperationQueue().addOperation(zones)
        case .discovery: container.fetchShareParticipant(withEmailAddress: "tom@example.org") { _, _ in body() }
        }
    }
}

@Suite(.cloud) struct HandlerTests {
    @Test func `handlers of handlers use the test's cloud`() async throws {
        try await App.save("Notes")
        #expect(try await App.zones.contains("Notes"))
    }

    @Test(arguments: Callback.allCases)
    func `every block and handler uses the test's cloud`(callback: Callback) async throws {
        let identifier = await withCheckedContinuation { waiting in
            callback.run {
                let container = CKContainer.default()
                container.privateCloudDatabase.save(CKRecordZone(zoneName: "Second")) { zone, _ in
                    waiting.resume(returning: zone?.zoneID.zoneName)
                }
            }
        }
        #expect(identifier == "Second")
        #expect(try await App.zones.contains("Second"))
    }

    @Test func `a handler of one cloud never reaches another one that runs beside it`() async throws {
        try await withThrowingTaskGroup { group in
            for number in 0..<8 {
                group.addTask {
                    try await withCloud { _ in
                        for round in 0..<5 { try await App.save("Zone\(number)Round\(round)") }
                        let own = Set((0..<5).map { "Zone\(number)Round\($0)" })
                        #expect(try await App.zones.subtracting([CKRecordZone.ID.defaultZoneName]) == own)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await App.zones.filter { $0.hasPrefix("Zone") }.isEmpty)
    }

    @Test func `a handler of another cloud's container stays in the cloud of its caller`() async throws {
        let kept = CKContainer.default()
        try await withCloud { _ in
            try await App.finished { done in kept.accountStatus { _, _ in App.save("Inner", done) } }
            #expect(try await App.zones.contains("Inner"))
        }
        #expect(try await !App.zones.contains("Inner"))
    }

    @Test func `a call from a queue has its handlers in the cloud of its container`() async throws {
        let container = CKContainer.default()
        try await App.finished { done in
            DispatchQueue.global().async { container.accountStatus { _, _ in App.save("Queue", done) } }
        }
        #expect(try await App.zones.contains("Queue"))
    }

    @Test func `a handler on a device uses that device`() async throws {
        let phone = try LocalCloud.current.device("phone", account: "tom")
        try await phone.run { try await App.save("Tom") }
        #expect(try await phone.run { try await App.zones.contains("Tom") })
        #expect(try await !App.zones.contains("Tom"))
    }
}
