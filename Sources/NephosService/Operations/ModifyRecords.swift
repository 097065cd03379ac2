import NephosStorage
import NephosWire

/// `records/modify`: validates the request without I/O, then loads, decides and applies it in one transaction, then
/// builds the response.
///
/// Operations are decided zone by zone, because neither references nor atomicity cross zones. The order of the
/// operations in a zone does not matter: a record may precede the records to which it refers.
///
/// A class, because closures capture the whole value.
final class ModifyRecords: Sendable {
    let request: ModifyRecordsRequest
    let caller: Caller
    let account: AccountRow
    let environment: ServiceEnvironment
    let configuration: ServiceConfiguration

    /// One operation of the request, with its validation result.
    struct Item {
        var address: ZoneAddress
        var operation: Result<ValidOperation, ServiceError>
    }

    private let items: [Item]
    /// The indexes of each zone's items, in request order.
    private let zones: [(address: ZoneAddress, items: [Int])]

    // MARK: - Validate

    init(
        _ request: ModifyRecordsRequest, caller: Caller, environment: ServiceEnvironment,
        configuration: ServiceConfiguration
    ) throws(ServiceError) {
        self.request = request
        self.caller = caller
        self.environment = environment
        self.configuration = configuration
        account = try caller.requireAccount()
        try Self.checkSize(request, configuration)
        items = try Self.validate(request, caller, environment)
        zones = try Self.group(items)
    }

    private static func checkSize(
        _ request: ModifyRecordsRequest, _ configuration: ServiceConfiguration
    ) throws(ServiceError) {
        let limit = configuration.operationsPerRequest
        if request.operations.count > limit {
            throw .limitExceeded(
                "number of operations exceeds the limit of \(limit): \(request.operations.count); send several requests"
            )
        }
        let listed = request.operations.reduce(0) { $0 + ($1.record.share?.listedCount ?? 0) }
        if listed > Limits.listedPerRequest {
            throw .limitExceeded(
                "the shares of the request list \(listed) participants, requesters and blocked accounts; at most"
                    + " \(Limits.listedPerRequest) are allowed; send several requests")
        }
        if let token = request.clientChangeToken, token.utf8.count > Limits.clientChangeTokenSize {
            throw .limitExceeded(
                "clientChangeToken has \(token.utf8.count) bytes; at most \(Limits.clientChangeTokenSize) are allowed")
        }
        let size = request.operations.reduce(0) { $0 + $1.record.fields.storedSize }
        if size > Limits.requestSize {
            throw .limitExceeded(
                "the request holds \(size) bytes of records without assets; at most \(Limits.requestSize) are allowed; send"
                    + " several requests")
        }
    }

    /// Validates each operation. An operation without a required key, or with an invalid name, makes the whole request
    /// malformed; our own library, which asks for the server's record, instead gets every refusal at its item. A
    /// violation of the schema or of the database's rules is refused at its item for every caller, so that one wrong
    /// record of a batch does not fail the others.
    private static func validate(
        _ request: ModifyRecordsRequest, _ caller: Caller, _ environment: ServiceEnvironment
    ) throws(ServiceError) -> [Item] {
        var items: [Item] = []
        items.reserveCapacity(request.operations.count)
        for (index, operation) in request.operations.enumerated() {
            let address = caller.address(operation.record.zoneID ?? request.zoneID)
            let validation = RecordValidation(
                scope: caller.scope, zone: address, user: caller.currentUser)
            do throws(ServiceError) {
                let valid = try validation.validate(operation, makeRecordName: environment.makeUUID)
                items.append(Item(address: address, operation: .success(valid)))
            } catch {
                if error.isMalformedOperation && !request.wantsServerRecord { throw requestError(error, at: index) }
                items.append(Item(address: address, operation: .failure(error)))
            }
        }
        return items
    }

    /// Groups the items by zone, and checks the rule "One operation per record" (CloudKit Web Services,
    /// records/modify).
    private static func group(_ items: [Item]) throws(ServiceError) -> [(ZoneAddress, [Int])] {
        var groups: [(address: ZoneAddress, items: [Int])] = []
        var names: [Set<String>] = []
        var position = 0
        for (index, item) in items.enumerated() {
            // Most items have the zone of the previous item, and a request has few zones, so a linear search is enough.
            if groups.isEmpty || groups[position].address != item.address {
                position = groups.firstIndex { $0.address == item.address } ?? groups.count
                if position == groups.count {
                    groups.append((item.address, []))
                    names.append([])
                }
            }
            groups[position].items.append(index)
            guard case .success(let operation) = item.operation else { continue }
            if !names[position].insert(operation.recordName).inserted {
                throw .invalid("record '\(operation.recordName)' appears in more than one operation")
            }
        }
        return groups
    }

