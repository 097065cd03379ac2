/// One operation of `subscriptions/modify`.
package enum SubscriptionOperation: Hashable, Sendable {
    /// Saves a subscription. If its ID is in use, the existing one stays unchanged and is the answer.
    case create(SubscriptionDictionary)
    /// Saves a subscription, replacing one with its ID, as saving a `CKSubscription` does.
    case update(SubscriptionDictionary)
    case delete(subscriptionID: String)

    package var subscriptionID: String? {
        switch self {
        case .create(let subscription), .update(let subscription): subscription.subscriptionID
        case .delete(let subscriptionID): subscriptionID
        }
    }
}

/// `subscriptions/modify` of CloudKit Web Services.
package struct ModifySubscriptionsRequest: Hashable, Sendable {
    package var operations: [SubscriptionOperation]
    package init(operations: [SubscriptionOperation]) { self.operations = operations }
}

/// `subscriptions/lookup` of CloudKit Web Services.
package struct LookupSubscriptionsRequest: Hashable, Sendable {
    package var subscriptionIDs: [String]
    package init(subscriptionIDs: [String]) { self.subscriptionIDs = subscriptionIDs }
}

/// An element of a `subscriptions` array of a response.
package enum SubscriptionResult: Hashable, Sendable {
    case subscription(SubscriptionDictionary)
    /// A bare `subscriptionID`, without a type.
    case deleted(subscriptionID: String)
    /// Carries its `subscriptionID`.
    case failure(ErrorDictionary)
}

/// The answer of `subscriptions/list`, `subscriptions/lookup` and `subscriptions/modify`; the latter two keep the
/// request's order.
package struct SubscriptionsResponse: Hashable, Sendable {
    package var subscriptions: [SubscriptionResult]
    package init(subscriptions: [SubscriptionResult]) { self.subscriptions = subscriptions }
}

/// `tokens/create` and `tokens/register` of CloudKit Web Services.
package struct TokenRequest: Hashable, Sendable {
    package enum Environment: String, Hashable, Sendable, CaseIterable {
        case development
        case production
    }

    /// The token's push service: Apple's development or production environment.
    package var apnsEnvironment: Environment
    /// The device's token, for `tokens/register` only.
    package var apnsToken: String?
    /// Distinguishes the account's clients, `clientId` on the wire; a repeated request returns the existing token. A
    /// client is not notified of its own changes.
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
    /// In base64.
    package var apnsToken: String
    /// The address to poll for notifications. Over HTTP an absolute URL.
    package var webcourierURL: String

    package init(apnsEnvironment: TokenRequest.Environment, apnsToken: String, webcourierURL: String) {
        self.apnsEnvironment = apnsEnvironment
        self.apnsToken = apnsToken
        self.webcourierURL = webcourierURL
    }
}
