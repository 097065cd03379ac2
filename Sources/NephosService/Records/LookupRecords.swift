import NephosStorage
import NephosWire

/// `records/lookup`: the records of the given names, in the order they were asked for.
struct LookupRecords {
    let request: LookupRecordsRequest
    let caller: Caller

    init(
        _ request: LookupRecordsRequest, caller: Caller, configuration: ServiceConfiguration
    ) throws(ServiceError) {
        let limit = configuration.isStrict ? Limits.strictOperationsPerRequest : Limits.operationsPerRequest
        if request.records.count > limit {
            throw .limitExceeded(
                "number of records exceeds the limit of \(limit): \(request.records.count); send several requests")
        }
        self.request = request
        self.caller = caller
    }

    private enum Found {
        case record(RecordRow)
        case missing(ServiceError)
    }

    func run(
        accounts: Accounts, permissions: RecordPermissions, _ reader: any StorageReader
    ) throws -> RecordsResponse {
        var zones: [ZoneAddress: ZoneRow?] = [:]
        var results: [RecordResult] = []
        results.reserveCapacity(request.records.count)
        var names: [Int64: String] = [:]
        for item in request.records {
            let found = try find(item, permissions, &zones, reader)
            if case .record(let row) = found {
                for id in [row.createdBy, row.modifiedBy] where names[id] == nil {
                    names[id] = try accounts.userRecordName(id: id, reader)
                }
            }
            results.append(result(item, found, names))
        }
        return RecordsResponse(records: results)
    }

    private func find(
        _ item: LookupRecordsRequest.Item, _ permissions: RecordPermissions, _ zones: inout [ZoneAddress: ZoneRow?],
        _ reader: any StorageReader
    ) throws -> Found {
        let address = caller.address(item.zoneID ?? request.zoneID)
        let known = zones[address]
        let zone = try known ?? ZoneRegistry.find(address, owner: caller.owner, reader)
        if known == nil { zones[address] = .some(zone) }
        guard let zone else {
            let error = try ZoneRegistry.notFound(address, owner: caller.owner, reader)
            // A zone that the request itself names is the request's error.
            if item.zoneID == nil { throw error }
            return .missing(error)
        }
        guard let row = try reader.record(zone: zone.key, named: item.recordName), !row.isDeleted else {
            return .missing(.recordNotFound)
        }
        do throws(ServiceError) {
            try permissions.checkRead(row)
        } catch {
            return .missing(error)
        }
        return .record(row)
    }

    private func result(
        _ item: LookupRecordsRequest.Item, _ found: Found, _ names: [Int64: String]
    ) -> RecordResult {
        switch found {
        case .record(let row):
            let answer = RecordAnswer(
                desiredKeys: item.desiredKeys ?? request.desiredKeys, numbersAsStrings: request.numbersAsStrings,
                zoneID: item.zoneID, userRecordNames: names)
            return .record(answer.dictionary(row))
        case .missing(let error):
            var dictionary = error.dictionary(requestID: caller.requestID)
            dictionary.recordName = item.recordName
            dictionary.zoneID = item.zoneID
            return .failure(dictionary)
        }
    }
}