    /// The owners whose rows the request changes, as far as they are known before it is decided.
    func owners(_ accounts: Accounts) -> Set<OwnerID> {
        guard caller.scope == .shared else { return Set([caller.owner].compactMap(\.self)) }
        return Set(
            zones.compactMap { zone in
                zone.address.sharedBy.flatMap { accounts.sharingOwner(named: $0, for: account.id) }
            })
    }

    // MARK: - Decide and apply, in the transaction

    struct Applied: Sendable {
        var outcomes: [RecordOutcome]
        /// The schema with this request's additions; nil if the cached schema was enough.
        var schema: Schema?
        /// The record types and fields that the request added to the schema, a sentence each.
        var additions: [String] = []
        /// The moment and the version under which `schema` may be cached; nil if it may not be cached.
        var cached: (moment: SchemaCatalog.Moment, version: Int64)?
        var leftJobs: Bool
        /// Whether change events were stored, so that subscribers must be notified.
        var leftEvents = false
        /// The user record names of the accounts in the outcomes.
        var userRecordNames: [Int64: String]
        /// The share details that a share has besides its record, by the index of the share's item.
        var shares: [Int: ShareDictionary] = [:]
        /// The last parts of share URLs, by the index of the item that requested one.
        var shortGUIDs: [Int: String] = [:]
        /// The number of bytes stored as the request's outcome, for a repetition of the request.
        var outcomeBytes = 0
        /// The bytes that were saved, by the owner of the database.
        var savedBytes: [OwnerID: Int64] = [:]
        /// The owners of databases without quota left that were made smaller.
        var freed: Set<OwnerID> = []
        /// The owners of databases without quota left, to which saves were refused.
        var full: Set<OwnerID> = []
        /// The memory reserved for the records of the response.
        var room: AnswersInMemory.Room?

        /// Whether any operation was carried out.
        var changes: Bool { outcomes.contains { !$0.isRefused } }
        /// Whether any operation was refused.
        var isRefusedInPart: Bool { outcomes.contains { $0.isRefused } }
    }

    /// The parts of the store on which the decisions depend.
    struct Inputs {
        let accounts: Accounts
        let indexes: IndexDefinitions
        let notifier: Notifier
        let lookups: RateLimit<Int64>
        let cascades: FoundCascades
        let quota: RecordQuota
    }

    func run(schema: Schema, _ inputs: Inputs, in transaction: StorageTransaction) throws -> Applied {
        var applied = Applied(
            outcomes: Array(repeating: .refused(.internalError, server: nil), count: items.count), leftJobs: false,
            userRecordNames: [:])
        var schema = schema
        let now = environment.now()
        let deviceLists = DeviceLists(caller, transaction)
        for zone in zones {
            let names = zone.items.compactMap { try? items[$0].operation.get().recordName }
            transaction.expectZone(named: zone.address.zoneName, records: names, shares: ZoneShares.sharesRead)
            guard let found = try ZoneRegistry.find(zone.address, caller, transaction) else {
                try refuse(zone.items, missing: zone.address, in: &applied, transaction)
                continue
            }
            if found.shared != nil { try transaction.expectSharedRecords(zone: found.row.key, named: names) }
            if let owner = zone.address.sharedBy {
                inputs.accounts.remember(sharingOwner: found.row.key.owner, named: owner, for: account.id)
            }
            let batch = batch(of: names, in: found, inputs, deviceLists, now: now, transaction)
            try run(batch, of: zone.items, &schema, &applied, in: transaction)
            let row = found.row
            if try inputs.notifier.notify(of: batch.changes, in: row, by: caller.origin, transaction) {
                applied.leftEvents = true
            }
            if try batch.sharedChanges.leaveJobs(zone: row.key, by: caller.origin, in: transaction) {
                applied.leftJobs = true
            }
        }
        applied.room = try AnswersInMemory.room(for: applied.outcomes)
        applied.userRecordNames = try userRecordNames(applied.outcomes, inputs.accounts, transaction)
        applied.shares = try shares(applied.outcomes, inputs.accounts, transaction)
        return applied
    }

