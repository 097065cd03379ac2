import NephosCrypto
import NephosStorage
import NephosWire

/// An API token, as the administration shows it.
package struct APITokenSummary: Codable, Hashable, Sendable {
    package var token: String
    package var container: String
    package var environment: String
    package var name: String
    package var origins: [String]
    package var allowsSignIn: Bool
    package var callback: String?
    package var createdAt: Int64
    package var expiresAt: Int64?
}

extension Installation {
    /// Makes a container, with both environments. It is a name until its first write.
    package func createContainer(_ container: String, by actor: AuditActor) async throws(ServiceError) {
        try RequestContext(
            container: container, environment: .development, scope: .public, account: nil, requestID: ""
        ).checkContainer()
        let now = environment.now()
        try await write { transaction in
            try transaction.requireNoDeletion(ofContainer: container)
            guard try transaction.entry(StoredContainer.self, container) == nil else {
                throw ServiceError(.exists, .serverRejectedRequest, "there is a container \(container) already")
            }
            try transaction.put(StoredContainer(createdAt: now), container)
            try self.audit("container made", container, by: actor, in: transaction)
        }
    }

    /// The identifiers of the containers, in ascending order.
    package func containers() async throws(ServiceError) -> [String] {
        try await read { try $0.entries(StoredContainer.self).map(\.name) }
    }

    /// Makes an API token of a container.
    /// - Parameters:
    ///   - origins: the origins of the web pages that may use it; empty for programs alone.
    ///   - callback: the URL to which browsers go after a sign-in; nil to pass the token to the app's window.
    ///   - lifetime: the time in milliseconds after which it expires; nil for never.
    package func createAPIToken(
        container: String, environment: ContainerEnvironment, name: String, origins: [String], allowsSignIn: Bool,
        callback: String? = nil, lifetime: Int64?, by actor: AuditActor
    ) async throws(ServiceError) -> APITokenSummary {
        for origin in origins { try WebOrigin.check(origin) }
        if let callback { try SignInCallback.check(callback) }
        guard lifetime.map({ (1...Limits.longestAPIToken).contains($0) }) ?? true else {
            throw .invalid("the lifetime of an API token is more than 0 and at most 100 years")
        }
        let now = self.environment.now()
        let token = APIToken(
            container: container, environment: environment.rawValue, name: name, origins: origins,
            allowsSignIn: allowsSignIn, callback: callback, createdAt: now, expiresAt: lifetime.map { now + $0 })
        let text = SecretToken.randomName()
        try await write { transaction in
            guard try transaction.entry(StoredContainer.self, container) != nil else {
                throw ServiceError.noContainer(container)
            }
            try transaction.put(token, text, expiresAt: token.expiresAt ?? 0)
            try self.audit("API token made", text, by: actor, in: transaction)
        }
        apiTokens.evictAll()
        return Self.summary(text, token)
    }

    package func apiTokenSummaries(container: String?) async throws(ServiceError) -> [APITokenSummary] {
        try await read { reader in
            try reader.entries(APIToken.self).map(Self.summary).filter {
                try (container == nil || $0.container == container) && reader.hasContainer($0.container)
            }
        }
    }

    /// Revokes an API token. The sessions that were made with it go on.
    package func revokeAPIToken(_ token: String, by actor: AuditActor) async throws(ServiceError) {
        try await write { transaction in
            guard try transaction.removeInstallationEntry(.apiToken, token) else {
                throw ServiceError.unknown("API token", token, listedBy: "api-tokens list")
            }
            try self.audit("API token revoked", token, by: actor, in: transaction)
        }
        apiTokens.evictAll()
    }

    private static func summary(_ text: String, _ token: APIToken) -> APITokenSummary {
        APITokenSummary(
            token: text, container: token.container, environment: token.environment, name: token.name,
            origins: token.origins, allowsSignIn: token.allowsSignIn, callback: token.callback,
            createdAt: token.createdAt, expiresAt: token.expiresAt)
    }
}

extension Installation {
    package func exists(container: String) async throws(ServiceError) -> Bool {
        try await read { try $0.entry(StoredContainer.self, container) != nil }
    }
}

extension ServiceError {
    package static func noContainer(_ container: String) -> ServiceError {
        ServiceError(
            .notFound, .badContainer,
            "there is no container \(container): 'nephos containers list' lists what there is, "
                + "'nephos containers create' makes one")
    }
}
