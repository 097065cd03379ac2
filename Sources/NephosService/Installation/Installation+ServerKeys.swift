import FoundationEssentials
import NephosCrypto
import NephosStorage
import NephosWire

extension Installation {
    /// Adds a server-to-server key.
    /// - Parameters:
    ///   - publicKey: the public key in PEM. The server never has the private one.
    ///   - replaced: the ID of a key of the same container and environment, whose user the new key takes over; nil for a
    ///     user of its own. Both are valid until the former one is revoked.
    /// - Throws: `invalidArguments` for what is no public key of P-256, and for one that the container and environment have.
    package func createServerKey(
        container: String, environment: ContainerEnvironment, name: String, publicKey: String,
        replacing replaced: String?, by actor: AuditActor
    ) async throws(ServiceError) -> ServerKeySummary {
        guard let point = ECDSAPublicKey(publicKey) else {
            throw .invalid(
                "a server-to-server key is the public key of a P-256 key in PEM: openssl ec -in eckey.pem -pubout")
        }
        var key = StoredServerKey(
            container: container, environment: environment.rawValue, name: StoredSession.label(name),
            publicKey: publicKey, user: AccountID.make(self.environment), createdAt: self.environment.now())
        let id = SecretToken.randomName()
        key = try await write { [key] transaction in
            var key = key
            guard try transaction.entry(StoredContainer.self, container) != nil else {
                throw ServiceError.noContainer(container)
            }
            // A request that one key signed would be carried out once for each ID.
            let same = try transaction.entries(StoredServerKey.self).first { _, known in
                known.container == key.container && known.environment == key.environment
                    && ECDSAPublicKey(known.publicKey).map(point.isSameKey) ?? false
            }
            if let (id, _) = same {
                throw ServiceError.invalid(
                    "the container has this key already, as \(id): make another, or revoke that first")
            }
            if let replaced {
                guard let former = try transaction.entry(StoredServerKey.self, replaced),
                    former.container == key.container, former.environment == key.environment
                else { throw ServiceError.unknownServerKey(replaced) }
                key.user = former.user
            }
            try transaction.put(key, id)
            try transaction.put(ServerKeyUser(), key.user)
            try self.audit("server key made", id, by: actor, in: transaction)
            return key
        }
        serverKeys.evictAll()
        return Self.summary(id, key)
    }

    package func serverKeySummaries(container: String?) async throws(ServiceError) -> [ServerKeySummary] {
        try await read { reader in
            try reader.entries(StoredServerKey.self).map(Self.summary)
                .filter { try (container == nil || $0.container == container) && reader.hasContainer($0.container) }
        }
    }

    package func revokeServerKey(_ id: String, by actor: AuditActor) async throws(ServiceError) {
        try await write { transaction in
            guard let key = try transaction.entry(StoredServerKey.self, id) else {
                throw ServiceError.unknownServerKey(id)
            }
            try transaction.removeInstallationEntry(.serverKey, id)
            // Earlier versions made keys without it.
            try transaction.put(ServerKeyUser(), key.user)
            try self.audit("server key revoked", id, by: actor, in: transaction)
        }
        serverKeys.evictAll()
    }

    /// - Throws: `invalidArguments` for the user of a key, whose requests would go on as another user.
    func checkIsNoServerKeyUser(_ user: String) async throws(ServiceError) {
        let key = try await read { try $0.entries(StoredServerKey.self).first { $0.value.user == user }?.name }
        guard let key else { return }
        throw .invalid("\(user) is the user of the server-to-server key \(key): revoke the key first")
    }

    /// Forgets the user of a revoked key, whose data was deleted.
    func removeServerKeyUser(_ user: String) async throws(ServiceError) {
        _ = try await write { try $0.removeInstallationEntry(.serverKeyUser, user) }
    }

    private static func summary(_ id: String, _ key: StoredServerKey) -> ServerKeySummary {
        ServerKeySummary(
            keyID: id, container: key.container, environment: key.environment, name: key.name, user: key.user,
            createdAt: key.createdAt)
    }

    // MARK: Requests

