import NephosCrypto
import NephosStorage
import NephosWire

/// How a sign-in by a provider ended.
package enum ProviderOutcome: Sendable {
    case signedIn(SignedIn)
    /// An account was made by a link, and is signed in.
    /// - Parameter continuation: where the person goes on; nil for the account's page.
    case signedUp(SignedIn, continuation: SignUpContinuation?)
    /// No account is the provider's person, and none was made.
    /// - Parameter isAddressTaken: whether an account has the address, which the provider verified as the person's.
    case noAccount(isAddressTaken: Bool)
}

extension Installation {
    /// The providers by which people sign in, in the order of the settings.
    package var providers: [IdentityProvider] { people.providers.providers }

    /// The URL to which a provider leads the browser back.
    func redirectURL(of provider: IdentityProvider) -> String {
        "\(people.url)\(PeopleSettings.providerCallbackPath)/\(provider.name)"
    }

    // MARK: The way to the provider

    /// Begins a sign-in. Nothing is stored for it.
    /// - Parameters:
    ///   - asksAgain: whether the provider is to ask for the person's credentials, so that the session is recent.
    ///   - browserSecret: a secret that the browser alone has.
    /// - Returns: the URL of the provider's page.
    /// - Throws: `unknownItem` for an unknown provider; `serviceUnavailable` if it cannot be used now.
    package func beginSignIn(
        by name: String, _ purpose: ProviderPurpose, keepsSignedIn: Bool = false, asksAgain: Bool = false,
        browserSecret: String, address: [UInt8]
    ) async throws(ServiceError) -> String {
        let client = try client(name)
        let metadata = try await limited(address) { () async throws(ProviderFailure) in try await client.metadata() }
        let provider = client.provider
        let signIn = ProviderSignIn(
            provider: name, purpose: purpose, keepsSignedIn: keepsSignedIn, id: SecretToken.randomName(),
            browser: ProviderSignIn.hash(ofBrowser: browserSecret), epoch: try await read { try $0.tokenEpoch() },
            issuedAt: environment.now())
        guard let state = signIn.text(key) else { throw .busy }
        var fields = [
            (name: "response_type", value: "code"), ("client_id", provider.clientID),
            ("redirect_uri", redirectURL(of: provider)), ("scope", provider.scopes.joined(separator: " ")),
            ("state", state), ("nonce", signIn.nonce(browserSecret)),
            ("code_challenge", ProviderSignIn.challenge(signIn.verifier(browserSecret))),
            ("code_challenge_method", "S256"),
        ]
        // OpenID Connect Core 1.0 §3.1.2.1. Whether the provider did ask, the ID token says.
        if asksAgain { fields.append(("max_age", "0")) }
        if asksAgain, metadata.asksAtPrompt { fields.append(("prompt", "login")) }
        if provider.responseMode != .query { fields.append(("response_mode", provider.responseMode.rawValue)) }
        return
            "\(metadata.authorization.text)\(metadata.authorization.hasQuery ? "&" : "?")\(FormEncoding.text(fields))"
    }

    /// Begins to add a provider to the account of a browser's session.
    /// - Throws: `notAuthenticated` if the sign-in is too old for changes, besides what the sign-in throws.
    package func beginAddition(
        of name: String, to browser: BrowserSession, browserSecret: String, address: [UInt8]
    ) async throws(ServiceError) -> String {
        let now = environment.now()
        try await read { try $0.checkIsRecent(browser, at: now) }
        return try await beginSignIn(
            by: name, .addition(session: browser.id), browserSecret: browserSecret, address: address)
    }

    // MARK: The way back

    /// Returns the sign-in of a `state`, which counts in its browser alone; nil if it is another provider's, or expired.
    package func providerSignIn(_ state: String, by provider: String) -> ProviderSignIn? {
        guard let signIn = ProviderSignIn(state, provider: provider, key) else { return nil }
        let age = environment.now() - signIn.issuedAt
        return (0..<Limits.providerSignInLifetime).contains(age) ? signIn : nil
    }

