import NephosService
import Synchronization

/// The identity of the sender to Apple's push service: its signing key, the key's identifier and the team's identifier
/// at Apple's developer site.
package struct ProviderIdentity: Sendable {
    package let key: SigningKey
    package let keyID: String
    package let teamID: String

    /// - Throws: `NotificationSetupError` unless each identifier consists of ten capital letters and digits.
    package init(key: SigningKey, keyID: String, teamID: String) throws(NotificationSetupError) {
        guard AppleToken.isIdentifier(keyID) else {
            throw NotificationSetupError("'\(keyID)' is not a key's identifier: ten capital letters and digits")
        }
        guard AppleToken.isIdentifier(teamID) else {
            throw NotificationSetupError("'\(teamID)' is not a team's identifier: ten capital letters and digits")
        }
        self.key = key
        self.keyID = keyID
        self.teamID = teamID
    }

    /// Returns a provider token; nil if it cannot be signed. The token is a JSON Web Token with the sender and the time
    /// of issue, signed with ES256 (Apple's documentation, Establishing a token-based connection to APNs).
    package func token(issuedAt seconds: Int64) -> String? {
        AppleToken.text(teamID: teamID, keyID: keyID, issuedAt: seconds, sign: key.sign)
    }
}

/// The rules for replacing a provider token. Apple's service requires a token that is at most an hour old, and refuses
/// a sender that makes new tokens more often than every 20 minutes.
///
/// - A token is used for 40 minutes.
/// - A token with a time of issue in the future is replaced, because the clock was set back.
/// - A token that the service calls expired is replaced at once, but at most once per 20 minutes. If the service calls
///   the next token expired too, the clock is wrong, and another token would not help.
package struct ProviderTokenRules: Hashable, Sendable {
    static let lifetime: Int64 = 40 * 60
    static let renewalInterval: Int64 = 20 * 60

    /// The time at which the token was issued, in seconds since 1970.
    package var issuedAt: Int64
    /// The time at which a token was last replaced because the service called it expired, in seconds since 1970; nil
    /// for never.
    package var refusedAt: Int64?

    package init(issuedAt: Int64, refusedAt: Int64? = nil) {
        self.issuedAt = issuedAt
        self.refusedAt = refusedAt
    }

    /// Whether the lifetime of the token is over.
    package func isOver(now: Int64) -> Bool {
        now < issuedAt || now - issuedAt >= Self.lifetime
    }

    /// Whether a token that the service calls expired may be replaced now.
    package func mayReplaceRefused(now: Int64) -> Bool {
        guard let refusedAt else { return true }
        return now < refusedAt || now - refusedAt >= Self.renewalInterval
    }
}

/// The store of the current provider token.
final class ProviderTokens: Sendable {
    private let identity: ProviderIdentity
    /// Returns the current time in seconds since 1970.
    private let now: @Sendable () -> Int64
    private let current = Mutex<(token: String, rules: ProviderTokenRules)?>(nil)

    init(_ identity: ProviderIdentity, now: @escaping @Sendable () -> Int64) {
        self.identity = identity
        self.now = now
    }

    /// Returns the current token, renewed if necessary; nil if none can be signed.
    func token() -> String? {
        let now = now()
        return current.withLock { current in
            if let current, !current.rules.isOver(now: now) { return current.token }
            return renew(&current, now, refusedAt: current?.rules.refusedAt)
        }
    }

    /// Returns the token that replaces one which the service calls expired; nil if no other token is available now.
    func token(insteadOf refused: String) -> String? {
        let now = now()
        return current.withLock { current in
            // Another request has already replaced the refused token.
            if let current, current.token != refused { return current.token }
            guard current?.rules.mayReplaceRefused(now: now) ?? true else { return nil }
            return renew(&current, now, refusedAt: now)
        }
    }

    private func renew(
        _ current: inout (token: String, rules: ProviderTokenRules)?, _ now: Int64, refusedAt: Int64?
    ) -> String? {
        guard let token = identity.token(issuedAt: now) else { return nil }
        current = (token, ProviderTokenRules(issuedAt: now, refusedAt: refusedAt))
        return token
    }
}
