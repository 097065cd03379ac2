import CloudKit
import CloudKitTesting
import Dispatch
import Foundation
import Testing

/// Apps that await what they start repeat exactly, whatever requests the library sends at the same time.
@Suite struct RepeatedSimulationTests {
    /// An app without a copy of its data, whose first request is a save or a query.
    private final class TitleStore: SimulatedApp {
        private let database: CKDatabase

        init(_ scope: CKDatabase.Scope) { database = CKContainer.default().database(with: scope) }

        func edit(using random: inout SimulationRandom) async throws -> [String: String?] {
            let text = random.text()
            let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: text))
            note["title"] = text
            if database.databaseScope == .private { note.encryptedValues["secret"] = text }
            note["files"] = try (0..<3).map { index in
                let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString)")
                try Data("\(text) \(index)".utf8).write(to: file)
                return CKAsset(fileURL: file)
            }
            try await database.save(note)
            return [text: text]
        }

        func sync() async throws {}

        var contents: [String: String] {
            get async throws {
                let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
                do {
                    let titles = try await database.records(matching: query).matchResults.map { _, result in
                        try result.get()["title"] as? String ?? ""
                    }
                    return Dictionary(uniqueKeysWithValues: titles.map { ($0, $0) })
                } catch CKError.unknownItem {
                    return [:]
                }
            }
        }
    }

    @Test(arguments: [CKDatabase.Scope.private, .public], UInt64(1)...4)
    func `an app over queries repeats`(scope: CKDatabase.Scope, seed: UInt64) async throws {
        let simulation = Simulation(seed: seed, devices: ["phone", "pad", "mac"], disturbances: [.faults]) { _ in
            TitleStore(scope)
        }
        let first = try await simulation.run(steps: 40)
        for _ in 0..<2 { #expect(try await simulation.run(steps: 40) == first) }
    }

    @Test func `a purge takes custom zones alone, and an app of the default zone passes`() async throws {
        let simulation = Simulation(seed: 1) { _ in TitleStore(.private) }
        try await simulation.replay([.edit("phone", 1), .check, .purge(account: "me"), .check])
    }

    /// An app that blocks a thread until its request ends, as with a completion handler and a semaphore.
    private final class BlockingStore: SimulatedApp {
        private let container = CKContainer.default()

        func edit(using random: inout SimulationRandom) async throws -> [String: String?] { [:] }

        func sync() async throws {
            let ended = DispatchSemaphore(value: 0)
            container.privateCloudDatabase.fetchAllRecordZones { _, _ in ended.signal() }
            wait(ended)
        }

        private func wait(_ ended: DispatchSemaphore) { ended.wait() }
        let contents: [String: String] = [:]
    }

    @Test(.timeLimit(.minutes(2))) func `an app that blocks its thread until a request ends goes on`() async throws {
        let lines = try await Simulation(seed: 1, devices: ["phone"]) { _ in BlockingStore() }.replay(
            [.sync("phone"), .pass("phone"), .check])
        #expect(lines.contains { $0.hasPrefix("  phone: zones/list") }, "\(lines)")
    }
}
