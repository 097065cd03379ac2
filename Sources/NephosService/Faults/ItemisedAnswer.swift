import NephosWire

/// An answer with one result, or error, for each item of its request.
protocol ItemisedAnswer: Sendable {
    associatedtype Item
    var items: [Item] { get set }
    init(items: [Item])
    static func failure(_ error: ErrorDictionary) -> Item
}

extension RecordsResponse: ItemisedAnswer {
    var items: [RecordResult] {
        get { records }
        set { records = newValue }
    }
    init(items: [RecordResult]) { self.init(records: items) }
    static func failure(_ error: ErrorDictionary) -> RecordResult { .failure(error) }
}

extension RecordZoneChangesResponse: ItemisedAnswer {
    var items: [Zone] {
        get { zones }
        set { zones = newValue }
    }
    init(items: [Zone]) { self.init(zones: items) }
    static func failure(_ error: ErrorDictionary) -> Zone { .failure(error) }
}

extension ZonesResponse: ItemisedAnswer {
    var items: [ZoneResult] {
        get { zones }
        set { zones = newValue }
    }
    init(items: [ZoneResult]) { self.init(zones: items) }
    static func failure(_ error: ErrorDictionary) -> ZoneResult { .failure(error) }
}

extension SubscriptionsResponse: ItemisedAnswer {
    var items: [SubscriptionResult] {
        get { subscriptions }
        set { subscriptions = newValue }
    }
    init(items: [SubscriptionResult]) { self.init(subscriptions: items) }
    static func failure(_ error: ErrorDictionary) -> SubscriptionResult { .failure(error) }
}

extension RecordInfosResponse: ItemisedAnswer {
    var items: [RecordInfoResult] {
        get { results }
        set { results = newValue }
    }
    init(items: [RecordInfoResult]) { self.init(results: items) }
    static func failure(_ error: ErrorDictionary) -> RecordInfoResult { .failure(error) }
}

extension AccessRequestsResponse: ItemisedAnswer {
    var items: [ErrorDictionary?] {
        get { failures }
        set { failures = newValue }
    }
    init(items: [ErrorDictionary?]) { self.init(failures: items) }
    static func failure(_ error: ErrorDictionary) -> ErrorDictionary? { error }
}

extension AssetUploadResponse: ItemisedAnswer {
    var items: [Result] {
        get { tokens }
        set { tokens = newValue }
    }
    init(items: [Result]) { self.init(tokens: items) }
    static func failure(_ error: ErrorDictionary) -> Result { .failure(error) }
}

extension ParticipantLookupResponse: ItemisedAnswer {
    var items: [ParticipantLookupResult] {
        get { users }
        set { users = newValue }
    }
    init(items: [ParticipantLookupResult]) { self.init(users: items) }
    static func failure(_ error: ErrorDictionary) -> ParticipantLookupResult { .failure(error) }
}
