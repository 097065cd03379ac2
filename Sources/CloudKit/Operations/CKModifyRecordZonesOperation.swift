import NephosWire

/// Saves and deletes zones of the private database (CKModifyRecordZonesOperation, Apple's documentation). Deleting a
/// zone deletes all its records.
open class CKModifyRecordZonesOperation: CKDatabaseOperation, @unchecked Sendable {
    private struct Request {
        var recordZonesToSave: [CKRecordZone]?
        var recordZoneIDsToDelete: [CKRecordZone.ID]?
    }

    private typealias Event = ModificationReport<CKRecordZone.ID, CKRecordZone>.Event

    private let request = Locked(Request())
    private let report = ModificationReport<CKRecordZone.ID, CKRecordZone>()

    public override init() { super.init() }

    /// An operation that saves and deletes zones. At least one of the two lists should not be nil.
    public convenience init(recordZonesToSave: [CKRecordZone]? = nil, recordZoneIDsToDelete: [CKRecordZone.ID]? = nil) {
        self.init()
        self.recordZonesToSave = recordZonesToSave
        self.recordZoneIDsToDelete = recordZoneIDsToDelete
    }

    /// The zones to save; nil for none. Saving an existing zone changes nothing.
    open var recordZonesToSave: [CKRecordZone]? {
        get { request.recordZonesToSave }
        set { request.recordZonesToSave = newValue }
    }

    /// The IDs of the zones to delete permanently, with all their records; nil for none.
    open var recordZoneIDsToDelete: [CKRecordZone.ID]? {
        get { request.recordZoneIDsToDelete }
        set { request.recordZoneIDsToDelete = newValue }
    }

    /// Called once for every zone to save, with the server's zone or the error.
    open var perRecordZoneSaveBlock:
        ((_ recordZoneID: CKRecordZone.ID, _ saveResult: Result<CKRecordZone, any Error>) -> Void)?
    {
        get { report.blocks.perSave }
        set { report.blocks.perSave = newValue }
    }

    /// Called once for every zone to delete, with success or the error.
    open var perRecordZoneDeleteBlock:
        ((_ recordZoneID: CKRecordZone.ID, _ deleteResult: Result<Void, any Error>) -> Void)?
    {
        get { report.blocks.perDelete }
        set { report.blocks.perDelete = newValue }
    }

    /// Called once, at the end. If items failed, the error is a `partialFailure` with their errors by item.
    open var modifyRecordZonesResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { report.blocks.result }
        set { report.blocks.result = newValue }
    }

    /// Called once, at the end, with the saved zones and the deleted IDs. If items failed, the error is a
    /// `partialFailure`.
    @available(*, deprecated, message: "use modifyRecordZonesResultBlock")
    open var modifyRecordZonesCompletionBlock: (([CKRecordZone]?, [CKRecordZone.ID]?, (any Error)?) -> Void)? {
        get { report.blocks.completion }
        set { report.blocks.completion = newValue }
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
        let scopes = Dictionary(saved.map { ($0.zoneID, $0.wireScope) }) { first, _ in first }
        let results = try await context.modifyZones(
            savedIDs.map {
                ZoneOperation(
                    operationType: .create, zoneID: $0.wireValue, encryptionScope: scopes[$0] ?? .perRecord)
            } + deletedIDs.map { ZoneOperation(operationType: .delete, zoneID: $0.wireValue) })
        let resultsByID = Dictionary(zip(savedIDs + deletedIDs, results)) { first, _ in first }
        func failure(_ zoneID: CKRecordZone.ID) -> CKError? {
            if case .failure(let error)? = resultsByID[zoneID] { error } else { nil }
        }
        let items =
            saved.map { Event.save($0.zoneID, $0, failure($0.zoneID)) }
            + deletedIDs.map { Event.delete($0, failure($0)) }
        deliver(items) { event in
            if case .save(let zoneID, let zone, nil) = event { zone.absorbSave(try? resultsByID[zoneID]?.get()) }
            self.report.tell(event)
        }
    }

    override func conclude(_ failure: CKError?) {
        report.conclude(failure, errorContext)
    }

    override func releaseBlocks() {
        super.releaseBlocks()
        report.releaseBlocks()
    }
}
