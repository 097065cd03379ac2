/// A request to an identity provider.
package struct ProviderRequest: Sendable {
    package var url: ProviderAddress
    /// The body of a POST, as a form; nil for a GET.
    package var form: String?
    /// The header `Authorization`, a secret; nil for none.
    package var authorization: String?
    /// The path of a file of PEM certificates that are trusted instead of the system's; nil for the system's.
    package var certificates: String?

    init(_ url: ProviderAddress, form: String? = nil, authorization: String? = nil, certificates: String?) {
        (self.url, self.form, self.authorization, self.certificates) = (url, form, authorization, certificates)
    }
}

/// How the server reaches identity providers.
package struct ProviderOutlet: Sendable {
    /// Sends a request, follows no redirect, and returns the status and body of the answer: in at most
    /// `Limits.providerTimeout`, and of at most `Limits.providerAnswerSize`.
    package var send: @Sendable (ProviderRequest) async throws(ProviderFailure) -> (status: Int, body: [UInt8])

    package init(
        _ send: @escaping @Sendable (ProviderRequest) async throws(ProviderFailure) -> (status: Int, body: [UInt8])
    ) {
        self.send = send
    }
}

/// The failure of a sign-in by a provider. The reason is for the log, and has no text of the provider or of a caller.
package struct ProviderFailure: Error, Hashable, Sendable {
    package var reason: String
    /// Whether the provider cannot be reached, so that a later attempt may succeed.
    package var isTemporary: Bool

    private init(_ reason: String, isTemporary: Bool) { (self.reason, self.isTemporary) = (reason, isTemporary) }

    package static func unreachable(_ reason: String) -> ProviderFailure { ProviderFailure(reason, isTemporary: true) }

    /// The failure of an answer that does not hold what the protocol says.
    package static func refused(_ reason: String) -> ProviderFailure { ProviderFailure(reason, isTemporary: false) }
}
