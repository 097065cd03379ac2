import NephosWire

/// What requests concern.
enum FaultItems {
    static func of(_ request: some Sendable, _ path: String) -> [FaultItem] {
        switch request {
        case is UserLookupRequest where path != Endpoint.lookUpParticipants.path: []
        case let batch as any ItemisedRequest: batch.faultItems
        case let query as DecodedQuery:
            [
                FaultItem(
                    .query, recordType: query.request.query.recordType,
                    zoneID: query.request.zoneWide ? nil : query.request.zoneID ?? .defaultZone)
            ]
        case let changes as RecordChangesRequest:
            [FaultItem(.changes, zoneID: changes.zone.zoneID)]
        case is DatabaseChangesRequest: [FaultItem(.changes)]
        case is RereferenceRequest: [FaultItem(.assets)]
        case let lookup as LookupKeysRequest: [FaultItem(.keys, zoneID: lookup.zoneID ?? .defaultZone)]
        case let group as PutGroupKeyRequest: [FaultItem(.keys, zoneID: group.zoneID ?? .defaultZone)]
        default: operations[path].map { [FaultItem($0)] } ?? []
        }
    }

    /// The operations of the other endpoints.
    private static let operations: [String: FaultOperation] = [
        "zones/list": .zones, "subscriptions/list": .subscriptions, "tokens/create": .notification,
        "tokens/register": .notification, "users/current": .account,
        "keys/account": .keys, "keys/enroll": .keys, "keys/reset": .keys,
    ]
}

/// The pages of answers that have pages.
enum FaultPages {
    /// Returns the request with another limit of records per page, in a form whose records can be counted; nil if its
    /// answer has no pages.
    /// - Parameter limit: makes the limit from the request's own.
    static func limited<Request>(_ request: Request, _ limit: (Int?) -> Int?) -> Request? {
        switch request {
        case let query as DecodedQuery:
            var page = query.request
            page.resultsLimit = limit(page.resultsLimit)
            return DecodedQuery(page) as? Request
        case var changes as RecordZoneChangesRequest:
            for index in changes.zones.indices {
                changes.zones[index].resultsLimit = limit(changes.zones[index].resultsLimit)
                changes.zones[index].packed = false
            }
            return changes as? Request
        case var changes as DatabaseChangesRequest:
            changes.resultsLimit = limit(changes.resultsLimit)
            return changes as? Request
        default: return nil
        }
    }

    /// The number of records or zones of a page; nil if the answer has no pages.
    static func count(_ response: some Sendable) -> Int? {
        switch response {
        case let page as QueryRecordsResponse: page.records.count
        case let page as DatabaseChangesResponse: page.zones.count
        case let page as RecordZoneChangesResponse:
            page.zones.map { zone in
                if case .changes(let changes) = zone { changes.records.count } else { 0 }
            }.max() ?? 0
        default: nil
        }
    }
}

extension FaultPages {
    /// How a request asks for the rest of an answer.
    static func markers(of request: some Sendable) -> [String?] {
        switch request {
        case let query as DecodedQuery: [query.request.continuationMarker]
        default: ChangeTokens.of(request)
        }
    }

    /// How a client asks for the rest of a page's answer.
    static func next(after response: some Sendable) -> [String?] {
        switch response {
        case let page as QueryRecordsResponse: [page.continuationMarker]
        case let page as DatabaseChangesResponse: page.moreComing ? [page.syncToken] : []
        case let page as RecordZoneChangesResponse:
            page.zones.map { zone in
                if case .changes(let changes) = zone, changes.moreComing { changes.syncToken } else { nil }
            }
        default: []
        }
    }
}

/// The change tokens of messages.
enum ChangeTokens {
    static func of(_ message: some Sendable) -> [String?] {
        switch message {
        case let request as RecordZoneChangesRequest: request.zones.map(\.syncToken)
        case let request as DatabaseChangesRequest: [request.syncToken]
        case let response as RecordZoneChangesResponse:
            response.zones.map { if case .changes(let changes) = $0 { changes.syncToken } else { nil } }
        case let response as DatabaseChangesResponse: [response.syncToken]
        default: []
        }
    }
}
