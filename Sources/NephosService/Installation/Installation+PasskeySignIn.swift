import NephosCrypto
import NephosStorage
import NephosWire

/// What a browser needs to ask for a passkey, which names its account itself.
package struct PasskeyRequest: Hashable, Sendable {
    /// In base64url.
    package var challenge: String
    package var relyingParty: String
}

/// A sign-in by a passkey.
package struct PasskeySignIn: Sendable {
    /// The credential ID in base64url.
    package var credential: String
    /// The account as the authenticator knows it, in base64url.
    package var handle: String
    package var assertion: PasskeyAssertion

    package init(credential: String, handle: String, assertion: PasskeyAssertion) {
        (self.credential, self.handle, self.assertion) = (credential, handle, assertion)
    }
}

extension Installation {
    /// Returns what a page asks for a passkey with; nil if the server has none.
    /// - Parameter binding: the token of the page's forms.
    package func passkeyRequest(binding: String) async throws(ServiceError) -> PasskeyRequest? {
        guard let host = passkeyHost else { return nil }
        let epoch = try await read { try $0.tokenEpoch() }
        return PasskeyRequest(
            challenge: try challengeText(.assertion, binding: binding, epoch: epoch), relyingParty: host)
    }

    /// Signs in by a passkey. Attempts count like guesses of their network, or of their device, if the account
    /// signed in from it before.
    /// - Parameters:
    ///   - request: what the sign-in is for; its name and password are not used.
    ///   - binding: the token of the page's forms.
    /// - Throws: `notAuthenticated` for a passkey that is unknown, of another page or site, of another account than it
    ///   says, not signed by its key with the person verified, or copied; `requestRateLimited` after too many of them.
    package func signIn(
        by passkey: PasskeySignIn, _ request: SignIn, binding: String
    ) async throws(ServiceError) -> SignedIn {
        guard let (relyingParty, verifier) = passkeyPlace else { throw .noPasskeys }
        let text = try PasskeyClientData.challenge(passkey.assertion.clientData, .assertion, relyingParty)
        let challenge = try challenge(text, .assertion, binding: binding)
        let place = try await place(of: request)
        let network = SignInCounters.network(request.address) ?? ""
        guard await signInPlaces.take(network) else { throw .tooManySignIns }
        defer { signInPlaces.giveBack(network) }
        guard let found = try await beginAttempt(passkey, request, relyingParty) else { throw refusal("", network) }
        let key = found.passkey.publicKey
        let counter = try await verified {
            verifier.counter(of: passkey.assertion, by: key, relyingParty: relyingParty.id)
        }
        guard let counter else { throw refusal(found.passkey.account, network) }
        guard found.passkey.used(counter: counter, at: environment.now()) != nil else {
            let actor = AuditActor(name: found.passkey.account, address: network)
            try await audit("passkey refused: its counter went back", found.id, by: actor)
            throw refusal(found.passkey.account, network)
        }
        return try await begin(request, found.passkey.account, place, found.device, found.counters) { transaction in
            try transaction.use(challenge, text)
            // It may have been removed meanwhile, or used with the same counter.
            guard let current = try transaction.entry(StoredPasskey.self, found.id), current.publicKey == key,
                let used = current.used(counter: counter, at: self.environment.now())
            else { throw ServiceError.refusedPasskey }
            try transaction.put(used, found.id)
            try self.audit(
                "passkey used", found.id, by: AuditActor(name: used.account, address: network), in: transaction)
        }
    }

    /// A passkey that is to sign in, and the secret of the device from which it does.
    private struct Attempt: Sendable {
        var id: String
        var passkey: StoredPasskey
        var device: SecretToken
        var counters: SignInCounters
    }

    /// Counts an attempt as failed, and finds its passkey; nil unless it is of this site and of the account that the
    /// authenticator says.
    private func beginAttempt(
        _ passkey: PasskeySignIn, _ request: SignIn, _ relyingParty: RelyingParty
    ) async throws(ServiceError) -> Attempt? {
        let (now, id) = (environment.now(), StoredPasskey.name(passkey.credential))
        do throws(ServiceError) {
            return try await write { transaction in
                let stored = try transaction.entry(StoredPasskey.self, id)
                let known = try stored.flatMap { try transaction.device(request.device, of: $0.account) }
                let counters = SignInCounters(
                    passkeysFrom: request.address,
                    knownDevice: known.flatMap { device in stored.map { ($0.account, device.hash) } })
                try counters.begin(at: now, in: transaction)
                guard let stored, stored.relyingParty == relyingParty.id,
                    let own = try transaction.entry(AccountPasskeys.self, stored.account),
                    // An earlier version deletes an account without its passkeys.
                    try transaction.entry(InstallationAccount.self, stored.account) != nil,
                    own.handle.hasSameBytes(as: passkey.handle)
                else { return nil }
                // A secret that the account does not know is not taken over: its sender may know it, too.
                return Attempt(id: id, passkey: stored, device: known ?? SecretToken(), counters: counters)
            }
        } catch {
            if error.code == .throttled {
                refusals.note("sign-in throttled", address: SignInCounters.network(request.address) ?? "")
            }
            throw error
        }
    }

    /// Notes a passkey that is refused.
    private func refusal(_ account: String, _ network: String) -> ServiceError {
        environment.log(
            "a sign-in failed from \(network.isEmpty ? "an unknown address" : NetworkText.readable(network))")
        refusals.note("passkey refused", object: account, address: network)
        return .refusedPasskey
    }
}