    private func batch(
        of names: [String], in zone: FoundZone, _ inputs: Inputs, _ deviceLists: DeviceLists, now: Int64,
        _ transaction: StorageTransaction
    ) -> ZoneBatch {
        let row = zone.row
        return ZoneBatch(
            zone: row, merge: FieldMerge(zone: row.key, now: now, account: account.id),
            isAtomic: AtomicBatch.applies(to: row.name, requested: request.atomic),
            caller: caller,
            indexes: IndexWriter(definitions: inputs.indexes, accounts: inputs.accounts),
            changes: inputs.notifier.changes(in: row.key), reader: transaction, shared: zone.shared,
            knowsKeys: request.wantsServerRecord && !request.lacksKeys, names: Set(names),
            sharedChanges: SharedChanges(inputs.notifier.watched), environment: environment,
            invitations: InvitationCount(inputs.lookups), deviceLists: deviceLists,
            storedParents: StoredParents(row.key, transaction), found: inputs.cascades,
            quotaRefusal: inputs.quota.refusal(of: row.key.owner),
            makeSequence: { try transaction.nextSequence() })
    }

    /// Decides and applies a zone's operations.
    private func run(
        _ batch: ZoneBatch, of indexes: [Int], _ schema: inout Schema, _ applied: inout Applied,
        in transaction: StorageTransaction
    ) throws {
        let operations = try indexes.map { try withoutSystemsNames(items[$0].operation, at: $0, transaction) }
        var plan = try batch.plan(operations, schema: schema)
        if plan.needsSchemaRead, applied.schema == nil {
            // The cached schema may be stale: another transaction may have added the types or fields that it lacks.
            schema = try Schema(transaction)
            plan = try batch.plan(operations, schema: schema)
            applied.schema = schema
        }
        let outcomes = try plan.apply(batch, in: transaction)
        for (index, outcome) in zip(indexes, outcomes) { applied.outcomes[index] = outcome }
        note(outcomes, of: batch, &applied)
        if !plan.additions.isEmpty {
            if plan.schema.beginsToSeal(after: schema) {
                try transaction.insert(KeyAttentionJob(about: .container).row)
                applied.leftJobs = true
            }
            applied.additions += SchemaChanges.sentences(from: schema, to: plan.schema)
            schema = plan.schema
            applied.schema = schema
        }
        applied.leftJobs = applied.leftJobs || plan.leavesJobs
        for (index, outcome) in zip(indexes, outcomes) {
            guard case .saved(let record) = outcome, try items[index].operation.get().createsShortGUID else { continue }
            applied.shortGUIDs[index] = try batch.findOrMakeShortGUID(of: record, in: transaction)
        }
        try keepClientChangeToken(batch, outcomes, &applied, in: transaction)
    }

    /// Notes what the quota of the zone's owner is to know.
    private func note(_ outcomes: [RecordOutcome], of batch: ZoneBatch, _ applied: inout Applied) {
        let owner = batch.zone.key.owner
        for outcome in outcomes {
            switch outcome {
            case .saved(let row):
                applied.savedBytes[owner, default: 0] +=
                    Int64(row.fields.count + row.name.utf8.count) + RecordQuota.rowOverhead
                if batch.quotaRefusal != nil { applied.freed.insert(owner) }
            case .deleted where batch.quotaRefusal != nil: applied.freed.insert(owner)
            case .refused(let error, _) where error == batch.quotaRefusal: applied.full.insert(owner)
            default: break
            }
        }
    }

    /// Refuses operations on record names that are reserved for the system. The caller must not change another user's
    /// record, and no record has any other reserved name.
    private func withoutSystemsNames(
        _ operation: Result<ValidOperation, ServiceError>, at index: Int, _ reader: StorageReader
    ) throws -> Result<ValidOperation, ServiceError> {
        guard case .success(let valid) = operation,
            let error = try RecordName.refusalOfSystems(valid.recordName, caller, reader)
        else { return operation }
        if error == .anothersUserRecord { return .failure(error) }
        if !request.wantsServerRecord { throw Self.requestError(error, at: index) }
        return .failure(error)
    }

