import NephosWire

/// Brings about what a fault asks for, where another device's request can: then the service's own rules refuse the item,
/// with all that such a refusal has.
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
        case .unknownItem: return await delete(batch, place)
        case .zoneNotFound: return await remove(item.zoneName, .deleted)
        case .userDeletedZone: return await remove(item.zoneName, .purged)
        default: return false
        }
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
        if await modify(RecordOperation(operationType: .forceUpdate, record: record)) { return }
        // The fields may refer to records that only this batch has.
        record.fields = RecordFields()
        _ = await modify(RecordOperation(operationType: .forceUpdate, record: record))
    }

    /// Deletes the record as another device does.
    private func delete(_ batch: some ItemisedRequest, _ place: Int) async -> Bool {
        let record: RecordToModify
        switch batch {
        case let request as ModifyRecordsRequest:
            let operation = request.operations[place]
            // Only a save that has the tag of a record fails without that record.
            guard operation.record.recordChangeTag != nil, operation.record.share == nil,
                [.update, .replace].contains(operation.operationType)
            else { return false }
            record = RecordToModify(
                recordName: operation.record.recordName, zoneID: operation.record.zoneID ?? request.zoneID)
        case let request as LookupRecordsRequest:
            record = RecordToModify(
                recordName: request.records[place].recordName, zoneID: request.records[place].zoneID ?? request.zoneID)
        default: return false
        }
        return await modify(RecordOperation(operationType: .forceDelete, record: record))
    }

    private func modify(_ operation: RecordOperation) async -> Bool {
        do throws(ServiceError) {
            let answer = try await service.modifyRecords(ModifyRecordsRequest(operations: [operation]), otherDevice)
            return !answer.records.contains(where: \.isFailure)
        } catch {
            return false
        }
    }

    /// Removes a zone of the account, as its user can.
    private func remove(_ zoneName: String?, _ reason: ZoneDeletionReason) async -> Bool {
        guard context.scope == .private, let zoneName, zoneName != ZoneIDDictionary.defaultZoneName else {
            return false
        }
        do throws(ServiceError) {
            _ = try await service.removeZones(named: [zoneName], reason: reason, context)
            return true
        } catch {
            return false
        }
    }
}