    /// The refusal of a signature, in the same words for each reason but the date, which people can mend.
    private static let wrongSignature = ServiceError(
        .authenticationFailed, .notAuthenticated,
        "the signature is not that of a server-to-server key of the container and environment for this request")

    /// Returns the caller of a request that a server-to-server key signed.
    /// - Throws: `notAuthenticated` for a signature that is wrong, too old, or of a revoked key or another container's.
    package func caller(
        container: String, environment: ContainerEnvironment, signed request: SignedRequest
    ) async throws(ServiceError) -> SignedInCaller {
        guard let key = try await serverKey(request.keyID), key.container == container,
            key.environment == environment.rawValue, let publicKey = ECDSAPublicKey(key.publicKey),
            let signature = Data(base64Encoded: request.signature).map({ [UInt8]($0) }),
            let r = ECDSAPublicKey.r(of: signature), let message = request.message(signedBy: publicKey, signature)
        else { throw Self.wrongSignature }
        guard let time = request.time, abs(self.environment.now() - time) <= Limits.signatureLifetime else {
            throw ServiceError(
                .authenticationFailed, .notAuthenticated,
                "the signed date is not within \(Limits.signatureLifetime / 60_000) minutes of the server's, or not of the form "
                    + "2026-01-15T09:30:00Z")
        }
        try rates.admit(account: key.user)
        // A signed message is carried out once, and s of a signature has two forms.
        let once = SecretToken.hash(of: "\(request.keyID) \(Data(r).base64EncodedString()) \(message)")
        return SignedInCaller(
            account: key.user, isDeveloper: true, session: StoredServerKey.sessionPrefix + request.keyID,
            requestKey: RequestKeyRow.signedPrefix + once.prefix(56), program: .serverKey)
    }

    /// Notes that a signed request was received, unless its endpoint stores the outcome by its request key.
    /// - Parameter key: the name of the server-to-server key (`SignedInCaller.session`).
    /// - Throws: `CONFLICT` if it was received before, even if it failed then; `requestRateLimited` after
    ///   `Limits.claimsPerMinute`.
    package func claim(signed requestKey: String, by key: String) async throws(ServiceError) {
        let now = environment.now()
        guard claims.take(1, for: key, at: now) else { throw .tooManyClaims }
        try await write { transaction in
            guard try transaction.entry(ClaimedRequest.self, requestKey) == nil else { throw ServiceError.signedAgain }
            try transaction.put(ClaimedRequest(), requestKey, expiresAt: now + Limits.signedOutcomeLifetime)
        }
    }

    /// - Throws: `notAuthenticated` for a key that is revoked, or another container's.
    package func checkServerKey(
        _ id: String, container: String, environment: ContainerEnvironment
    ) async throws(ServiceError) {
        guard let key = try await serverKey(id), key.container == container, key.environment == environment.rawValue
        else { throw Self.wrongSignature }
    }

    /// - Throws: `notAuthenticated` for a key that is revoked.
    func account(ofLiveServerKey id: String) async throws(ServiceError) -> String {
        guard let key = try await serverKey(id) else { throw Self.wrongSignature }
        return key.user
    }

    private func serverKey(_ id: String) async throws(ServiceError) -> StoredServerKey? {
        guard id.utf8.count == 64 else { return nil }
        return try await serverKeys.value(id) { () async throws(ServiceError) in
            try await read { reader in
                guard let key = try reader.entry(StoredServerKey.self, id), try reader.hasContainer(key.container)
                else {
                    return nil
                }
                return key
            }
        }
    }
}

/// A signed request that was received, by its request key.
struct ClaimedRequest: StoredEntry {
    static let kind = InstallationEntry.Kind.claimedRequest
}

extension ServiceError {
    fileprivate static let tooManyClaims = ServiceError(
        .throttled, .requestRateLimited, "the key signs too many requests that write", retryAfter: 60)
    fileprivate static let signedAgain = ServiceError(
        .conflict, .serverRejectedRequest,
        "a request with this signature was received: sign it again with the present time")
    fileprivate static func unknownServerKey(_ id: String) -> ServiceError {
        unknown("server-to-server key", id, listedBy: "server-keys list")
    }
}