    /// Uses a sign-in up, and returns the person that the provider's answer stands for.
    ///
    /// It counts as a failed attempt of the network, or of a device from which an account signed in by a provider before,
    /// until `succeed` of the counters, unless the provider cannot be reached.
    /// - Parameter device: the secret that an earlier sign-in gave the browser; nil for a new one.
    /// - Throws: `unknownItem` for a sign-in of another browser, or one that came back before; `notAuthenticated` for an
    ///   answer that does not hold; `serviceUnavailable` if the provider cannot be reached; `requestRateLimited`.
    func identity(
        _ signIn: ProviderSignIn, _ response: ProviderResponse, browserSecret: String, device: String?,
        address: [UInt8]
    ) async throws(ServiceError) -> (ProvidedIdentity, SignInCounters) {
        let client = try client(signIn.provider)
        guard signIn.browser == ProviderSignIn.hash(ofBrowser: browserSecret) else { throw .providerSignInIsOver }
        // Nothing is redeemed then, so nothing is written.
        guard !response.isError, !response.code.isEmpty else { throw .providerRefused }
        let now = environment.now()
        let counters = try await write { transaction in
            guard signIn.epoch == (try transaction.tokenEpoch()),
                try transaction.installationEntry(.usedProviderSignIn, signIn.id) == nil
            else { throw ServiceError.providerSignInIsOver }
            let known = try transaction.device(device, of: KnownDevice.ofProviders)
            let counters = SignInCounters(providersFrom: address, knownDevice: known?.hash)
            try counters.begin(at: now, in: transaction)
            try transaction.put(
                UsedProviderSignIn(), signIn.id, expiresAt: signIn.issuedAt + Limits.providerSignInLifetime)
            return counters
        }
        do throws(ServiceError) {
            return (try await identity(signIn, response, client, browserSecret, address), counters)
        } catch {
            if error.code == .tryAgainLater { try await write { try counters.succeed(in: $0) } }
            throw error
        }
    }

    /// Asks the provider for the person.
    private func identity(
        _ signIn: ProviderSignIn, _ response: ProviderResponse, _ client: ProviderClient, _ browserSecret: String,
        _ address: [UInt8]
    ) async throws(ServiceError) -> ProvidedIdentity {
        let redirectURL = redirectURL(of: client.provider)
        return try await limited(address) { () async throws(ProviderFailure) in
            let metadata = try await client.metadata()
            let isNamed = response.issuer?.hasSameBytes(as: client.provider.issuer.text)
            guard isNamed ?? !metadata.namesIssuer else { throw .refused("the answer is another issuer's") }
            var identity = try await client.identity(
                response.code, verifier: signIn.verifier(browserSecret), nonce: signIn.nonce(browserSecret),
                redirectURL: redirectURL)
            identity.name = identity.name ?? response.userName
            return identity
        }
    }

    private func client(_ name: String) throws(ServiceError) -> ProviderClient {
        guard let client = providerClients[name] else {
            throw ServiceError(.notFound, .unknownItem, "there is no such provider")
        }
        return client
    }

    /// Runs requests to a provider within the bounds of those under way, of all and of a network.
    private func limited<T>(
        _ address: [UInt8], _ body: () async throws(ProviderFailure) -> T
    ) async throws(ServiceError) -> T {
        let network = SignInCounters.network(address) ?? ""
        guard await providerPlaces.take(network) else { throw .tooManySignIns }
        defer { providerPlaces.giveBack(network) }
        do throws(ProviderFailure) {
            return try await body()
        } catch {
            environment.log("a sign-in by a provider failed: \(error.reason)")
            refusals.note("provider sign-in refused", address: network)
            throw error.isTemporary ? .providerIsAway : .providerRefused
        }
    }
}

extension PeopleSettings {
    /// The path of the page to which providers lead back, before their names.
    package static let providerCallbackPath = "/account/providers/callback"
}

extension StorageReader {
    /// - Throws: `notAuthenticated` if the browser's session ended, or began too long ago for changes.
    func checkIsRecent(_ browser: BrowserSession, at now: Int64) throws {
        try Administrator.checkIsRecent(try requireSession(browser.id).lastAuthenticatedAt, at: now)
    }
}

extension ServiceError {
    static let providerSignInIsOver = ServiceError(
        .notFound, .unknownItem, "the sign-in has expired, was used, or was begun in another browser: begin it again")
    static let providerIsAway = ServiceError(
        .tryAgainLater, .serviceUnavailable, "the provider cannot be reached: try again, or sign in in another way",
        retryAfter: 5)
    static let providerRefused = ServiceError(
        .authenticationFailed, .notAuthenticated, "the provider did not sign you in: begin again")
}
