import Foundation
import NephosWire

/// The request of a `CKModifyRecordsOperation`, with the mapping of the answer's results to the items of the operation.
struct ModifyRecordsPlan: Sendable {
    /// The items and options that the app has set.
    struct Input: Sendable {
        var recordsToSave: [CKRecord]?
        var recordIDsToDelete: [CKRecord.ID]?
        var savePolicy = CKModifyRecordsOperation.RecordSavePolicy.ifServerRecordUnchanged
        var clientChangeTokenData: Data?
        var isAtomic = true
    }

    typealias Event = ModificationReport<CKRecord.ID, CKRecord>.Event

    private enum Item: Sendable {
        /// The record of the app, and the snapshot of it that is sent.
        case save(CKRecord, sent: RecordSnapshot)
        case delete(CKRecord.ID)

        var recordID: CKRecord.ID {
            switch self {
            case .save(let record, _): record.recordID
            case .delete(let recordID): recordID
            }
        }

        var inBatch: BatchDependents.Item {
            var item = BatchDependents.Item(recordName: recordID.recordName, zoneID: recordID.zoneID.wireValue)
            if case .save(_, let sent) = self { item.root = sent.share?.forRecord?.recordName }
            return item
        }
    }

    private let input: Input
    private let items: [Item]
    /// The errors of the items that are not sent, by the index of the item.
    private var refused: [Int: CKError] = [:]
    /// The uploaded assets of items, by the index of the item.
    private var uploaded: [Int: [AssetSlot: AssetValue]] = [:]
    /// The answers of the service, by the index of the item.
    private var answers: [Int: RecordResult] = [:]
    private let errors: ErrorContext

    /// Plans the request.
    /// - Throws: `invalidArguments` if a record occurs twice.
    init(_ input: Input, _ errors: ErrorContext) throws(CKError) {
        let records = input.recordsToSave ?? []
        let deletions = input.recordIDsToDelete ?? []
        try Self.refuseDuplicates(records, deletions, errors)
        self.input = input
        self.errors = errors
        items = records.map { .save($0, sent: $0.snapshot()) } + deletions.map { .delete($0) }
        for (index, item) in items.enumerated() {
            guard case .save(_, let sent) = item, let problem = sent.problem(input.savePolicy.selection) else {
                continue
            }
            refused[index] = CKError(.invalidArguments, problem, errors)
        }
        refuseDependents()
    }

    var isEmpty: Bool { items.isEmpty }

    /// The items that are to be sent, and have no answer yet.
    private var unsent: [Int] { items.indices.filter { refused[$0] == nil && answers[$0] == nil } }

    /// Returns the request for the items to send; nil if there are none. If all items are in one zone, the request
    /// names the zone once, as CloudKit Web Services does. Otherwise each item names its zone.
    func request() -> ModifyRecordsRequest? {
        let sent = unsent
        guard let first = sent.first else { return nil }
        let zoneID = items[first].recordID.zoneID
        let isOneZone = sent.allSatisfy { items[$0].recordID.zoneID == zoneID }
        let operations = sent.map { index in
            var operation: RecordOperation
            switch items[index] {
            case .save(_, let sent):
                operation = RecordOperation(saving: sent, input.savePolicy, uploaded[index] ?? [:])
            case .delete(let recordID): operation = RecordOperation(deleting: recordID)
            }
            if !isOneZone { operation.record.zoneID = items[index].recordID.zoneID.wireValue }
            return operation
        }
        return ModifyRecordsRequest(
            operations: operations, zoneID: isOneZone ? zoneID.wireValue : nil, atomic: input.isAtomic,
            // The client already has the records, so the answer needs only the fields that the service assigns.
            desiredKeys: [], wantsServerRecord: true,
            clientChangeToken: input.clientChangeTokenData?.base64EncodedString())
    }

    /// Stores the answers to `request()`.
    mutating func note(_ results: [RecordResult]) {
        for (index, result) in zip(unsent, results) { answers[index] = result }
    }

    mutating func refuseUnsent(_ error: CKError) {
        for index in unsent { refused[index] = error }
    }

    // MARK: Assets

    typealias Waiting = (index: Int, record: WaitingRecord)

    /// The items whose files must be uploaded first.
    var waiting: [Waiting] { items.indices.compactMap { waiting($0) } }

    /// Returns the items that are to be sent again with their files. Another device replaced or removed the files that the
    /// service had when the records were fetched or saved. Discards the answers of all `RepeatedItems`.
    mutating func takeLackingFiles() -> [Waiting] {
        let lacking = answers.filter(\.value.needsFile).keys.sorted().compactMap { waiting($0, lacksFiles: true) }
        let repeated = RepeatedItems.of(answers, lacking: lacking.map(\.index)) { items[$0].recordID.zoneID }
        answers = answers.filter { !repeated.contains($0.key) }
        return lacking
    }

    private func waiting(_ index: Int, lacksFiles: Bool = false) -> Waiting? {
        guard case .save(_, let sent) = items[index], refused[index] == nil else { return nil }
        let assets = sent.assetsToUpload(input.savePolicy.selection, lacksFiles: lacksFiles).map {
            WaitingRecord.Asset(slot: AssetSlot(key: $0.key, index: $0.index), asset: $0.asset)
        }
        guard !assets.isEmpty else { return nil }
        return (
            index,
            WaitingRecord(
                recordID: sent.recordID, recordType: sent.recordType,
                parent: sent.state.parent?.recordID.recordName, assets: assets)
        )
    }

