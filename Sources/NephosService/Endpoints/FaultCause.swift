import NephosStorage
import NephosWire

/// Brings about what a fault asks for, where another device's request can: then the service's own rules refuse the item,
/// with all that such a refusal has. In the shared database that device is the zone owner's, and the item has the fault's
/// own code: a participant sees little of what an owner does.
struct FaultCause {
    let service: NephosService
    let context: RequestContext

    /// - Returns: false if the fault has to be made up.
    func cause(
        _ fault: FaultRule, _ batch: some ItemisedRequest, _ place: Int, _ item: FaultItem
    ) async throws(ServiceError) -> Bool {
        switch fault.code {
        case .serverRecordChanged:
            await conflict(batch, place)
            // If the other device cannot save the record either, the service refuses this save for the same reason.
            return true
        case .unknownItem: return try await delete(batch, place, in: item.zoneID)
        case .zoneNotFound: return try await remove(item.zoneID, .deleted)
        case .userDeletedZone: return try await remove(item.zoneID, .purged)
        default: return false
        }
    }

    /// A zone that is shared with the account, from its owner's side.
    private struct OwnedZone: Sendable {
        var owner: String
        /// The names of the shares in which the account takes part.
        var shares: [String]
    }

    /// - Returns: nil if the zone is not shared with the account.
    private func ownedZone(_ zoneID: ZoneIDDictionary?) async throws(ServiceError) -> OwnedZone? {
        try await service.perform(context, reads: true) { store, caller in
            try await store.read(by: caller) { reader in
                try ZoneRegistry.find(caller.address(zoneID), caller, reader)?.shared.map { zone in
                    OwnedZone(owner: zone.owner.name, shares: zone.participations.map(\.share.name))
                }
            }
        }
    }

    private func device(of zone: OwnedZone) -> RequestContext {
        var device = otherDevice
        (device.account, device.scope) = (zone.owner, .private)
        return device
    }

    /// The context of another device of the same account.
    private var otherDevice: RequestContext {
        var context = context
        context.clientID = "another device"
        context.requestKey = nil
        context.takesEncodedRecords = false
        return context
    }

    /// Saves the record as another device does: it changes nothing but the record's tag, or creates it.
    private func conflict(_ batch: some ItemisedRequest, _ place: Int) async {
        guard let request = batch as? ModifyRecordsRequest else { return }
        let operation = request.operations[place]
        var record = RecordToModify(
            recordName: operation.record.recordName, recordType: operation.record.recordType,
            zoneID: operation.record.zoneID ?? request.zoneID)
        // An existing share keeps its participants and permissions. It is saved only with its tag.
        if operation.record.share != nil {
            record.share = ShareToModify()
            record.recordChangeTag = operation.record.recordChangeTag
        }
        if operation.operationType == .create { record.fields = operation.record.fields }
        if await modify([RecordOperation(operationType: .forceUpdate, record: record)], on: otherDevice) { return }
        // The fields may refer to records that only this batch has.
        record.fields = RecordFields()
        _ = await modify([RecordOperation(operationType: .forceUpdate, record: record)], on: otherDevice)
    }

    /// Deletes the record as another device does.
    private func delete(
        _ batch: some ItemisedRequest, _ place: Int, in zoneID: ZoneIDDictionary?
    ) async throws(ServiceError) -> Bool {
        guard let name = deletable(batch, place) else { return false }
        guard context.scope == .shared else {
            if await delete([name], in: zoneID, on: otherDevice) { return true }
            guard let dependents = try await dependents(of: name, in: zoneID) else { return false }
            return await delete(dependents + [name], in: zoneID, on: otherDevice)
        }
        guard let zone = try await ownedZone(zoneID), let zoneName = zoneID?.zoneName else { return false }
        let own = ZoneIDDictionary(zoneName: zoneName)
        // A record that is the parent of others cannot be deleted. Without its share the account does not see it either.
        if await delete([name], in: own, on: device(of: zone)) { return false }
        _ = await delete(zone.shares, in: own, on: device(of: zone))
        return false
    }

    /// The descendants of a record, and the records with a validating reference to one of them: no deletion without them.
    /// - Returns: nil if one request cannot delete them, or if others' records may be among them.
    private func dependents(of name: String, in zoneID: ZoneIDDictionary?) async throws(ServiceError) -> [String]? {
        guard context.scope == .private else { return nil }
        return try await service.perform(context, reads: true) { store, caller in
            try await store.read(by: caller) { reader in
                guard let zone = try ZoneRegistry.find(caller.address(zoneID), caller, reader) else { return nil }
                var found: Set = [name]
                var level = [name]
                while !level.isEmpty {
                    let edges = try reader.references(
                        zone: zone.key, to: level, kinds: [.parent, .deleteSelf, .validate])
                    level = Set(edges.map(\.source)).subtracting(found).sorted()
                    found.formUnion(level)
                    if found.count > Limits.operationsPerRequest { return nil }
                }
                return found.subtracting([name]).sorted()
            }
        }
    }

    /// The name of the record without which the item fails; nil if there is none.
    private func deletable(_ batch: some ItemisedRequest, _ place: Int) -> String? {
        switch batch {
        case let request as ModifyRecordsRequest:
            let operation = request.operations[place]
            // Only a save that has the tag of a record fails without that record.
            guard operation.record.recordChangeTag != nil, operation.record.share == nil,
                [.update, .replace].contains(operation.operationType)
            else { return nil }
            return operation.record.recordName
        case let request as LookupRecordsRequest: return request.records[place].recordName
        default: return nil
        }
    }

    private func delete(_ names: [String], in zoneID: ZoneIDDictionary?, on device: RequestContext) async -> Bool {
        let operations = names.map { name in
            RecordOperation(operationType: .forceDelete, record: RecordToModify(recordName: name, zoneID: zoneID))
        }
        return await modify(operations, on: device)
    }

    private func modify(_ operations: [RecordOperation], on device: RequestContext) async -> Bool {
        do throws(ServiceError) {
            let answer = try await service.modifyRecords(ModifyRecordsRequest(operations: operations), device)
            return !answer.records.contains(where: \.isFailure)
        } catch {
            return false
        }
    }

    /// Removes a zone, as its user can. The owner of a shared one ends its shares, or removes the app's data.
    private func remove(_ zoneID: ZoneIDDictionary?, _ reason: ZoneDeletionReason) async throws(ServiceError) -> Bool {
        guard let zoneName = zoneID?.zoneName, zoneName != ZoneIDDictionary.defaultZoneName else { return false }
        switch context.scope {
        case .public: return false
        case .private: return await remove(zoneName, reason, context)
        case .shared:
            guard let zone = try await ownedZone(zoneID) else { return false }
            if reason == .purged {
                _ = await remove(zoneName, reason, device(of: zone))
            } else {
                _ = await delete(zone.shares, in: ZoneIDDictionary(zoneName: zoneName), on: device(of: zone))
            }
            return false
        }
    }

    private func remove(_ zoneName: String, _ reason: ZoneDeletionReason, _ context: RequestContext) async -> Bool {
        do throws(ServiceError) {
            _ = try await service.removeZones(named: [zoneName], reason: reason, context)
            return true
        } catch {
            return false
        }
    }
}
