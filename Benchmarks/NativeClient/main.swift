// Saves and fetches small records one at a time through the library, and reports one JSON line of records per second:
// `make bench TABLES=client` runs it.
//
//   native-client SECONDS [in-process]      (NEPHOS_URL and NEPHOS_TOKEN say where and who; in-process needs no server)
//   native-client clouds COUNT              makes clouds in memory in a row, with a first save each, as tests do
//   native-client fields SECONDS encrypted  records of ten fields, all of them encrypted; or all of them clear
//   native-client share COUNT               shares the root of COUNT encrypted records, once

import CloudKit
import CloudKitLocal
import Foundation

let names = 1000

func record(_ number: Int) -> CKRecord {
    let record = CKRecord(recordType: "Task", recordID: CKRecord.ID(recordName: "task-\(number % names)"))
    record["title"] = "Water the plants \(number)"
    record["priority"] = number % 5
    record["due"] = Date(timeIntervalSince1970: 1_760_000_000)
    return record
}

/// How often a second `body` ran, in `tasks` tasks at once.
func rate(_ tasks: Int, _ seconds: Double, _ body: @escaping @Sendable (Int) async throws -> Void) async throws
    -> Double
{
    let clock = ContinuousClock()
    let start = clock.now
    let end = start + .seconds(seconds)
    let count = try await withThrowingTaskGroup(of: Int.self) { group in
        for task in 0..<tasks {
            group.addTask {
                var count = 0
                while clock.now < end {
                    try await body(task + count * tasks)
                    count += 1
                }
                return count
            }
        }
        return try await group.reduce(0, +)
    }
    let elapsed = clock.now - start
    return Double(count) / (Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18)
}

/// Fetches what was saved, and reads it, as an app does.
func fetch(_ number: Int, _ database: CKDatabase) async throws {
    let found = try await database.record(for: CKRecord.ID(recordName: "task-\(number % names)"))
    guard found["priority"] == number % names % 5 else { throw CKError(.internalError) }
}

/// Milliseconds that a cloud in memory takes with its first save, and the threads of the process behind `count` of them.
func measureClouds(_ count: Int) async throws {
    let clock = ContinuousClock()
    let start = clock.now
    for number in 0..<count {
        let database = try LocalCloud().container("iCloud.org.example.Bench").privateCloudDatabase
        _ = try await database.save(record(number))
    }
    let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count
    let milliseconds = (clock.now - start) / .milliseconds(1) / Double(count)
    print("{\"milliseconds_per_cloud\": \(milliseconds), \"threads\": \(threads)}")
}

// MARK: Encrypted values

func tenFields(_ number: Int, encrypted: Bool) -> CKRecord {
    let type = encrypted ? "Encrypted" : "Clear"
    let record = CKRecord(recordType: type, recordID: CKRecord.ID(recordName: "\(type)-\(number % names)"))
    for field in 0..<10 {
        let text = "Water the plants \(number) \(field)"
        if encrypted { record.encryptedValues["f\(field)"] = text } else { record["f\(field)"] = text }
    }
    return record
}

/// Saves and fetches records of ten fields, one at a time in eight tasks.
func measureFields(_ seconds: Double, encrypted: Bool) async throws {
    let database = CKContainer(identifier: "iCloud.org.example.Bench").privateCloudDatabase
    for start in stride(from: 0, to: names, by: 200) {
        let records = (start..<start + 200).map { tenFields($0, encrypted: encrypted) }
        _ = try await database.modifyRecords(saving: records, deleting: [], savePolicy: .allKeys)
    }
    let fetches = try await rate(8, seconds) { number in
        let wanted = tenFields(number, encrypted: encrypted).recordID
        let found = try await database.record(for: wanted)
        let value = encrypted ? found.encryptedValues["f9"] : found["f9"]
        guard value is String else { throw CKError(.internalError) }
    }
    let saves = try await rate(8, seconds) { number in
        let new = tenFields(number, encrypted: encrypted)
        let (results, _) = try await database.modifyRecords(saving: [new], deleting: [], savePolicy: .allKeys)
        _ = try results[new.recordID]?.get()
    }
    print("{\"fetches\": \(Int(fetches)), \"saves\": \(Int(saves))}")
}

/// Milliseconds that sharing a root takes with `count` encrypted records under it, which no participant has keys of before.
func measureShare(_ count: Int) async throws {
    let database = CKContainer(identifier: "iCloud.org.example.Bench").privateCloudDatabase
    let zoneID = CKRecordZone.ID(zoneName: "Share-\(UUID().uuidString)")
    _ = try await database.save(CKRecordZone(zoneID: zoneID))
    let root = CKRecord(recordType: "Encrypted", recordID: CKRecord.ID(recordName: "root", zoneID: zoneID))
    root.encryptedValues["f0"] = "Root"
    _ = try await database.save(root)
    for start in stride(from: 0, to: count, by: 200) {
        let records = (start..<min(start + 200, count)).map { number in
            let record = CKRecord(
                recordType: "Encrypted", recordID: CKRecord.ID(recordName: "r\(number)", zoneID: zoneID))
            record.setParent(root)
            record.encryptedValues["f0"] = "Item \(number)"
            return record
        }
        for result in try await database.modifyRecords(saving: records, deleting: []).saveResults.values {
            _ = try result.get()
        }
    }
    let share = CKShare(rootRecord: root)
    share.publicPermission = .readOnly
    let clock = ContinuousClock()
    let start = clock.now
    for result in try await database.modifyRecords(saving: [root, share], deleting: []).saveResults.values {
        _ = try result.get()
    }
    print("{\"milliseconds\": \((clock.now - start) / .milliseconds(1))}")
}

let arguments = CommandLine.arguments
if arguments.count == 4, arguments[1] == "fields", let seconds = Double(arguments[2]) {
    try await measureFields(seconds, encrypted: arguments[3] == "encrypted")
    exit(0)
}
if arguments.count == 3, arguments[1] == "share", let count = Int(arguments[2]) {
    try await measureShare(count)
    exit(0)
}
if arguments.count == 3, arguments[1] == "clouds", let count = Int(arguments[2]) {
    try await measureClouds(count)
    exit(0)
}
guard arguments.count >= 2, let seconds = Double(arguments[1]) else {
    print("usage: native-client SECONDS [in-process]")
    exit(2)
}
let identifier = "iCloud.org.example.Bench"
let isInProcess = arguments.dropFirst(2).contains("in-process")
let container = isInProcess ? try LocalCloud().container(identifier) : CKContainer(identifier: identifier)
let database = container.privateCloudDatabase
for start in stride(from: 0, to: names, by: 200) {
    _ = try await database.modifyRecords(
        saving: (start..<start + 200).map(record), deleting: [], savePolicy: .allKeys)
}
var line: [String] = []
for tasks in [1, 32] {
    _ = try await rate(tasks, seconds / 5) { try await fetch($0, database) }
    let fetches = try await rate(tasks, seconds) { try await fetch($0, database) }
    let saves = try await rate(tasks, seconds) { number in
        let new = record(number)
        let (results, _) = try await database.modifyRecords(saving: [new], deleting: [], savePolicy: .allKeys)
        _ = try results[new.recordID]?.get()
    }
    line.append("\"fetches_\(tasks)\": \(Int(fetches)), \"saves_\(tasks)\": \(Int(saves))")
}
print("{" + line.joined(separator: ", ") + "}")
