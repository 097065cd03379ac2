import CloudKit
import CloudKitLocal
import Synchronization

/// What the blocks of a fetch were called with, in order, one line each.
final class CallLog: Sendable {
    private let entries = Mutex<[String]>([])
    func note(_ line: String) { entries.withLock { $0.append(line) } }
    var lines: [String] { entries.withLock { $0 } }
}

/// A value that a block hands out.
final class Box<Value: Sendable>: Sendable {
    private let content: Mutex<Value>
    init(_ value: Value) { content = Mutex(value) }
    var value: Value {
        get { content.withLock { $0 } }
        set { content.withLock { $0 = newValue } }
    }
}

extension CKDatabase {
    /// Makes zones.
    func makeZones(_ names: String...) async throws {
        _ = try await modifyRecordZones(saving: names.map { CKRecordZone(zoneName: $0) }, deleting: [])
    }

    /// Saves records of type Note, by force.
    func put(_ names: String..., zone: String, text: String = "") async throws {
        let records = names.map { name in
            let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(name, zone))
            record["text"] = text
            return record
        }
        let results = try await modifyRecords(saving: records, deleting: [], savePolicy: .allKeys).saveResults
        for result in results.values { _ = try result.get() }
    }

    func remove(_ names: String..., zone: String) async throws {
        let results = try await modifyRecords(saving: [], deleting: names.map { CKRecord.ID($0, zone) }).deleteResults
        for result in results.values { try result.get() }
    }
}

extension CKRecord.ID {
    convenience init(_ name: String, _ zone: String) {
        self.init(recordName: name, zoneID: CKRecordZone.ID(zoneName: zone))
    }
}

extension CKOperation {
    /// Runs the operation and returns when it has finished.
    func finish(in database: CKDatabase) async {
        await withCheckedContinuation { continuation in
            completionBlock = { continuation.resume() }
            guard let operation = self as? CKDatabaseOperation else { return continuation.resume() }
            database.add(operation)
        }
    }
}

extension CKFetchRecordZoneChangesOperation {
    /// Notes every call in `log`, and the zones' tokens in `tokens`.
    func note(in log: CallLog, tokens: Box<[CKRecordZone.ID: CKServerChangeToken]> = Box([:])) {
        recordWasChangedBlock = { recordID, result in
            switch result {
            case .success(let record): log.note("\(recordID.recordName)=\(record["text"] as? String ?? "-")")
            case .failure(let error): log.note("\(recordID.recordName)!\((error as? CKError)?.code.rawValue ?? 0)")
            }
        }
        recordWithIDWasDeletedBlock = { recordID, type in log.note("-\(recordID.recordName):\(type)") }
        recordZoneChangeTokensUpdatedBlock = { zoneID, token, _ in
            log.note("tokens \(zoneID.zoneName)")
            tokens.value[zoneID] = token
        }
        recordZoneFetchResultBlock = { zoneID, result in
            switch result {
            case .success(let end):
                let data = end.clientChangeTokenData.map { " " + String(decoding: $0, as: UTF8.self) } ?? ""
                log.note("zone \(zoneID.zoneName)\(end.moreComing ? " more" : "")\(data)")
                tokens.value[zoneID] = end.serverChangeToken
            case .failure(let error): log.note("zone \(zoneID.zoneName)!\((error as? CKError)?.code.rawValue ?? 0)")
            }
        }
        fetchRecordZoneChangesResultBlock = { result in
            switch result {
            case .success: log.note("end")
            case .failure(let error): log.note("end!\((error as? CKError)?.code.rawValue ?? 0)")
            }
        }
    }
}
