import NephosStorage
import NephosWire

/// `records/modify`: validate (no I/O), then in one transaction load, decide and apply, then answer.
///
/// Operations are decided zone by zone, since neither references nor atomicity reach across zones. Within a zone their
/// order does not matter: a record may come before the records it refers to.
struct ModifyRecords {
    let request: ModifyRecordsRequest
    let caller: Caller
    let account: AccountRow
    let containerEnvironment: ContainerEnvironment
    let environment: ServiceEnvironment
    let configuration: ServiceConfiguration

    /// One operation after validation.
    struct Item {
        var address: ZoneAddress
        var operation: Result<ValidOperation, ServiceError>
    }

    private let items: [Item]
    /// The items of each zone, in the order of the request.
    private let zones: [(address: ZoneAddress, items: [Int])]

    // MARK: - Validate

    init(
        _ request: ModifyRecordsRequest, caller: Caller, containerEnvironment: ContainerEnvironment,
        environment: ServiceEnvironment, configuration: ServiceConfiguration
    ) throws(ServiceError) {
        self.request = request
        self.caller = caller
        self.containerEnvironment = containerEnvironment
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
        let limit = configuration.isStrict ? Limits.strictOperationsPerRequest : Limits.operationsPerRequest
        if request.operations.count > limit {
            throw .limitExceeded(
                "number of operations exceeds the limit of \(limit): \(request.operations.count); send several requests"
            )
        }
        let size = request.operations.reduce(0) { $0 + $1.record.fields.storedSize }
        if size > Limits.requestSize {
            throw .limitExceeded(
                "the request holds \(size) bytes of records; at most \(Limits.requestSize) are allowed; send several"
                    + " requests")
        }
    }

