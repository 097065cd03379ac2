// swift-format-ignore-file: NeverForceUnwrap

import CloudKit

// Forms that apps were seen to write calls in, which none of the other files has.

extension CKRecord.RecordType {
    static let task = "Task"
}

extension CKRecord.FieldKey {
    static let title = "title"
    static let done = "done"
}

extension CKRecordZone.ID {
    static let tasks = CKRecordZone.ID(zoneName: "Tasks")
}

protocol CloudModel {
    static var recordType: CKRecord.RecordType { get }
    init(record: CKRecord) throws
    var record: CKRecord { get }
}

struct TaskItem: CloudModel, Equatable {
    static let recordType: CKRecord.RecordType = .task
    var id: CKRecord.ID
    var title: String
    var done: Bool
    var due: Date?

    init(title: String, done: Bool = false, due: Date? = nil) {
        id = CKRecord.ID(zoneID: .tasks)
        self.title = title
        self.done = done
        self.due = due
    }

    init(record: CKRecord) throws {
        guard let title = record[.title] as? String else { throw CKError(.invalidArguments) }
        id = record.recordID
        self.title = title
        done = record[.done]!
        due = record["due"]
    }

    var record: CKRecord {
        let record = CKRecord(recordType: .task, recordID: id)
        record[.title] = title
        record[.done] = done as CKRecordValue
        record["due"] = due as CKRecordValueProtocol?
        return record
    }
}

extension CKDatabase {
    /// All of a type, page after page.
    func all<Model: CloudModel>(
        _: Model.Type, where predicate: NSPredicate = NSPredicate(value: true), pageSize: Int
    ) async throws -> [Model] {
        let query = CKQuery(recordType: Model.recordType, predicate: predicate)
        query.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
        var models: [Model] = []
        var (matches, cursor) = try await records(matching: query, inZoneWith: .tasks, resultsLimit: pageSize)
        while true {
            models += try matches.map { try Model(record: $0.1.get()) }
            guard let next = cursor else { return models }
            (matches, cursor) = try await records(continuingMatchFrom: next, resultsLimit: pageSize)
        }
    }

    /// Saves any number of records, as many as a request takes at a time.
    func saveInChunks(_ records: [CKRecord], of size: Int) async throws -> [CKRecord.ID: CKError] {
        var failures: [CKRecord.ID: CKError] = [:]
        for start in stride(from: 0, to: records.count, by: size) {
            let chunk = Array(records[start..<min(start + size, records.count)])
            let (saved, _) = try await modifyRecords(
                saving: chunk, deleting: [], savePolicy: .changedKeys, atomically: false)
            for case (let id, .failure(let error as CKError)) in saved { failures[id] = error }
        }
        return failures
    }
}

enum Chains {
    /// What changed, by operations that wait for each other in a queue of the app's.
    static func changedRecords(
        in database: CKDatabase, completion: @escaping @Sendable ([String], [Error]) -> Void
    ) {
        final class State: @unchecked Sendable {
            var zones: [CKRecordZone.ID] = []
            var names: [String] = []
            var errors: [Error] = []
        }
        let state = State()
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        let zones = CKFetchDatabaseChangesOperation(previousServerChangeToken: nil)
        zones.database = database
        zones.recordZoneWithIDChangedBlock = { state.zones.append($0) }
        zones.fetchDatabaseChangesResultBlock = { result in
            if case .failure(let error) = result { state.errors.append(error) }
        }
        let records = CKFetchRecordZoneChangesOperation()
        records.database = database
        records.recordWasChangedBlock = { _, result in
            switch result {
            case .success(let record): state.names.append(record.recordID.recordName)
            case .failure(let error): state.errors.append(error)
            }
        }
        records.fetchRecordZoneChangesResultBlock = { _ in }
        let between = BlockOperation {
            records.recordZoneIDs = state.zones
            records.configurationsByRecordZoneID = state.zones.reduce(into: [:]) {
                $0[$1] = CKFetchRecordZoneChangesOperation.ZoneConfiguration(resultsLimit: 2)
            }
        }
        let done = BlockOperation { completion(state.names, state.errors) }
        between.addDependency(zones)
        records.addDependency(between)
        done.addDependency(records)
        queue.addOperations([zones, between, records, done], waitUntilFinished: false)
    }

    /// The account status now and after each change of the account, for so many changes.
    static func statuses(of container: CKContainer, changes: Int, post: () -> Void) async throws -> [CKAccountStatus] {
        let notifications: NotificationCenter.Notifications =
            NotificationCenter.default.notifications(named: .CKAccountChanged)
        var statuses = [try await container.accountStatus()]
        post()
        for await _ in notifications {
            statuses.append(try await container.accountStatus())
            if statuses.count > changes { break }
        }
        return statuses
    }
}

enum FormArchives {
    static func ids(_ ids: [CKRecord.ID]) throws -> [[CKRecord.ID]] {
        let data = try NSKeyedArchiver.archivedData(withRootObject: ids, requiringSecureCoding: true)
        return [
            try NSKeyedUnarchiver.unarchivedArrayOfObjects(ofClass: CKRecord.ID.self, from: data) ?? [],
            try NSKeyedUnarchiver.unarchivedObject(ofClasses: [NSArray.self, CKRecord.ID.self], from: data)
                as? [CKRecord.ID] ?? [],
        ]
    }
}
