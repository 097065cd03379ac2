import NephosStorage
import NephosWire

/// `zones/modify`: creates and deletes custom zones of the private database. Creating an existing zone is idempotent
/// and returns that zone. Deleting a zone deletes its records irrevocably, in the background.
struct ModifyZones {
    var request: ModifyZonesRequest
    var caller: Caller
    var environment: ServiceEnvironment

    func validate() throws(ServiceError) {
        if request.operations.count > Limits.operationsPerRequest {
            throw .limitExceeded("number of operations exceeds the limit of \(Limits.operationsPerRequest)")
        }
        let makesZones = request.operations.contains { $0.operationType == .create }
        guard caller.scope == .private || caller.scope == .shared && !makesZones else {
            throw .badDatabase("zones can be made in the private database only, not in '\(caller.scope.rawValue)'")
        }
        _ = try caller.requireAccount()
        for operation in request.operations {
            if ZoneRules.isDefault(operation.zoneID.zoneName) {
                if operation.operationType == .delete { throw .invalid("the default zone cannot be deleted") }
            } else {
                try ZoneRules.checkName(operation.zoneID.zoneName)
            }
        }
    }

    func apply(
        _ notifier: Notifier, _ leaving: LeaveShares, in transaction: StorageTransaction
    ) throws -> (response: ZonesResponse, leftEvents: Bool) {
        var results: [ZoneResult] = []
        var leftEvents = false
        for operation in request.operations {
            let address = caller.address(operation.zoneID)
            if caller.scope == .shared {
                results.append(try leave(address, operation, leaving, &leftEvents, transaction))
                continue
            }
            guard address.isOwn, let owner = caller.owner else {
                results.append(failure(.badDatabase("a zone of another owner cannot be modified"), operation.zoneID))
                continue
            }
            switch operation.operationType {
            case .create:
                var isNew = false
                let zone = try make(address.zoneName, owner, &isNew, transaction)
                if isNew, operation.encryptionScope == .perZone, !ZoneRules.isDefault(zone.name) {
                    try PerZone.set(zone.key, in: transaction)
                }
                if try isNew && notifier.notify(ofNew: zone, by: caller.origin, transaction) { leftEvents = true }
                results.append(.zone(try ZoneRegistry.dictionary(zone, for: caller, transaction)))
            case .delete:
                guard let zone = try transaction.zone(owner: owner, named: address.zoneName) else {
                    let error = try ZoneRegistry.notFound(address, caller, .toRead, transaction)
                    results.append(failure(error, operation.zoneID))
                    continue
                }
                if try notifier.notify(ofDeleted: zone, by: caller.origin, transaction) { leftEvents = true }
                results.append(try delete(zone, transaction))
            }
        }
        return (ZonesResponse(zones: results), leftEvents)
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

    private func make(
        _ name: String, _ owner: OwnerID, _ isNew: inout Bool, _ transaction: StorageTransaction
    ) throws -> ZoneRow {
        if let zone = try transaction.zone(owner: owner, named: name) { return zone }
        isNew = true
        return try transaction.insertZone(owner: owner, name: name, sequence: try transaction.nextSequence())
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
