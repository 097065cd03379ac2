// Synchronises a zone from its beginning, as an app does, and reports one JSON line: `make bench TABLES=sync` runs it.
//
//   sync-client CONTAINER ZONE [TIMES]      (NEPHOS_URL and NEPHOS_TOKEN say where and who)

import CloudKit
import Foundation

/// What the blocks counted.
///
/// `@unchecked`: everything in here is touched under `lock` only.
final class Counter: @unchecked Sendable {
    private let lock = NSLock()
    private var records = 0
    private var characters = 0
    private var failure: (any Error)?

    func note(_ record: CKRecord) {
        lock.lock()
        defer { lock.unlock() }
        records += 1
        // As an app does, it reads what it fetched.
        characters += (record["title"] as? String)?.utf8.count ?? 0
    }

    func note(_ error: any Error) {
        lock.lock()
        defer { lock.unlock() }
        failure = failure ?? error
    }

    func outcome() throws -> (records: Int, characters: Int) {
        lock.lock()
        defer { lock.unlock() }
        if let failure { throw failure }
        return (records, characters)
    }
}

func synchronise(_ database: CKDatabase, _ zoneID: CKRecordZone.ID, _ counter: Counter) async {
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
        let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: [zoneID], configurationsByRecordZoneID: [zoneID: .init()])
        operation.recordWasChangedBlock = { _, result in
            switch result {
            case .success(let record): counter.note(record)
            case .failure(let error): counter.note(error)
            }
        }
        operation.recordZoneFetchResultBlock = { _, result in
            if case .failure(let error) = result { counter.note(error) }
        }
        operation.fetchRecordZoneChangesResultBlock = { result in
            if case .failure(let error) = result { counter.note(error) }
            continuation.resume()
        }
        database.add(operation)
    }
}

/// Kilobytes: the most that was resident.
func peakMemory() -> Int {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
    return line.split(separator: " ").compactMap { Int($0) }.first ?? 0
}

let arguments = CommandLine.arguments
guard arguments.count >= 3 else {
    print("usage: sync-client CONTAINER ZONE [TIMES]")
    exit(2)
}
let database = CKContainer(identifier: arguments[1]).privateCloudDatabase
let zoneID = CKRecordZone.ID(zoneName: arguments[2])
let times = arguments.count > 3 ? Int(arguments[3]) ?? 1 : 1
let counter = Counter()
let clock = ContinuousClock()
let duration = await clock.measure {
    for _ in 0..<times { await synchronise(database, zoneID, counter) }
}
let outcome = try counter.outcome()
let seconds = Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
print(
    "{\"records_per_second\": \(Double(outcome.records) / seconds), \"records\": \(outcome.records), "
        + "\"seconds\": \(seconds), \"characters\": \(outcome.characters), \"client_peak_kilobytes\": \(peakMemory())}")
