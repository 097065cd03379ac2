import NephosStorage

/// A session as the installation's store has it, by the hash of its secret.
struct StoredSession: StoredEntry {
    static let kind = InstallationEntry.Kind.session

    var account: String
    /// The container and environment that the session signs in to; nil for the administration.
    var container: String?
    var environment: String?
    /// The device or program, for people.
    var label: String
    var signedInAt: Int64
    /// Of a sign-in by an identity provider: the time at which it asked the person for their credentials, or
    /// `unknownTime`. Nil for the time of the sign-in.
    var authenticatedAt: Int64?
    var expiresAt: Int64
    var keepsSignedIn: Bool
    /// The store's token epoch in which the session began. A database that may lack the end of a session begins another
    /// epoch.
    var epoch: Int64
    /// Whether the session is a browser's at the server's own pages; nil for no.
    var isOfBrowser: Bool?
    /// The hashes of the session that asked for this one, of the one that asked for that, and so on, the first one
    /// first: it ends with each of them. Nil for a sign-in.
    var ancestors: [String]?

    /// The time of a sign-in whose provider does not say when it asked for credentials, which is never recent.
    static let unknownTime: Int64 = 0

    /// The time in milliseconds since 1970 at which the person last showed who they are, which changes need to be recent.
    var lastAuthenticatedAt: Int64 { authenticatedAt ?? signedInAt }

    /// Whether both sign in to the same container and environment, to the administration, or to the server's pages.
    func isInSamePlace(as other: StoredSession) -> Bool {
        container == other.container && environment == other.environment && isOfBrowser == other.isOfBrowser
    }

    /// The longest label in bytes.
    private static let longestLabel = 200

    /// Returns the beginning of a text that callers chose. It is cut by bytes, as a character may have any number.
    static func label(_ text: String) -> String {
        var (label, size) = (String.UnicodeScalarView(), 0)
        for scalar in text.unicodeScalars {
            size += UTF8.width(scalar)
            if size > longestLabel { break }
            label.append(scalar)
        }
        return String(label)
    }

    /// The ancestors of a session that this one begins. Of a long chain the middle is left out.
    func ancestors(withOwn hash: String) -> [String] {
        var all = (ancestors ?? []) + [hash]
        if all.count > Limits.sessionAncestors { all.remove(at: 1) }
        return all
    }

    /// The time for which a session lasts without use (CloudKit Web Services, web auth tokens).
    var lifetime: Int64 { Self.lifetime(keepsSignedIn: keepsSignedIn) }

    static func lifetime(keepsSignedIn: Bool) -> Int64 {
        keepsSignedIn ? Limits.keptSessionLifetime : Limits.sessionLifetime
    }

    /// The session after its use at `now`; nil if its expiry stays. The expiry moves at most once in half a lifetime,
    /// so that requests write nothing.
    func used(at now: Int64) -> StoredSession? {
        let expiry = min(now + lifetime, signedInAt + Limits.longestSession)
        guard expiry - expiresAt > lifetime / 2 else { return nil }
        var session = self
        session.expiresAt = expiry
        return session
    }
}

/// A session of an account, by the account's ID and the session's hash.
struct AccountSession: StoredEntry {
    static let kind = InstallationEntry.Kind.accountSession
    static func name(_ account: String, _ hash: String) -> String { "\(account)/\(hash)" }
}

/// A device from which an account signed in, by the account's ID and the hash of the device's secret.
struct KnownDevice: StoredEntry {
    static let kind = InstallationEntry.Kind.knownDevice
    static func name(_ account: String, _ hash: String) -> String { "\(account)/\(hash)" }

    /// In place of the account's ID: a device from which an account signed in by a provider. There is one only beside that
    /// of an account, with which it is evicted.
    static let ofProviders = ""
}

/// A valid session with its account, as requests need it.
struct SignedInSession: Sendable {
    var hash: String
    var session: StoredSession
    /// The canonical name of the account.
    var name: String
    /// The address to which invitations of the account go; nil without a verified one.
    var address: String?
    var roles: [String: InstallationRole]
}
