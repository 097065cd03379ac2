import NephosWire

/// Saves and deletes zones of the private database (CKModifyRecordZonesOperation, Apple's documentation). With a zone
/// go all of its records.
open class CKModifyRecordZonesOperation: CKDatabaseOperation, @unchecked Sendable {
    private struct Request {
        var recordZonesToSave: [CKRecordZone]?
        var recordZoneIDsToDelete: [CKRecordZone.ID]?
    }

    private struct Blocks {
        var perZoneSave: ((CKRecordZone.ID, Result<CKRecordZone, any Error>) -> Void)?
        var perZoneDelete: ((CKRecordZone.ID, Result<Void, any Error>) -> Void)?
        var result: ((Result<Void, any Error>) -> Void)?
        var completion: (([CKRecordZone]?, [CKRecordZone.ID]?, (any Error)?) -> Void)?
    }

    /// What the items came to, for the older completion block.
    private struct Outcome {
        var saved: [CKRecordZone] = []
        var deleted: [CKRecordZone.ID] = []
        var errors: [AnyHashable: any Error] = [:]
    }

    private enum Item: Sendable {
        case save(CKRecordZone, CKError?)
        case delete(CKRecordZone.ID, CKError?)
    }

    private let request = Locked(Request())
    private let blocks = Locked(Blocks())
    private let outcome = Locked(Outcome())

    public override init() { super.init() }

    /// An operation with something to do; at least one of the two should be given.
    public convenience init(recordZonesToSave: [CKRecordZone]? = nil, recordZoneIDsToDelete: [CKRecordZone.ID]? = nil) {
        self.init()
        self.recordZonesToSave = recordZonesToSave
        self.recordZoneIDsToDelete = recordZoneIDsToDelete
    }

    /// The zones to save; saving one that exists changes nothing.
    open var recordZonesToSave: [CKRecordZone]? {
        get { request.recordZonesToSave }
        set { request.recordZonesToSave = newValue }
    }

    /// The IDs of the zones to delete.
    open var recordZoneIDsToDelete: [CKRecordZone.ID]? {
        get { request.recordZoneIDsToDelete }
        set { request.recordZoneIDsToDelete = newValue }
    }

    /// Called once for every zone to save, with the zone as the server has it.
    open var perRecordZoneSaveBlock:
        ((_ recordZoneID: CKRecordZone.ID, _ saveResult: Result<CKRecordZone, any Error>) -> Void)?
    {
        get { blocks.perZoneSave }
        set { blocks.perZoneSave = newValue }
    }

    /// Called once for every zone to delete.
    open var perRecordZoneDeleteBlock:
        ((_ recordZoneID: CKRecordZone.ID, _ deleteResult: Result<Void, any Error>) -> Void)?
    {
        get { blocks.perZoneDelete }
        set { blocks.perZoneDelete = newValue }
    }

    /// Called once, at the end. Fails only with what concerns the whole operation, never with `partialFailure`.
    open var modifyRecordZonesResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { blocks.result }
        set { blocks.result = newValue }
    }

    /// Called once, at the end, with what was saved and deleted; if some items failed, with a `partialFailure`.
    @available(*, deprecated, message: "use modifyRecordZonesResultBlock")
    open var modifyRecordZonesCompletionBlock: (([CKRecordZone]?, [CKRecordZone.ID]?, (any Error)?) -> Void)? {
        get { blocks.completion }
        set { blocks.completion = newValue }
    }

    // MARK: Running

    override func perform() async throws(CKError) {
        let context = makeRequestContext()
        let request = request.withLock { $0 }
        let saved = request.recordZonesToSave ?? []
        let savedIDs = saved.map(\.zoneID).uniqued()
        let deletedIDs = (request.recordZoneIDsToDelete ?? []).uniqued()
        if let both = deletedIDs.first(where: Set(savedIDs).contains) {
            throw CKError(
                .invalidArguments, "You can't save and delete the same zone: \(both.zoneName)", context.errors)
        }
        guard !savedIDs.isEmpty || !deletedIDs.isEmpty else { return }
        try context.requireAccount()
        let errors = try await context.modifyZones(
            savedIDs.map { ZoneOperation(operationType: .create, zoneID: $0.wireValue) }
                + deletedIDs.map { ZoneOperation(operationType: .delete, zoneID: $0.wireValue) })
        let errorsByID = Dictionary(zip(savedIDs + deletedIDs, errors)) { first, _ in first }
        let items =
            saved.map { Item.save($0, errorsByID[$0.zoneID] ?? nil) }
            + deletedIDs.map { Item.delete($0, errorsByID[$0] ?? nil) }
        deliver(items) { self.hand(out: $0) }
    }

    private func hand(out item: Item) {
        let blocks = blocks.withLock { $0 }
        switch item {
        case .save(let zone, let error):
            if error == nil { zone.absorbSave() }
            outcome.withLock { outcome in
                if let error { outcome.errors[zone.zoneID] = error } else { outcome.saved.append(zone) }
            }
            blocks.perZoneSave?(zone.zoneID, error.map { .failure($0) } ?? .success(zone))
        case .delete(let zoneID, let error):
            outcome.withLock { outcome in
                if let error { outcome.errors[zoneID] = error } else { outcome.deleted.append(zoneID) }
            }
            blocks.perZoneDelete?(zoneID, error.map { .failure($0) } ?? .success(()))
        }
    }

    override func conclude(_ failure: CKError?) {
        let blocks = blocks.withLock { $0 }
        let outcome = outcome.exchange(Outcome())
        blocks.result?(failure.map { .failure($0) } ?? .success(()))
        if let failure {
            blocks.completion?(nil, nil, failure)
        } else {
            let partial = outcome.errors.isEmpty ? nil : CKError.partialFailure(outcome.errors, errorContext)
            blocks.completion?(outcome.saved, outcome.deleted, partial)
        }
    }

    override func releaseBlocks() {
        super.releaseBlocks()
        blocks.exchange(Blocks())
    }
}
