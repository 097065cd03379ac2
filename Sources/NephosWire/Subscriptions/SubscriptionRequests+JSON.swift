extension SubscriptionOperation {
    private enum Name: String, CaseIterable { case create, update, delete }

    init(json: JSONValue) throws(WireError) {
        var type: JSONValue?
        var subscription: JSONValue?
        for (key, value) in try json.members("an operation") {
            switch key {
            case "operationType": type = value.nonNull
            case "subscription": subscription = value.nonNull
            default: break
            }
        }
        let names = Name.allCases.map(\.rawValue)
        guard let type else { throw json.missing("operationType", "one of " + names.joined(separator: ", ")) }
        let name = try type.oneOf(Name.self, names: names)
        guard let subscription else { throw json.missing("subscription", "a subscription") }
        switch name {
        case .create: self = .create(try SubscriptionDictionary(json: subscription))
        case .update: self = .update(try SubscriptionDictionary(json: subscription))
        case .delete: self = .delete(subscriptionID: try LookupSubscriptionsRequest.subscriptionID(subscription))
        }
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("operationType")
        switch self {
        case .create: writer.string(Name.create.rawValue)
        case .update: writer.string(Name.update.rawValue)
        case .delete: writer.string(Name.delete.rawValue)
        }
        writer.key("subscription")
        switch self {
        case .create(let subscription), .update(let subscription): subscription.write(to: &writer)
        case .delete(let subscriptionID): LookupSubscriptionsRequest.write(subscriptionID, to: &writer)
        }
        writer.endObject()
    }
}

extension ModifySubscriptionsRequest: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init,
        .required("operations", \.operations, .array("an array of operations", of: SubscriptionOperation.codec)))
}

extension SubscriptionOperation {
    fileprivate static let codec = Codec<Self>("an operation", read: Self.init(json:)) { $0.write(to: &$1) }
}

extension LookupSubscriptionsRequest: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init,
        .required(
            "subscriptions", \.subscriptionIDs,
            .array("an array of subscriptions", of: Codec("a subscription", read: subscriptionID, write: write))))

    /// Decodes the ID in a subscription dictionary, and ignores the dictionary's other members.
    static func subscriptionID(_ json: JSONValue) throws(WireError) -> String {
        var found: JSONValue?
        for (key, value) in try json.members("a dictionary with the key \"subscriptionID\"") {
            switch key {
            case "subscriptionID", "subscriptionId": found = value.nonNull
            default: break
            }
        }
        guard let found else { throw json.missing("subscriptionID", "a string") }
        return try found.string()
    }

    static func write(_ subscriptionID: String, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("subscriptionID", subscriptionID)
        writer.endObject()
    }
}

extension SubscriptionResult {
    init(json: JSONValue) throws(WireError) {
        if ErrorDictionary.describes(json) {
            self = .failure(try ErrorDictionary(json: json))
        } else if try json.members("a subscription").contains(where: { "subscriptionType" ~= $0.key }) {
            self = .subscription(try SubscriptionDictionary(json: json))
        } else {
            self = .deleted(subscriptionID: try LookupSubscriptionsRequest.subscriptionID(json))
        }
    }

    func write(to writer: inout JSONWriter) {
        switch self {
        case .subscription(let subscription): subscription.write(to: &writer)
        case .deleted(let subscriptionID): LookupSubscriptionsRequest.write(subscriptionID, to: &writer)
        case .failure(let error): error.write(to: &writer)
        }
    }
}

extension SubscriptionsResponse: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init,
        .required("subscriptions", \.subscriptions, .array("an array of subscriptions", of: SubscriptionResult.codec)))
}

extension SubscriptionResult {
    fileprivate static let codec = Codec<Self>("a subscription", read: Self.init(json:)) { $0.write(to: &$1) }
}

extension TokenRequest: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init, .required("apnsEnvironment", \.apnsEnvironment, .name), .optional("apnsToken", \.apnsToken, .string),
        .optional("clientId", or: "clientID", \.clientID, .string))
}

extension TokenResponse: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init, .required("apnsEnvironment", \.apnsEnvironment, .name), .required("apnsToken", \.apnsToken, .string),
        .required("webcourierURL", \.webcourierURL, .string))
}
