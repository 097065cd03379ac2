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

extension ModifySubscriptionsRequest: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init(
            operations: try json.required("operations", "an array") { (operations) throws(WireError) in
                try operations.elements("an array of operations", SubscriptionOperation.init(json:))
            })
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("operations")
        writer.beginArray()
        for operation in operations { operation.write(to: &writer) }
        writer.endArray()
        writer.endObject()
    }
}

extension LookupSubscriptionsRequest: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init(
            subscriptionIDs: try json.required("subscriptions", "an array") { (subscriptions) throws(WireError) in
                try subscriptions.elements("an array of subscriptions", Self.subscriptionID)
            })
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("subscriptions")
        writer.beginArray()
        for subscriptionID in subscriptionIDs { Self.write(subscriptionID, to: &writer) }
        writer.endArray()
        writer.endObject()
    }

    /// Decodes the ID of a subscription dictionary and ignores its other members.
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

extension SubscriptionsResponse: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init(
            subscriptions: try json.required("subscriptions", "an array") { (subscriptions) throws(WireError) in
                try subscriptions.elements("an array of subscriptions", SubscriptionResult.init(json:))
            })
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("subscriptions")
        writer.beginArray()
        for subscription in subscriptions { subscription.write(to: &writer) }
        writer.endArray()
        writer.endObject()
    }
}

extension TokenRequest.Environment {
    fileprivate init(_ json: JSONValue) throws(WireError) {
        self = try json.oneOf(Self.self, names: Self.allCases.map(\.rawValue))
    }

    fileprivate static func missing(in json: JSONValue) -> WireError {
        json.missing("apnsEnvironment", "one of " + allCases.map(\.rawValue).joined(separator: ", "))
    }
}

extension TokenRequest: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        var environment: JSONValue?
        self.init(apnsEnvironment: .development)
        for (key, value) in try json.members("an object") {
            guard let value = value.nonNull else { continue }
            switch key {
            case "apnsEnvironment": environment = value
            case "apnsToken": apnsToken = try value.string()
            case "clientId", "clientID": clientID = try value.string()
            default: break
            }
        }
        guard let environment else { throw Environment.missing(in: json) }
        apnsEnvironment = try Environment(environment)
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("apnsEnvironment", apnsEnvironment.rawValue)
        writer.member("apnsToken", apnsToken)
        writer.member("clientId", clientID)
        writer.endObject()
    }
}

extension TokenResponse: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        var environment: JSONValue?
        var token: JSONValue?
        var url: JSONValue?
        for (key, value) in try json.members("an object") {
            switch key {
            case "apnsEnvironment": environment = value.nonNull
            case "apnsToken": token = value.nonNull
            case "webcourierURL": url = value.nonNull
            default: break
            }
        }
        guard let environment else { throw TokenRequest.Environment.missing(in: json) }
        guard let token else { throw json.missing("apnsToken", "a string") }
        guard let url else { throw json.missing("webcourierURL", "a string") }
        self.init(
            apnsEnvironment: try TokenRequest.Environment(environment), apnsToken: try token.string(),
            webcourierURL: try url.string())
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("apnsEnvironment", apnsEnvironment.rawValue)
        writer.member("apnsToken", apnsToken)
        writer.member("webcourierURL", webcourierURL)
        writer.endObject()
    }
}
