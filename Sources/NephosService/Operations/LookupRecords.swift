import NephosStorage
import NephosWire

/// `records/lookup`: returns the records with the given names, in request order.
struct LookupRecords {
    let request: LookupRecordsRequest
    let caller: Caller
    /// Whether the records are encoded as JSON, for a server, instead of returned as values.
    let encodesRecords: Bool

    init(
        _ request: LookupRecordsRequest, caller: Caller, configuration: ServiceConfiguration,
        encodesRecords: Bool = false
    ) throws(ServiceError) {
        let limit = configuration.operationsPerRequest
        if request.records.count > limit {
            throw .limitExceeded(
                "number of records exceeds the limit of \(limit): \(request.records.count); send several requests")
        }
        self.request = request
        self.caller = caller
        self.encodesRecords = encodesRecords
    }

    func run(
        accounts: Accounts, permissions: RecordPermissions, _ reader: StorageReader
    ) throws -> RecordsResponse {
        var zones: [ZoneAddress: FoundZone?] = [:]
        let records = RecordEncoder(
            encoded: encodesRecords, reserving: Self.recordSize * request.records.count, accounts, reader, caller)
        var room = Limits.lookupSize
        for item in request.records {
            if let error = try find(item, permissions, &zones, records, &room, reader) {
                var dictionary = error.dictionary(requestID: caller.requestID)
                dictionary.recordName = item.recordName
                dictionary.zoneID = item.zoneID.map(caller.spelled)
                records.add(.failure(dictionary))
            }
        }
        let (values, encoded) = try records.finish()
        var response = RecordsResponse(records: values)
        response.encodedRecords = encoded
        if encoded != nil { response.encodedFailures = records.failures }
        return response
    }

    /// The number of bytes reserved per record, into which most records fit.
    private static let recordSize = 1024

    /// Adds the record of an item to the response.
    /// - Returns: the error if the record could not be added; otherwise nil.
    private func find(
        _ item: LookupRecordsRequest.Item, _ permissions: RecordPermissions, _ zones: inout [ZoneAddress: FoundZone?],
        _ records: RecordEncoder, _ room: inout Int, _ reader: StorageReader
    ) throws -> ServiceError? {
        // The size of the response needs a bound, because a request may name the same record many times.
        if room <= 0 {
            return .limitExceeded(
                LookupRecordsRequest.fullAnswer(Limits.lookupSize))
        }
        let address = caller.address(item.zoneID ?? request.zoneID)
        guard let zone = try zone(at: address, &zones, room: room, reader) else {
            let error = try ZoneRegistry.notFound(address, caller, .toRead, reader)
            // An error of the zone that the request names for all items is an error of the whole request.
            if item.zoneID == nil { throw error }
            return error
        }
        var error: ServiceError? = .recordNotFound
        let name = caller.currentUser.resolve(item.recordName)
        guard name.isStorable else { return error }
        try reader.visitRecord(zone: zone.key, named: name) { record in
            if record.isDeleted && !record.isDamaged { return }
            guard try zone.mayRead(name, reader) else { return }
            error = record.isDamaged ? nil : permissions.refusalToRead(record)
            if error == nil {
                room -= record.fields.count
                try records.add(record, answer(item))
            }
        }
        return error
    }

    private func zone(
        at address: ZoneAddress, _ zones: inout [ZoneAddress: FoundZone?], room: Int, _ reader: StorageReader
    ) throws -> FoundZone? {
        if let known = zones[address] { return known }
        if reader.readsAhead, request.records.count == 1 {
            reader.expectZone(named: address.zoneName, records: names(in: address), shares: 0)
        }
        let zone = try ZoneRegistry.find(address, caller, reader)
        zones[address] = .some(zone)
        if reader.readsAhead, let zone, request.records.count > 1 || zone.shared != nil {
            try reader.expectRecords(
                zone: zone.key, named: names(in: address), size: room, withShares: zone.shared != nil)
        }
        return zone
    }

    /// The distinct names of the records to look up in a zone.
    private func names(in address: ZoneAddress) -> [String] {
        let items = request.records.filter { caller.address($0.zoneID ?? request.zoneID) == address }
        return Array(Set(items.map { caller.currentUser.resolve($0.recordName) })).filter(\.isStorable)
    }

    private func answer(_ item: LookupRecordsRequest.Item) -> RecordProjection {
        RecordProjection(
            desiredKeys: item.desiredKeys ?? request.desiredKeys, numbersAsStrings: request.numbersAsStrings,
            zoneID: item.zoneID.map(caller.spelled), isShared: caller.scope == .shared, assets: caller.assets)
    }
}
