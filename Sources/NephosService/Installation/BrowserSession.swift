import NephosCrypto
import NephosStorage
import NephosWire

/// A session of a browser at the server's own pages: of sign-ins, shares and the account. It signs in to no container and
/// to no administration.
package struct BrowserSession: Hashable, Sendable {
    /// The account's ID.
    package var account: String
    /// The account's canonical name.
    package var name: String
    /// The address to which invitations of the account go; nil without a verified one.
    package var address: String?
    /// The name of the session, which is no secret.
    package var id: String
    /// The time at which the person last showed who they are, in milliseconds since 1970.
    package var authenticatedAt: Int64
}

extension Installation {
    /// Returns the browser session of a token; nil if there is none or it is over.
    package func browserSession(_ token: String?) async throws(ServiceError) -> BrowserSession? {
        guard let token else { return nil }
        do throws(ServiceError) {
            let session = try await session(token)
            guard session.session.isOfBrowser == true else { return nil }
            try rates.admit(account: session.session.account)
            return BrowserSession(
                account: session.session.account, name: session.name, address: session.address, id: session.hash,
                authenticatedAt: session.session.lastAuthenticatedAt)
        } catch {
            if error.clientCode == .notAuthenticated { return nil }
            throw error
        }
    }

    /// Begins a session for an app without the password, as the browser is signed in.
    /// - Throws: `notAuthenticated` if the browser's session ended, or for an API token that allows no sign-in.
    package func signIn(
        _ browser: BrowserSession, apiToken: String, origin: String?, keepsSignedIn: Bool, address: [UInt8]
    ) async throws(ServiceError) -> SignedIn {
        let request = SignIn(
            name: browser.name, password: "", apiToken: apiToken, origin: origin, label: "browser",
            keepsSignedIn: keepsSignedIn, address: address)
        let place = try await place(of: request)
        let secret = SecretToken()
        let expiry = environment.now() + StoredSession.lifetime(keepsSignedIn: keepsSignedIn)
        try await write { transaction in
            try self.begin(
                request, browser.account, place, secret, isOfBrowser: false, from: browser.id, in: transaction)
        }
        return SignedIn(token: secret.text(), device: "", expiresAt: expiry)
    }

    /// Replaces the password of an account that knows the present one. All sessions end, also the browser's.
    /// - Parameter removesOtherMethods: whether the account's passkeys and identity providers are removed, too.
    /// - Throws: `notAuthenticated` for a wrong password; `requestRateLimited` after too many of them.
    package func changePassword(
        of browser: BrowserSession, from old: String, to new: String, device: String?,
        removesOtherMethods: Bool = false, address: [UInt8]
    ) async throws(ServiceError) {
        try PasswordRules.check(new, of: browser.name)
        let verified = try await checkPassword(old, of: browser, device: device, address: address)
        let hash = try await hashed(new)
        let actor = AuditActor(name: browser.account, address: SignInCounters.network(address) ?? "")
        try await write { transaction in
            // A recovery meanwhile ends the session, and its password stays.
            guard try transaction.entry(StoredSession.self, browser.id) != nil,
                let account = try transaction.entry(InstallationAccount.self, browser.account),
                account.password == verified
            else { throw ServiceError.sessionIsOver }
            try self.replacePassword(of: browser.account, account, hash, by: actor, in: transaction)
            if removesOtherMethods { try self.removeOtherMethods(of: browser.account, by: actor, in: transaction) }
        }
        sessions.evictAll()
    }

    /// Ends one session of the browser's account with those that it began, or all of them.
    /// - Parameter withProgramTokens: whether all program tokens are revoked too.
    package func endSessions(
        of browser: BrowserSession, id: String?, withProgramTokens: Bool = false, address: [UInt8]
    ) async throws(ServiceError) {
        _ = try await endSessions(
            ofAccountNamed: browser.name, id: id, withProgramTokens: withProgramTokens,
            by: AuditActor(name: browser.account, address: SignInCounters.network(address) ?? ""))
    }
}
