import NephosWire

/// A request whose answer has one result for each of its items, so that a fault can fail some of them.
protocol ItemisedRequest: Sendable {
    associatedtype Answer: Sendable
    var faultItems: [FaultItem] { get }
    /// The request with the items at these places alone.
    func keeping(_ places: [Int]) -> Self
    /// The answer to the request, from that to `kept` of its items and the errors of others. An error replaces a result.
    /// - Parameter kept: nil if the service was not asked, as no item was left.
    func answer(_ kept: Answer?, at places: [Int], failures: [Int: ServiceError], requestID: String) -> Answer
    /// The items that fail with those that do, as they are of an atomic batch.
    func dependents(of failures: [Int: ServiceError]) -> [Int: ServiceError]
}

extension ItemisedRequest {
    func dependents(of failures: [Int: ServiceError]) -> [Int: ServiceError] { [:] }

    /// The results of all items, in the order of the request.
    fileprivate func merged<Result>(
        _ kept: [Result], at places: [Int], _ failures: [Int: ServiceError], _ failure: (Int, ServiceError) -> Result
    ) -> [Result] {
        var results: [Int: Result] = [:]
        for (place, result) in zip(places, kept) { results[place] = result }
        for (place, error) in failures { results[place] = failure(place, error) }
        return results.sorted { $0.key < $1.key }.map(\.value)
    }
}

extension Array {
    fileprivate func at(_ places: [Int]) -> [Element] { places.map { self[$0] } }
}

extension ModifyRecordsRequest: ItemisedRequest {
    private func zone(_ place: Int) -> ZoneIDDictionary { operations[place].record.zoneID ?? zoneID ?? .defaultZone }

    var faultItems: [FaultItem] {
        operations.indices.map { place in
            let operation = operations[place]
            let deletes = [.delete, .forceDelete].contains(operation.operationType)
            var item = FaultItem(
                deletes ? .delete : .save, recordType: operation.record.recordType,
                recordName: operation.record.recordName, zoneName: zone(place).zoneName)
            // Another device cannot make a share of its own of the same record before this one.
            item.canConflict =
                [.update, .replace].contains(operation.operationType)
                || operation.operationType == .create && operation.record.share == nil
            return item
        }
    }

    func keeping(_ places: [Int]) -> Self {
        var request = self
        request.operations = operations.at(places)
        // The outcome that the service would remember is another than what the client is told.
        if places.count < operations.count { request.requestKey = nil }
        return request
    }

    func answer(
        _ kept: RecordsResponse?, at places: [Int], failures: [Int: ServiceError], requestID: String
    ) -> RecordsResponse {
        var answer = kept ?? RecordsResponse(records: [])
        answer.records = merged(answer.records, at: places, failures) { place, error in
            var dictionary = error.dictionary(requestID: requestID)
            dictionary.recordName = operations[place].record.recordName
            dictionary.zoneID = zone(place)
            return .failure(dictionary)
        }
        return answer
    }

    func dependents(of failures: [Int: ServiceError]) -> [Int: ServiceError] {
        let zones = Set(failures.keys.map { zone($0).zoneName }).filter {
            AtomicBatch.applies(to: $0, requested: atomic)
        }
        let places = operations.indices.filter { failures[$0] == nil && zones.contains(zone($0).zoneName) }
        return Dictionary(uniqueKeysWithValues: places.map { ($0, .atomicFailure) })
    }
}

extension LookupRecordsRequest: ItemisedRequest {
    private func zone(_ place: Int) -> ZoneIDDictionary { records[place].zoneID ?? zoneID ?? .defaultZone }

    var faultItems: [FaultItem] {
        records.indices.map {
            FaultItem(.fetch, recordName: records[$0].recordName, zoneName: zone($0).zoneName)
        }
    }

    func keeping(_ places: [Int]) -> Self {
        var request = self
        request.records = records.at(places)
        return request
    }

    func answer(
        _ kept: RecordsResponse?, at places: [Int], failures: [Int: ServiceError], requestID: String
    ) -> RecordsResponse {
        var answer = kept ?? RecordsResponse(records: [])
        answer.records = merged(answer.records, at: places, failures) { place, error in
            var dictionary = error.dictionary(requestID: requestID)
            dictionary.recordName = records[place].recordName
            dictionary.zoneID = zone(place)
            return .failure(dictionary)
        }
        return answer
    }
}

extension RecordZoneChangesRequest: ItemisedRequest {
    var faultItems: [FaultItem] { zones.map { FaultItem(.changes, zoneName: $0.zoneID.zoneName) } }

    func keeping(_ places: [Int]) -> Self {
        var request = self
        request.zones = zones.at(places)
        return request
    }

    func answer(
        _ kept: RecordZoneChangesResponse?, at places: [Int], failures: [Int: ServiceError], requestID: String
    ) -> RecordZoneChangesResponse {
        RecordZoneChangesResponse(
            zones: merged(kept?.zones ?? [], at: places, failures) { place, error in
                var dictionary = error.dictionary(requestID: requestID)
                dictionary.zoneID = zones[place].zoneID
                return .failure(dictionary)
            })
    }
}

extension LookupZonesRequest: ItemisedRequest {
    var faultItems: [FaultItem] { zones.map { FaultItem(.zones, zoneName: $0.zoneName) } }

    func keeping(_ places: [Int]) -> Self { LookupZonesRequest(zones: zones.at(places)) }

    func answer(
        _ kept: ZonesResponse?, at places: [Int], failures: [Int: ServiceError], requestID: String
    ) -> ZonesResponse {
        ZonesResponse(
            zones: merged(kept?.zones ?? [], at: places, failures) { place, error in
                var dictionary = error.dictionary(requestID: requestID)
                dictionary.zoneID = zones[place]
                return .failure(dictionary)
            })
    }
}

extension ModifyZonesRequest: ItemisedRequest {
    var faultItems: [FaultItem] { operations.map { FaultItem(.zones, zoneName: $0.zoneID.zoneName) } }

    func keeping(_ places: [Int]) -> Self { ModifyZonesRequest(operations: operations.at(places)) }

    func answer(
        _ kept: ZonesResponse?, at places: [Int], failures: [Int: ServiceError], requestID: String
    ) -> ZonesResponse {
        ZonesResponse(
            zones: merged(kept?.zones ?? [], at: places, failures) { place, error in
                var dictionary = error.dictionary(requestID: requestID)
                dictionary.zoneID = operations[place].zoneID
                return .failure(dictionary)
            })
    }
}

extension ModifySubscriptionsRequest: ItemisedRequest {
    var faultItems: [FaultItem] { operations.map { _ in FaultItem(.subscriptions) } }

    func keeping(_ places: [Int]) -> Self { ModifySubscriptionsRequest(operations: operations.at(places)) }

    func answer(
        _ kept: SubscriptionsResponse?, at places: [Int], failures: [Int: ServiceError], requestID: String
    ) -> SubscriptionsResponse {
        SubscriptionsResponse(
            subscriptions: merged(kept?.subscriptions ?? [], at: places, failures) { place, error in
                var dictionary = error.dictionary(requestID: requestID)
                dictionary.subscriptionID = operations[place].subscriptionID
                return .failure(dictionary)
            })
    }
}

extension ShortGUIDsRequest {
    var faultItems: [FaultItem] { shortGUIDs.map { _ in FaultItem(.sharing) } }
}