    /// Stores the results of the uploads for `waiting`. An item whose upload failed is not sent.
    mutating func note(
        _ results: [DatabaseRequestContext.UploadResult], of waiting: [Waiting]
    ) {
        for (item, result) in zip(waiting, results) {
            switch result {
            case .success(let values): uploaded[item.index] = values
            case .failure(let error): refused[item.index] = error
            }
        }
        refuseDependents()
    }

    private mutating func refuseDependents() {
        if refused.isEmpty { return }
        var inBatch = items.map(\.inBatch)
        for (index, error) in refused { inBatch[index].isRefusedByService = !error.isRefusalOnDevice }
        let dependents = BatchDependents(of: Set(refused.keys), in: inBatch, isAtomic: input.isAtomic)
        for (index, reason) in dependents.reasons where answers[index] == nil {
            refused[index] = CKError(.batchRequestFailed, reason, errors)
        }
    }

    private static func refuseDuplicates(
        _ records: [CKRecord], _ deletions: [CKRecord.ID], _ errors: ErrorContext
    ) throws(CKError) {
        var seen: Set<CKRecord.ID> = []
        seen.reserveCapacity(records.count + deletions.count)
        for record in records where !seen.insert(record.recordID).inserted {
            throw CKError(
                .invalidArguments, "You can't save the same record twice: \(record.recordID.recordName)", errors)
        }
        let saved = seen
        for recordID in deletions where !seen.insert(recordID).inserted {
            let what = saved.contains(recordID) ? "save and delete the same record" : "delete the same record twice"
            throw CKError(.invalidArguments, "You can't \(what): \(recordID.recordName)", errors)
        }
    }

    /// Returns the results in the order of the items. Updates the saved records from the service's answers.
    func outcomes(_ context: DatabaseRequestContext) -> [Event] {
        items.enumerated().map { index, item in
            if let error = refused[index] {
                switch item {
                case .save(let record, _): return .save(record.recordID, record, error)
                case .delete(let recordID): return .delete(recordID, error)
                }
            }
            let missing = ErrorDictionary(
                uuid: "", serverErrorCode: .internalError, reason: "The service left an item out.")
            let answer = answers[index] ?? .failure(missing)
            switch item {
            case .save(let record, let sent):
                return .save(record.recordID, record, outcome(of: answer, record, sent, context))
            case .delete(let recordID): return .delete(recordID, outcome(of: answer))
            }
        }
    }

    private func outcome(
        of answer: RecordResult, _ record: CKRecord, _ sent: RecordSnapshot, _ context: DatabaseRequestContext
    ) -> CKError? {
        switch answer {
        case .record(let saved):
            record.absorb(saved: saved, of: sent, context.session.users)
            return nil
        case .deleted:
            return CKError(.internalError, "The service deleted a record that was to be saved.", errors)
        case .failure(let error):
            guard CKError.Code(error) == .serverRecordChanged else { return CKError(error, errors) }
            var info: [String: Any] = [
                CKRecordChangedErrorClientRecordKey: record.record(with: sent.state),
                CKRecordChangedErrorAncestorRecordKey: record.record(with: sent.state.original),
            ]
            if let server = error.serverRecord.first {
                info[CKRecordChangedErrorServerRecordKey] = try? context.record(
                    server, sent.recordID, context.session.users)
            }
            return CKError(error, errors, adding: info)
        }
    }

    private func outcome(of answer: RecordResult) -> CKError? {
        // Deleting a record that does not exist counts as success.
        guard case .failure(let error) = answer, CKError.Code(error) != .unknownItem else { return nil }
        return CKError(error, errors)
    }
}

extension CKModifyRecordsOperation.RecordSavePolicy {
    /// The fields of a record that are sent under this policy.
    fileprivate var selection: FieldSelection { self == .allKeys ? .all : .changed }
}

extension RecordOperation {
    /// An operation that saves a record under a policy. A share is always saved under the default policy.
    fileprivate init(
        saving record: RecordSnapshot, _ policy: CKModifyRecordsOperation.RecordSavePolicy,
        _ uploaded: [AssetSlot: AssetValue]
    ) {
        let policy = record.recordType == CKRecord.SystemType.share ? .ifServerRecordUnchanged : policy
        let comparesTag = policy == .ifServerRecordUnchanged
        let type: OperationType =
            !comparesTag ? .forceUpdate : record.recordChangeTag == nil ? .create : .update
        self.init(
            operationType: type,
            record: RecordToModify(
                recordName: record.recordID.recordName, recordType: record.recordType,
                recordChangeTag: comparesTag ? record.recordChangeTag : nil,
                fields: record.fieldsToSend(policy.selection, uploaded: uploaded),
                parent: record.parentToSend(policy.selection), share: record.share))
    }

    /// An operation that deletes a record, whatever its version on the server.
    fileprivate init(deleting recordID: CKRecord.ID) {
        self.init(operationType: .forceDelete, record: RecordToModify(recordName: recordID.recordName))
    }
}

extension CKError {
    /// Whether the library refuses an item for this before it asks the service: a value or a file that cannot be sent.
    fileprivate var isRefusalOnDevice: Bool {
        [.invalidArguments, .assetFileNotFound, .assetFileModified].contains(code)
    }
}
