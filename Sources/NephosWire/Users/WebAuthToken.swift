/// The request of our own `users/webAuthToken`: a token with which the account signs in to CloudKit Web Services.
package struct WebAuthTokenRequest: Hashable, Sendable {
    /// The API token that the web auth token goes with.
    package var apiToken: String

    package init(apiToken: String) { self.apiToken = apiToken }
}

extension WebAuthTokenRequest: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init, .required("apiToken", \.apiToken, .string))
}

/// The answer of our own `users/webAuthToken`.
package struct WebAuthTokenResponse: Hashable, Sendable {
    package var webAuthToken: String

    package init(webAuthToken: String) { self.webAuthToken = webAuthToken }
}

extension WebAuthTokenResponse: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init, .required("webAuthToken", \.webAuthToken, .string))
}
