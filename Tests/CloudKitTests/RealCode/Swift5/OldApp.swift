// swift-format-ignore-file: NeverForceUnwrap

import CloudKit

// An app of the years before async functions: handlers that change what they captured, the names that Apple renamed,
// one completion block for a whole operation. No strict concurrency.

protocol CloudDatabase {
    func fetchBlocking(_ id: CKRecord.ID) -> (CKRecord?, Error?)
}

extension CKDatabase: CloudDatabase {
    func fetchBlocking(_ id: CKRecord.ID) -> (CKRecord?, Error?) {
        var found: CKRecord?
        var failure: Error?
        let done = DispatchSemaphore(value: 0)
        fetch(withRecordID: id) { record, error in
            found = record
            failure = error
            done.signal()
        }
        done.wait()
        return (found, failure)
    }
}

protocol OldNotes: AnyObject {
    var titles: [String] { get }
    var lastError: Error? { get }
    func save(_ titles: [String], completion: @escaping (Error?) -> Void)
    func load(_ names: [String], completion: @escaping ([CKRecord], [String: Error]) -> Void)
    func remove(_ name: String, completion: @escaping (CKRecord.ID?, Error?) -> Void)
    func makeZone(named name: String, completion: @escaping (CKRecordZone?, Error?) -> Void)
    func me(completion: @escaping (CKRecord?, CKAccountStatus) -> Void)
    func queued(_ log: @escaping (String) -> Void) -> OperationQueue
    func zoneOptions(_ zone: CKRecordZone.ID, since token: CKServerChangeToken?, keys: [String]) -> [String]?
    func subscriptionName(_ predicate: NSPredicate) -> String
}

final class OldNotesManager: OldNotes {
    let container: CKContainer
    var database: CKDatabase { container.privateCloudDatabase }
    var titles: [String] = []
    var lastError: Error?
    var progress: [CKRecord.ID: Double] = [:]

    @available(*, deprecated)
    init(container: CKContainer = CKContainer.default()) {
        self.container = container
    }

    @available(*, deprecated)
    func zoneOptions(_ zone: CKRecordZone.ID, since token: CKServerChangeToken?, keys: [String]) -> [String]? {
        var options: [CKRecordZoneID: CKFetchRecordZoneChangesOptions] = [:]
        let ofZone = CKFetchRecordZoneChangesOptions()
        ofZone.previousServerChangeToken = token
        ofZone.desiredKeys = keys
        options[zone] = ofZone
        let operation = CKFetchRecordZoneChangesOperation(recordZoneIDs: [zone], optionsByRecordZoneID: options)
        return operation.optionsByRecordZoneID?[zone]?.desiredKeys
    }

    @available(*, deprecated)
    func subscriptionName(_ predicate: NSPredicate) -> String { "public-Note-" + predicate.predicateFormat }

    @available(*, deprecated)
    func save(_ titles: [String], completion: @escaping (Error?) -> Void) {
        let records = titles.map { (title: String) -> CKRecord in
            let record = CKRecord(recordType: "Note", recordID: CKRecordID(recordName: title))
            record.setValue(title, forKey: "title")
            record.setObject(NSNumber(value: title.count), forKey: "length")
            record["owner"] = CKReference(recordID: CKRecordID(recordName: "someone"), action: .none)
            return record
        }
        let operation = CKModifyRecordsOperation(recordsToSave: records, recordIDsToDelete: nil)
        operation.savePolicy = .changedKeys
        operation.isAtomic = false
        operation.database = database
        operation.timeoutIntervalForRequest = 30
        operation.allowsCellularAccess = true
        operation.queuePriority = .veryHigh
        operation.qualityOfService = QualityOfService.userInitiated
        operation.perRecordProgressBlock = { [weak self] record, value in self?.progress[record.recordID] = value }
        operation.perRecordCompletionBlock = { [weak self] (record: CKRecord?, error: Error?) -> Void in
            if let title = record?["title"] as? String, error == nil { self?.titles.append(title) }
        }
        operation.modifyRecordsCompletionBlock = {
            [weak self] (saved: [CKRecord]?, deleted: [CKRecordID]?, error: Error?) in
            guard let self = self else { return }
            self.lastError = error
            if let error = error as NSError?, error.code == CKError.Code.limitExceeded.rawValue {
                self.save(Array(titles.prefix(titles.count / 2)), completion: completion)
                return
            }
            completion(error)
        }
        database.add(operation)
    }

