import NephosStorage
import NephosWire

/// `zones/modify`: makes and deletes custom zones of the private database. Making a zone that exists changes nothing and
/// gives it back; deleting one deletes its records for good, in the background.
struct ModifyZones {
    var request: ModifyZonesRequest
    var caller: Caller
    var environment: ServiceEnvironment

    func validate() throws(ServiceError) {
        if request.operations.count > Limits.operationsPerRequest {
            throw .limitExceeded("number of operations exceeds the limit of \(Limits.operationsPerRequest)")
        }
        guard caller.scope == .private else {
            throw .badDatabase("zones can be modified in the private database only, not in '\(caller.scope.rawValue)'")
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

    func apply(in transaction: any StorageTransaction) throws -> ZonesResponse {
        var results: [ZoneResult] = []
        for operation in request.operations {
            let address = caller.address(operation.zoneID)
            guard address.isOwn, let owner = caller.owner else {
                results.append(failure(.badDatabase("a zone of another owner cannot be modified"), operation.zoneID))
                continue
            }
            switch operation.operationType {
            case .create: results.append(.zone(try make(address.zoneName, owner, transaction)))
            case .delete: results.append(try delete(address.zoneName, owner, operation.zoneID, transaction))
            }
        }
        return ZonesResponse(zones: results)
    }

    private func make(
        _ name: String, _ owner: OwnerID, _ transaction: any StorageTransaction
    ) throws -> ZoneDictionary {
        let zone =
            try transaction.zone(owner: owner, named: name)
            ?? transaction.insertZone(owner: owner, name: name, sequence: try transaction.nextSequence())
        return ZoneRegistry.dictionary(zone, for: caller)
    }

    private func delete(
        _ name: String, _ owner: OwnerID, _ zoneID: ZoneIDDictionary, _ transaction: any StorageTransaction
    ) throws -> ZoneResult {
        guard let zone = try transaction.zone(owner: owner, named: name) else {
            return failure(try ZoneRegistry.notFound(caller.address(zoneID), owner: owner, transaction), zoneID)
        }
        try ZoneDeletion.delete(zone, .deleted, environment, in: transaction)
        var dictionary = ZoneRegistry.dictionary(zone, for: caller)
        dictionary.deleted = true
        return .zone(dictionary)
    }

    private func failure(_ error: ServiceError, _ zoneID: ZoneIDDictionary) -> ZoneResult {
        var dictionary = error.dictionary(requestID: caller.requestID)
        dictionary.zoneID = zoneID
        return .failure(dictionary)
    }
}