    /// Stores the request's client change token in the zone. A zone has the token of the newest request that modified
    /// the zone (`clientChangeTokenData`, Apple's documentation).
    /// - Throws: `quotaExceeded` for a longer token in a database without quota left, unless the request only deletes, which
    ///   makes room.
    private func keepClientChangeToken(
        _ batch: ZoneBatch, _ outcomes: [RecordOutcome], _ applied: inout Applied, in transaction: StorageTransaction
    ) throws {
        let zone = batch.zone
        guard zone.clientChangeToken != request.clientChangeToken, ZoneRules.hasChangeFeed(zone.name) else { return }
        let modifies = outcomes.contains { if case .refused = $0 { false } else { true } }
        guard modifies else { return }
        let size = request.clientChangeToken?.utf8.count ?? 0
        let saves = outcomes.contains { if case .saved = $0 { true } else { false } }
        if saves, let refusal = batch.quotaRefusal, size > zone.clientChangeToken?.utf8.count ?? 0 { throw refusal }
        applied.savedBytes[zone.key.owner, default: 0] += Int64(size)
        try transaction.setClientChangeToken(request.clientChangeToken, zone: zone.key)
    }

    /// Refuses the items of a missing zone. If an item names the zone, only that item fails. If the request names the
    /// zone for all items, the request fails, except for our own library, which gets every refusal at its item.
    private func refuse(
        _ indexes: [Int], missing address: ZoneAddress, in applied: inout Applied, _ reader: StorageReader
    ) throws {
        let error = try ZoneRegistry.notFound(address, caller, .toSave, reader)
        for index in indexes {
            guard request.wantsServerRecord || request.operations[index].record.zoneID != nil else { throw error }
            applied.outcomes[index] = .refused(error, server: nil)
        }
    }

    private static func requestError(_ error: ServiceError, at index: Int) -> ServiceError {
        var error = error
        error.reason = "operations[\(index)]: \(error.reason)"
        return error
    }

    private func shares(
        _ outcomes: [RecordOutcome], _ accounts: Accounts, _ reader: StorageReader
    ) throws -> [Int: ShareDictionary] {
        lazy var details = ShareDetails(account: account, accounts: accounts, reader: reader)
        var shares: [Int: ShareDictionary] = [:]
        for (index, outcome) in outcomes.enumerated() {
            guard let row = outcome.row, row.type == SystemRecordType.share else { continue }
            shares[index] = try details.dictionary(zone: row.zone, named: row.name)
        }
        return shares
    }

    private func userRecordNames(
        _ outcomes: [RecordOutcome], _ accounts: Accounts, _ reader: StorageReader
    ) throws -> [Int64: String] {
        var names = [account.id: account.userRecordName]
        for outcome in outcomes {
            guard let row = outcome.row else { continue }
            for id in [row.createdBy, row.modifiedBy] where names[id] == nil {
                names[id] = try accounts.userRecordName(id: id, reader)
            }
        }
        return names
    }

    // MARK: - Answer

    func response(_ applied: Applied) -> RecordsResponse {
        let records = zip(request.operations.indices, applied.outcomes).map { index, outcome in
            result(index, outcome, applied)
        }
        return RecordsResponse(records: records)
    }

    private func result(_ index: Int, _ outcome: RecordOutcome, _ applied: Applied) -> RecordResult {
        let operation = request.operations[index]
        let zoneID = operation.record.zoneID.map(caller.spelled)
        let numbersAsStrings = operation.numbersAsStrings ?? request.numbersAsStrings
        let answer = RecordProjection(
            desiredKeys: operation.desiredKeys ?? request.desiredKeys, numbersAsStrings: numbersAsStrings,
            zoneID: zoneID, isShared: caller.scope == .shared, assets: caller.assets)
        switch outcome {
        case .saved(let row):
            var dictionary = answer.dictionary(row, users: applied.userRecordNames)
            dictionary.shareDetails = applied.shares[index]
            dictionary.shortGUID = applied.shortGUIDs[index]
            return .record(dictionary)
        case .deleted(let type):
            return .deleted(
                DeletedRecord(
                    recordName: operation.record.recordName ?? "", recordType: type, zoneID: zoneID))
        case .refused(let error, let server):
            var dictionary = error.dictionary(requestID: caller.requestID)
            dictionary.recordName = operation.record.recordName
            dictionary.zoneID = zoneID
            if request.wantsServerRecord, let server {
                let whole = RecordProjection(
                    desiredKeys: nil, numbersAsStrings: numbersAsStrings, zoneID: zoneID,
                    isShared: caller.scope == .shared, assets: caller.assets)
                var record = whole.dictionary(server, users: applied.userRecordNames)
                record.shareDetails = applied.shares[index]
                dictionary.serverRecord = [record]
            }
            return .failure(dictionary)
        }
    }
}
