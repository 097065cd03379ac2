/// One operation of `subscriptions/modify`.
package enum SubscriptionOperation: Hashable, Sendable {
    /// Saves a new subscription. If its ID is in use, the existing subscription stays unchanged, and the answer returns
    /// that one.
    case create(SubscriptionDictionary)
    /// Saves a subscription, and replaces an existing one with its ID, as saving a `CKSubscription` does.
    case update(SubscriptionDictionary)
    case delete(subscriptionID: String)

    package var subscriptionID: String? {
        switch self {
        case .create(let subscription), .update(let subscription): subscription.subscriptionID
        case .delete(let subscriptionID): subscriptionID
        }
    }
}

/// The request of `subscriptions/modify` of CloudKit Web Services.
package struct ModifySubscriptionsRequest: Hashable, Sendable {
    package var operations: [SubscriptionOperation]
    package init(operations: [SubscriptionOperation]) { self.operations = operations }
}

/// The request of `subscriptions/lookup` of CloudKit Web Services.
package struct LookupSubscriptionsRequest: Hashable, Sendable {
    package var subscriptionIDs: [String]
    package init(subscriptionIDs: [String]) { self.subscriptionIDs = subscriptionIDs }
}

/// An element of a `subscriptions` array of a response.
package enum SubscriptionResult: Hashable, Sendable {
    case subscription(SubscriptionDictionary)
    /// A deleted subscription: a bare `subscriptionID`, without a type.
    case deleted(subscriptionID: String)
    /// The failure of one item. The error contains the item's `subscriptionID`.
    case failure(ErrorDictionary)
}

/// The answer of `subscriptions/list`, `subscriptions/lookup` and `subscriptions/modify`. After lookups and changes,
/// the results are in the request's order.
package struct SubscriptionsResponse: Hashable, Sendable {
    package var subscriptions: [SubscriptionResult]
    package init(subscriptions: [SubscriptionResult]) { self.subscriptions = subscriptions }
}

/// The request of `tokens/create` and `tokens/register` of CloudKit Web Services.
package struct TokenRequest: Hashable, Sendable {
    package enum Environment: String, Hashable, Sendable, CaseIterable {
        case development
        case production
    }

    /// The environment of Apple's push service to which the token belongs.
    package var apnsEnvironment: Environment
    /// The device's token for `tokens/register`; nil for `tokens/create`.
    package var apnsToken: String?
    /// The ID of the client among the account's clients, `clientId` on the wire. A repeated request with the same ID
    /// returns the existing token. The service does not notify a client of the client's own changes.
    package var clientID: String?

    package init(apnsEnvironment: Environment, apnsToken: String? = nil, clientID: String? = nil) {
        self.apnsEnvironment = apnsEnvironment
        self.apnsToken = apnsToken
        self.clientID = clientID
    }
}

/// The answer of `tokens/create` and `tokens/register`.
package struct TokenResponse: Hashable, Sendable {
    package var apnsEnvironment: TokenRequest.Environment
    /// The token in base64.
    package var apnsToken: String
    /// The address that the client polls for notifications. Over HTTP, an absolute URL.
    package var webcourierURL: String

    package init(apnsEnvironment: TokenRequest.Environment, apnsToken: String, webcourierURL: String) {
        self.apnsEnvironment = apnsEnvironment
        self.apnsToken = apnsToken
        self.webcourierURL = webcourierURL
    }
}