    /// An operation that lacks a key, or names what no record can have, makes the request malformed; but our own library
    /// asks for the server's record and wants every refusal at its item. What the schema or the database forbids is
    /// refused at its item for everybody, so that a batch of which one record is wrong saves the others.
    private static func validate(
        _ request: ModifyRecordsRequest, _ caller: Caller, _ environment: ServiceEnvironment
    ) throws(ServiceError) -> [Item] {
        var items: [Item] = []
        items.reserveCapacity(request.operations.count)
        for (index, operation) in request.operations.enumerated() {
            let address = caller.address(operation.record.zoneID ?? request.zoneID)
            let validation = RecordValidation(
                scope: caller.scope, zone: address, userRecordName: caller.userRecordName)
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

    /// "One operation per record" (CloudKit Web Services, records/modify).
    private static func group(_ items: [Item]) throws(ServiceError) -> [(ZoneAddress, [Int])] {
        var groups: [(address: ZoneAddress, items: [Int])] = []
        var names: [Set<String>] = []
        var position = 0
        for (index, item) in items.enumerated() {
            // Mostly an item's zone is that of the one before it, and a request has few.
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

    // MARK: - Decide and apply, in the transaction

    /// What became of one item.
    enum Outcome: Sendable {
        case saved(RecordRow)
        case deleted(type: String?)
        case refused(ServiceError, server: RecordRow?)
    }

    struct Applied: Sendable {
        var outcomes: [Outcome]
        /// The schema as it is with these changes, where it was not known before.
        var schema: Schema?
        /// When the schema that it began with was the store's.
        var moment: SchemaCatalog.Moment?
        var leftJobs: Bool
        var notices = Notices()
        /// The user record names of the accounts that the outcomes mention.
        var userRecordNames: [Int64: String]
    }

    func run(
        schema knownSchema: Schema, accounts: Accounts, indexes: IndexDefinitions, notifier: Notifier,
        in transaction: any StorageTransaction
    ) throws -> Applied {
        var applied = Applied(
            outcomes: Array(repeating: .refused(.internalError, server: nil), count: items.count), leftJobs: false,
            userRecordNames: [:])
        var schema = knownSchema
        let now = environment.now()
        for zone in zones {
            guard let row = try ZoneRegistry.find(zone.address, owner: caller.owner, transaction) else {
                try refuse(zone.items, missing: zone.address, in: &applied, transaction)
                continue
            }
            let batch = ZoneBatch(
                zone: row, merge: FieldMerge(zone: row.key, now: now, account: account.id),
                isAtomic: ZoneRules.isAtomic(row.name) && request.atomic ?? true, isStrict: configuration.isStrict,
                containerEnvironment: containerEnvironment, caller: caller,
                indexes: IndexWriter(definitions: indexes, accounts: accounts),
                changes: notifier.changes(in: row.key), reader: transaction)
            let operations = zone.items.map { items[$0].operation }
            var plan = try batch.plan(operations, schema: schema)
            if plan.needsSchemaRead, applied.schema == nil {
                // What the known schema lacks may have been added since by another transaction.
                schema = try Schema(transaction)
                plan = try batch.plan(operations, schema: schema)
                applied.schema = schema
            }
            let outcomes = try plan.apply(batch, in: transaction)
            for (index, outcome) in zip(zone.items, outcomes) { applied.outcomes[index] = outcome }
            if !plan.additions.isEmpty {
                schema = plan.schema
                applied.schema = schema
            }
            applied.leftJobs = applied.leftJobs || plan.leavesJobs
            applied.notices.add(try notifier.notify(of: batch.changes, in: row, by: caller.origin, transaction))
            try keepClientChangeToken(row, outcomes, in: transaction)
        }
        applied.userRecordNames = try userRecordNames(applied.outcomes, accounts, transaction)
        return applied
    }

    /// The data of the newest request that modified the zone is the zone's (`clientChangeTokenData`, Apple's
    /// documentation).
    private func keepClientChangeToken(
        _ zone: ZoneRow, _ outcomes: [Outcome], in transaction: any StorageTransaction
    ) throws {
        guard zone.clientChangeToken != request.clientChangeToken, ZoneRules.hasChangeFeed(zone.name) else { return }
        let modifies = outcomes.contains { if case .refused = $0 { false } else { true } }
        if modifies { try transaction.setClientChangeToken(request.clientChangeToken, zone: zone.key) }
    }

    /// The zone that the request itself names is missing: that is the request's error, but for our own library, which wants
    /// every refusal at its item. A zone that an item names is the item's.
    private func refuse(
        _ indexes: [Int], missing address: ZoneAddress, in applied: inout Applied, _ reader: any StorageReader
    ) throws {
        let error = try ZoneRegistry.notFound(address, owner: caller.owner, reader)
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

    private func userRecordNames(
        _ outcomes: [Outcome], _ accounts: Accounts, _ reader: any StorageReader
    ) throws -> [Int64: String] {
        var names = [account.id: account.userRecordName]
        for outcome in outcomes {
            let row: RecordRow?
            switch outcome {
            case .saved(let saved): row = saved
            case .refused(_, let server): row = server
            case .deleted: row = nil
            }
            guard let row else { continue }
            for id in [row.createdBy, row.modifiedBy] where names[id] == nil {
                names[id] = try accounts.userRecordName(id: id, reader)
            }
        }
        return names
    }

    // MARK: - Answer

    func response(_ applied: Applied) -> RecordsResponse {
        let records = zip(request.operations.indices, applied.outcomes).map { index, outcome in
            result(index, outcome, applied.userRecordNames)
        }
        return RecordsResponse(records: records)
    }

    private func result(_ index: Int, _ outcome: Outcome, _ userRecordNames: [Int64: String]) -> RecordResult {
        let operation = request.operations[index]
        let numbersAsStrings = operation.numbersAsStrings ?? request.numbersAsStrings
        let answer = RecordAnswer(
            desiredKeys: operation.desiredKeys ?? request.desiredKeys, numbersAsStrings: numbersAsStrings,
            zoneID: operation.record.zoneID)
        switch outcome {
        case .saved(let row):
            return .record(answer.dictionary(row, users: userRecordNames))
        case .deleted(let type):
            return .deleted(
                DeletedRecord(
                    recordName: operation.record.recordName ?? "", recordType: type, zoneID: operation.record.zoneID))
        case .refused(let error, let server):
            var dictionary = error.dictionary(requestID: caller.requestID)
            dictionary.recordName = operation.record.recordName
            dictionary.zoneID = operation.record.zoneID
            if request.wantsServerRecord, let server {
                let whole = RecordAnswer(
                    desiredKeys: nil, numbersAsStrings: numbersAsStrings, zoneID: operation.record.zoneID)
                dictionary.serverRecord = [whole.dictionary(server, users: userRecordNames)]
            }
            return .failure(dictionary)
        }
    }
}
