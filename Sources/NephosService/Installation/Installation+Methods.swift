import NephosStorage
import NephosWire

/// A way to sign in to an account besides its password, as the administration shows it.
package struct SignInMethodSummary: Codable, Hashable, Sendable {
    package enum Kind: String, Codable, Sendable {
        case passkey, provider
    }

    /// The name of the entry, which is no secret.
    package var id: String
    package var kind: Kind
    /// The host of a passkey, or the title of a provider; its issuer if the server does not have it.
    package var place: String
    /// The passkey's name, or the address or name that the provider gave; empty without one.
    package var label: String
    package var addedAt: Int64
    /// Whether it signs in at the server as it is set up.
    package var isUsable: Bool
}

/// The ways to sign in to an account, as the administration shows them.
package struct SignInMethodList: Codable, Hashable, Sendable {
    package var hasPassword: Bool
    package var methods: [SignInMethodSummary]
}

extension Installation {
    /// Lists how an account signs in.
    /// - Throws: `unknownItem` without the account.
    package func signInMethodList(ofAccountNamed name: String) async throws(ServiceError) -> SignInMethodList {
        let name = SignInName.canonical(name)
        return try await read { reader in
            let account = try reader.requireInstallationAccount(named: name).id
            let methods = try self.methods(of: account, reader)
            let passkeys = try reader.passkeys(of: account).map { id, passkey in
                SignInMethodSummary(
                    id: id, kind: .passkey, place: passkey.relyingParty, label: passkey.name,
                    addedAt: passkey.createdAt, isUsable: methods.passkeys.contains(id))
            }
            let providers = methods.identities.map {
                SignInMethodSummary(
                    id: $0.id, kind: .provider, place: $0.provider, label: $0.label, addedAt: $0.addedAt,
                    isUsable: $0.isUsable)
            }
            return SignInMethodList(hasPassword: methods.hasPassword, methods: passkeys + providers)
        }
    }

    /// Removes a passkey or a provider of an account, or all of them. Sessions go on.
    /// - Parameters:
    ///   - kind: the kind of the methods to remove; nil for both.
    ///   - id: the name of the one to remove; nil for all.
    /// - Returns: the number of those that were removed.
    /// - Throws: `unknownItem` if there is no account, or if it has no such method; `serverRejectedRequest` for the last
    ///   way to sign in.
    package func removeSignInMethods(
        ofAccountNamed name: String, _ kind: SignInMethodSummary.Kind? = nil, id: String?, by actor: AuditActor
    ) async throws(ServiceError) -> Int {
        let name = SignInName.canonical(name)
        return try await write { transaction in
            let account = try transaction.requireInstallationAccount(named: name).id
            let methods = try self.methods(of: account, transaction)
            let passkeys = kind == .provider ? [] : try transaction.passkeys(of: account).map(\.id)
            let identities = kind == .passkey ? [] : methods.identities.map(\.id)
            let removed = (passkeys + identities).filter { id == nil || $0 == id }
            if removed.isEmpty, let id {
                throw ServiceError.unknown(Self.title(kind), id, of: name, listedBy: "accounts methods")
            }
            if methods.areLast(removed) { throw ServiceError.lastSignInMethod }
            if passkeys.contains(where: removed.contains) {
                try self.removePasskeys(of: account, id: id, by: actor, in: transaction)
            }
            for identity in identities where removed.contains(identity) {
                try self.remove(identity: identity, of: account, by: actor, in: transaction)
            }
            return removed.count
        }
    }

    private static func title(_ kind: SignInMethodSummary.Kind?) -> String { kind?.rawValue ?? "passkey or provider" }
}
