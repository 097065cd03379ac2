import NephosStorage
import NephosWire

/// `zones/modify`: creates and deletes custom zones of the private database. Creating an existing zone is idempotent
/// and returns that zone. Deleting a zone deletes its records irrevocably, in the background.
struct ModifyZones {
    var request: ModifyZonesRequest
    var caller: Caller
    var environment: ServiceEnvironment
    /// The refusal of new zones; nil while the caller's database has quota left.
    var quotaRefusal: ServiceError?

    func validate() throws(ServiceError) {
        if request.operations.count > Limits.operationsPerRequest {
            throw .limitExceeded("number of operations exceeds the limit of \(Limits.operationsPerRequest)")
        }
        let makesZones = request.operations.contains { $0.operationType == .create }
        guard caller.scope == .private || caller.scope == .shared && !makesZones else {
            throw .badDatabase("zones can be made in the private database only, not in '\(caller.scope.rawValue)'")
        }
        _ = try caller.requireAccount()
    }

    private func refusal(of operation: ZoneOperation) -> ServiceError? {
        if ZoneRules.isDefault(operation.zoneID.zoneName) {
            return operation.operationType == .delete ? .invalid("the default zone cannot be deleted") : nil
        }
        do throws(ServiceError) {
            try ZoneRules.checkName(operation.zoneID.zoneName)
            return nil
        } catch {
            return error
        }
    }

    struct Applied {
        var results: [ZoneResult] = []
        /// The bytes of new zones, which count for the quota.
        var newBytes: Int64 = 0
        /// The number of the database's zones, once counted; nil after a deletion.
        var zoneCount: Int?
        /// Whether a zone was deleted.
        var hasDeleted = false
        /// Whether a zone was refused because the database has no quota left.
        var isFull = false
        /// Whether change events were stored, so that subscribers must be notified.
        var leftEvents = false
    }

    func apply(
        _ notifier: Notifier, _ leaving: LeaveShares, in transaction: StorageTransaction
    ) throws -> Applied {
        var applied = Applied()
        for operation in request.operations {
            if let refusal = refusal(of: operation) {
                applied.results.append(failure(refusal, operation.zoneID))
                continue
            }
            let address = caller.address(operation.zoneID)
            if caller.scope == .shared {
                applied.results.append(try leave(address, operation, leaving, &applied.leftEvents, transaction))
                continue
            }
            guard address.isOwn, let owner = caller.owner else {
                applied.results.append(
                    failure(.badDatabase("a zone of another owner cannot be modified"), operation.zoneID))
                continue
            }
            switch operation.operationType {
            case .create:
                applied.results.append(
                    try create(operation, named: address.zoneName, owner, notifier, &applied, transaction))
            case .delete:
                guard let zone = try transaction.zone(owner: owner, named: address.zoneName) else {
                    let error = try ZoneRegistry.notFound(address, caller, .toRead, transaction)
                    applied.results.append(failure(error, operation.zoneID))
                    continue
                }
                if try notifier.notify(ofDeleted: zone, by: caller.origin, transaction) { applied.leftEvents = true }
                applied.hasDeleted = true
                applied.zoneCount = nil
                applied.results.append(try delete(zone, transaction))
            }
        }
        return applied
    }

    private func create(
        _ operation: ZoneOperation, named name: String, _ owner: OwnerID, _ notifier: Notifier,
        _ applied: inout Applied, _ transaction: StorageTransaction
    ) throws -> ZoneResult {
        if let zone = try transaction.zone(owner: owner, named: name) {
            return .zone(try ZoneRegistry.dictionary(zone, for: caller, transaction))
        }
        if let quotaRefusal {
            applied.isFull = true
            return failure(quotaRefusal, operation.zoneID)
        }
        let count = try applied.zoneCount ?? transaction.zoneCount(owner: owner, limit: Limits.zonesPerDatabase)
        applied.zoneCount = count
        guard count < Limits.zonesPerDatabase else {
            let error = ServiceError.limitExceeded("a database has at most \(Limits.zonesPerDatabase) zones")
            return failure(error, operation.zoneID)
        }
        let zone = try transaction.insertZone(owner: owner, name: name, sequence: try transaction.nextSequence())
        applied.zoneCount = count + 1
        applied.newBytes += RecordQuota.size(of: zone)
        if operation.encryptionScope == .perZone, !ZoneRules.isDefault(zone.name) {
            try PerZone.set(zone.key, in: transaction)
        }
        if try notifier.notify(ofNew: zone, by: caller.origin, transaction) { applied.leftEvents = true }
        return .zone(try ZoneRegistry.dictionary(zone, for: caller, transaction))
    }

    private func leave(
        _ address: ZoneAddress, _ operation: ZoneOperation, _ leaving: LeaveShares, _ leftEvents: inout Bool,
        _ transaction: StorageTransaction
    ) throws -> ZoneResult {
        guard let zone = try ZoneRegistry.find(address, caller, transaction), let shared = zone.shared else {
            let error = try ZoneRegistry.notFound(address, caller, .toRead, transaction)
            return failure(error, operation.zoneID)
        }
        if try leaving.leave(shared, in: transaction) { leftEvents = true }
        return .zone(ZoneDictionary(zoneID: zone.zoneID(for: caller), atomic: true, deleted: true))
    }

    private func delete(_ zone: ZoneRow, _ transaction: StorageTransaction) throws -> ZoneResult {
        try ZoneDeletion.delete(zone, .deleted, environment, in: transaction)
        var dictionary = ZoneRegistry.dictionary(zone, for: caller)
        dictionary.deleted = true
        return .zone(dictionary)
    }

    private func failure(_ error: ServiceError, _ zoneID: ZoneIDDictionary) -> ZoneResult {
        var dictionary = error.dictionary(requestID: caller.requestID)
        dictionary.zoneID = caller.spelled(zoneID)
        return .failure(dictionary)
    }
}
