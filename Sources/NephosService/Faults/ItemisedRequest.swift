import NephosWire

/// A request whose answer has one result for each of its items, so that a fault can fail some of them.
protocol ItemisedRequest: Sendable {
    var faultItems: [FaultItem] { get }
    /// The request with the items at these places alone.
    func keeping(_ places: [Int]) -> Self
    /// Adds to an item's error by what the answer names the item.
    func name(_ error: inout ErrorDictionary, at place: Int)
    /// The items that fail with those that do, as they are of an atomic batch.
    func dependents(of failures: [Int: ServiceError]) -> [Int: ServiceError]
}

extension ItemisedRequest {
    func name(_ error: inout ErrorDictionary, at place: Int) {}
    func dependents(of failures: [Int: ServiceError]) -> [Int: ServiceError] { [:] }

    /// The answer to the request, from that to `kept` of its items and the errors of others. An error replaces a result.
    /// - Parameter kept: nil if the service was not asked, as no item was left.
    func answer<Answer: ItemisedAnswer>(
        _ kept: Answer?, at places: [Int], failures: [Int: ServiceError], requestID: String
    ) -> Answer {
        var answer = kept ?? Answer(items: [])
        var results: [Int: Answer.Item] = [:]
        for (place, result) in zip(places, answer.items) { results[place] = result }
        for (place, error) in failures {
            var dictionary = error.dictionary(requestID: requestID)
            name(&dictionary, at: place)
            results[place] = Answer.failure(dictionary)
        }
        answer.items = results.sorted { $0.key < $1.key }.map(\.value)
        return answer
    }
}

extension Array {
    fileprivate func at(_ places: [Int]) -> [Element] { places.map { self[$0] } }
}

// MARK: - Records

extension ModifyRecordsRequest: ItemisedRequest {
    private func zone(_ place: Int) -> ZoneIDDictionary { operations[place].record.zoneID ?? zoneID ?? .defaultZone }

    var faultItems: [FaultItem] {
        operations.indices.map { place in
            let operation = operations[place]
            let deletes = [.delete, .forceDelete].contains(operation.operationType)
            var item = FaultItem(
                deletes ? .delete : .save, recordType: operation.record.recordType,
                recordName: operation.record.recordName, zoneID: zone(place))
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

    func name(_ error: inout ErrorDictionary, at place: Int) {
        error.recordName = operations[place].record.recordName
        error.zoneID = zone(place)
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
            FaultItem(.fetch, recordName: records[$0].recordName, zoneID: zone($0))
        }
    }

    func keeping(_ places: [Int]) -> Self {
        var request = self
        request.records = records.at(places)
        return request
    }

    func name(_ error: inout ErrorDictionary, at place: Int) {
        error.recordName = records[place].recordName
        error.zoneID = zone(place)
    }
}

extension AssetUploadRequest: ItemisedRequest {
    var faultItems: [FaultItem] { tokens.map { _ in FaultItem(.assets) } }
    func keeping(_ places: [Int]) -> Self { AssetUploadRequest(zoneID: zoneID, tokens: tokens.at(places)) }
    func name(_ error: inout ErrorDictionary, at place: Int) { error.recordName = tokens[place].recordName }
}

// MARK: - Zones

extension RecordZoneChangesRequest: ItemisedRequest {
    var faultItems: [FaultItem] { zones.map { FaultItem(.changes, zoneID: $0.zoneID) } }

    func keeping(_ places: [Int]) -> Self {
        var request = self
        request.zones = zones.at(places)
        return request
    }

    func name(_ error: inout ErrorDictionary, at place: Int) { error.zoneID = zones[place].zoneID }
}

extension LookupZonesRequest: ItemisedRequest {
    var faultItems: [FaultItem] { zones.map { FaultItem(.zones, zoneID: $0) } }
    func keeping(_ places: [Int]) -> Self { LookupZonesRequest(zones: zones.at(places)) }
    func name(_ error: inout ErrorDictionary, at place: Int) { error.zoneID = zones[place] }
}

extension ModifyZonesRequest: ItemisedRequest {
    var faultItems: [FaultItem] { operations.map { FaultItem(.zones, zoneID: $0.zoneID) } }
    func keeping(_ places: [Int]) -> Self { ModifyZonesRequest(operations: operations.at(places)) }
    func name(_ error: inout ErrorDictionary, at place: Int) { error.zoneID = operations[place].zoneID }
}

// MARK: - Subscriptions

extension ModifySubscriptionsRequest: ItemisedRequest {
    var faultItems: [FaultItem] { operations.map { _ in FaultItem(.subscriptions) } }
    func keeping(_ places: [Int]) -> Self { ModifySubscriptionsRequest(operations: operations.at(places)) }

    func name(_ error: inout ErrorDictionary, at place: Int) {
        error.subscriptionID = operations[place].subscriptionID
    }
}

extension LookupSubscriptionsRequest: ItemisedRequest {
    var faultItems: [FaultItem] { subscriptionIDs.map { _ in FaultItem(.subscriptions) } }
    func keeping(_ places: [Int]) -> Self { LookupSubscriptionsRequest(subscriptionIDs: subscriptionIDs.at(places)) }
    func name(_ error: inout ErrorDictionary, at place: Int) { error.subscriptionID = subscriptionIDs[place] }
}

// MARK: - Sharing

extension ShortGUIDsRequest: ItemisedRequest {
    var faultItems: [FaultItem] { shortGUIDs.map { _ in FaultItem(.sharing) } }
    func keeping(_ places: [Int]) -> Self { ShortGUIDsRequest(shortGUIDs: shortGUIDs.at(places)) }
}

/// The request of `users/participants`; the other lookups of users have no results of their items.
extension UserLookupRequest: ItemisedRequest {
    var faultItems: [FaultItem] { (lookupInfos ?? []).map { _ in FaultItem(.sharing) } }
    func keeping(_ places: [Int]) -> Self { UserLookupRequest(lookupInfos: lookupInfos?.at(places)) }
}
