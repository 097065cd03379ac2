import FoundationEssentials
import NephosCrypto
import NephosStorage
import NephosWire

/// What a challenge is for (Web Authentication §5.8.1, the type of client data).
enum PasskeyUse: String, Sendable {
    case creation = "webauthn.create"
    case assertion = "webauthn.get"
}

/// The content of a challenge. The installation makes it without writing; its first use is written.
struct PasskeyChallenge: Codable, Hashable, Sendable {
    /// A random text, which makes each challenge another.
    var nonce = SecretToken.randomName()
    var issuedAt: Int64
    /// The store's token epoch. A database that may lack the use of a challenge begins another epoch.
    var epoch: Int64
    /// Of a creation: the user handle that the authenticator gets.
    var handle: String?
}

/// A challenge that was used, by the hash of its text.
struct UsedChallenge: StoredEntry {
    static let kind = InstallationEntry.Kind.usedChallenge
}

/// The client data of a registration or an assertion: what the browser says of the page (Web Authentication §5.8.1).
struct PasskeyClientData: Decodable, Sendable {
    var type: String
    var challenge: String
    var origin: String
    var crossOrigin: Bool?

    /// Returns the challenge of client data.
    /// - Throws: `notAuthenticated` unless the browser says that a page of this server asked, and for this use.
    static func challenge(
        _ bytes: [UInt8], _ use: PasskeyUse, _ relyingParty: RelyingParty
    ) throws(ServiceError) -> String {
        guard let data = try? JSONDecoder().decode(Self.self, from: Data(bytes)) else { throw .refusedPasskey }
        guard data.type == use.rawValue, data.crossOrigin != true,
            data.origin.hasSameBytes(as: relyingParty.origin)
        else {
            throw ServiceError(
                .authenticationFailed, .notAuthenticated,
                "the passkey was used at another page than that of \(relyingParty.origin)")
        }
        return data.challenge
    }
}

extension Installation {
    /// Returns the text of a new challenge, which is the browser's for `Limits.passkeyChallengeLifetime`.
    /// - Parameter binding: the token of the page's forms, which is bound to the browser.
    func challengeText(
        _ use: PasskeyUse, binding: String, epoch: Int64, handle: String? = nil
    ) throws(ServiceError) -> String {
        let challenge = PasskeyChallenge(issuedAt: environment.now(), epoch: epoch, handle: handle)
        guard let content = try? JSONEncoder().encode(challenge) else { throw .busy }
        return AuthenticatedToken([UInt8](content))
            .text(key, purpose: use.rawValue, context: Array(binding.utf8))
    }

    /// Returns the challenge of a text.
    /// - Throws: `notAuthenticated` for one that this installation did not make for the page and the browser, or that has
    ///   expired.
    func challenge(_ text: String, _ use: PasskeyUse, binding: String) throws(ServiceError) -> PasskeyChallenge {
        guard
            let token = AuthenticatedToken(text, key, purpose: use.rawValue, context: Array(binding.utf8)),
            let challenge = try? JSONDecoder().decode(PasskeyChallenge.self, from: Data(token.content)),
            (-Limits.clockDifference..<Limits.passkeyChallengeLifetime).contains(environment.now() - challenge.issuedAt)
        else { throw .challengeIsOver }
        return challenge
    }
}

extension StorageTransaction {
    /// Uses a challenge up.
    /// - Throws: `notAuthenticated` if it was used before, or comes from before a restore.
    func use(_ challenge: PasskeyChallenge, _ text: String) throws {
        let name = SecretToken.hash(of: text)
        guard try challenge.epoch == tokenEpoch(), try entry(UsedChallenge.self, name) == nil else {
            throw ServiceError.challengeIsOver
        }
        try put(UsedChallenge(), name, expiresAt: challenge.issuedAt + Limits.passkeyChallengeLifetime)
    }
}

extension ServiceError {
    static let challengeIsOver = ServiceError(
        .authenticationFailed, .notAuthenticated,
        "the page was open for too long, or was used before: try again")
    /// The refusal of a passkey, in the same words for those that are unknown.
    static let refusedPasskey = ServiceError(
        .authenticationFailed, .notAuthenticated, "the passkey is not valid here: it may have been removed")
}