    @available(*, deprecated)
    func load(_ names: [String], completion: @escaping ([CKRecord], [String: Error]) -> Void) {
        let operation = CKFetchRecordsOperation(recordIDs: names.map { CKRecordID(recordName: $0) })
        operation.desiredKeys = ["title"]
        var order: [String] = []
        operation.perRecordCompletionBlock = { record, recordID, error in
            order.append(recordID?.recordName ?? "?")
        }
        operation.fetchRecordsCompletionBlock = { recordsByID, error in
            let records = recordsByID?.values.map { $0 } ?? []
            var failed: [String: Error] = [:]
            if let error = error as? CKError, let partial = error.partialErrorsByItemID {
                for (id, error) in partial { failed[(id as! CKRecordID).recordName] = error }
            }
            completion(order.count == names.count ? records : [], failed)
        }
        container.privateCloudDatabase.add(operation)
    }

    func remove(_ name: String, completion: @escaping (CKRecord.ID?, Error?) -> Void) {
        database.delete(withRecordID: CKRecord.ID(recordName: name), completionHandler: completion)
    }

    @available(*, deprecated)
    func makeZone(named name: String, completion: @escaping (CKRecordZone?, Error?) -> Void) {
        let zone = CKRecordZone(zoneID: CKRecordZoneID(zoneName: name, ownerName: CKOwnerDefaultName))
        let operation = CKModifyRecordZonesOperation(recordZonesToSave: [zone], recordZoneIDsToDelete: nil)
        operation.modifyRecordZonesCompletionBlock = { saved, _, error in
            DispatchQueue.global().async { completion(saved?.first, error) }
        }
        database.add(operation)
    }

    func me(completion: @escaping (CKRecord?, CKAccountStatus) -> Void) {
        container.accountStatus { status, error in
            guard status == .available, error == nil else { return completion(nil, status) }
            self.container.fetchUserRecordID { id, error in
                guard let id = id else { return completion(nil, status) }
                self.database.fetch(withRecordID: id) { user, error in completion(user, status) }
            }
        }
    }

    /// Two operations of which the second waits for the first, in a queue of the app's.
    func queued(_ log: @escaping (String) -> Void) -> OperationQueue {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 4
        let first = LoggingModify(label: "first", records: [CKRecord(recordType: "Note")])
        let second = LoggingModify(label: "second", records: [CKRecord(recordType: "Note")])
        for operation in [first, second] {
            operation.database = database
            operation.log = log
        }
        second.addDependency(first)
        queue.addOperations([second, first], waitUntilFinished: false)
        return queue
    }
}

/// An operation that apps make their own: prepares itself in `main`.
class LoggingModify: CKModifyRecordsOperation, @unchecked Sendable {
    var label = ""
    var log: (String) -> Void = { _ in }

    override init() { super.init() }

    convenience init(label: String, records: [CKRecord]) {
        self.init(recordsToSave: records, recordIDsToDelete: nil)
        self.label = label
    }

    override var savePolicy: RecordSavePolicy {
        get { .allKeys }
        set { log("the policy stays") }
    }

    override func main() {
        log("\(label) starts")
        modifyRecordsResultBlock = { [label, log] result in
            if case .success = result { log("\(label) ends") }
        }
        super.main()
    }

    override func cancel() {
        log("\(label) is cancelled")
        super.cancel()
    }
}
