import CloudKitLocal
import Foundation
import NephosSQLite
import NephosService
import NephosWire
import Synchronization

@testable import CloudKit

/// A cloud on disk whose clock and identifiers are the simulation's, which can be closed and opened again.
final class SimulatedCloud: Sendable {
    /// The clock and the identifiers.
    private final class Outside: Sendable {
        private let state = Mutex((now: Int64(1_700_000_000_000), identifiers: 0))
        /// Milliseconds since 1970.
        var now: Int64 { state.withLock { $0.now } }
        func advance(_ milliseconds: Int64) { state.withLock { $0.now += milliseconds } }

        func makeUUID() -> String {
            let number = state.withLock { state in
                state.identifiers += 1
                return String(state.identifiers)
            }
            return "00000000-0000-0000-0000-" + String(repeating: "0", count: 12 - number.count) + number
        }
    }

    private let directory: URL
    private let outside = Outside()
    private let opened: Mutex<LocalCloud>

    init() throws {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("nephos-sim-\(UUID().uuidString)")
        opened = Mutex(try LocalCloud())
        try open()
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    var cloud: LocalCloud { opened.withLock { $0 } }
    var now: Date { Date(timeIntervalSince1970: Double(outside.now) / 1000) }
    func advance(milliseconds: Int64) { outside.advance(milliseconds) }

    /// Closes the service and opens another one over what the first left on the disk.
    func restart() async throws {
        await cloud.close()
        try open()
    }

    private func open() throws {
        // A test needs no disk that survives a loss of power.
        let stores = try DataDirectory(path: directory.path, options: SQLiteOptions(durability: .normal))
        let outside = outside
        // What the service logs is a fault that it did not tell; that it is closed at a restart is none.
        let environment = ServiceEnvironment(
            now: { outside.now }, makeUUID: { outside.makeUUID() },
            log: { if !$0.hasSuffix("the service is closed") { print("service: \($0)") } })
        let cloud = LocalCloud(stores: stores, environment: environment)
        opened.withLock { $0 = cloud }
    }
}

/// What the service committed, seen from its door, before any answer is lost.
final class CommitLedger: Sendable {
    struct Subject: Hashable, Sendable {
        var account: String
        var recordID: CKRecord.ID
    }

    struct Entry: Hashable, Sendable {
        var text: String
        var edited: Int
    }

    private struct Content: Sendable {
        var records: [Subject: Entry] = [:]
        var problems: [String] = []
        var commits = 0
    }

    private let content = Mutex(Content())
    var problems: [String] { content.withLock { $0.problems } }
    var commits: Int { content.withLock { $0.commits } }

    /// The records that an account's database must hold.
    func records(of account: String) -> [CKRecord.ID: Entry] {
        content.withLock { content in
            var records: [CKRecord.ID: Entry] = [:]
            for (subject, entry) in content.records where subject.account == account {
                records[subject.recordID] = entry
            }
            return records
        }
    }

    func note(_ account: String, _ request: ModifyRecordsRequest, _ response: RecordsResponse) {
        content.withLock { content in
            for (operation, result) in zip(request.operations, response.records) {
                guard let name = operation.record.recordName else { continue }
                let zone = operation.record.zoneID ?? request.zoneID ?? .defaultZone
                let subject = Subject(account: account, recordID: CKRecord.ID(name, zone.zoneName))
                switch result {
                case .record:
                    content.commits += 1
                    // Only what changed is sent.
                    let before = content.records[subject]
                    var entry = before ?? Entry(text: "", edited: 0)
                    if case .string(let text) = operation.record.fields["text"]?.value { entry.text = text }
                    if case .int64(let edited) = operation.record.fields["edited"]?.value { entry.edited = Int(edited) }
                    if let before, before.edited > entry.edited {
                        content.problems.append("\(name): an edit of \(entry.edited) replaced one of \(before.edited)")
                    }
                    content.records[subject] = entry
                case .deleted:
                    content.commits += 1
                    content.records[subject] = nil
                case .failure: break
                }
            }
        }
    }

    func note(_ account: String, _ request: ModifyZonesRequest, _ response: ZonesResponse) {
        for (operation, result) in zip(request.operations, response.zones) where operation.operationType == .delete {
            if case .zone = result { noteRemoved(account, zone: operation.zoneID.zoneName) }
        }
    }

    func noteRemoved(_ account: String, zone: String) {
        content.withLock { content in
            content.records = content.records.filter {
                $0.key.account != account || $0.key.recordID.zoneID.zoneName != zone
            }
        }
    }
}
