import NephosWire

extension EndpointAnswering {
    /// What the endpoint does. One that is not listed writes.
    package var use: EndpointUse {
        if EndpointUses.reading.contains(endpoint.path) { return .reads }
        return EndpointUses.credentials.contains(endpoint.path) ? .credentials : .writes
    }

    /// Throws unless the caller may use the endpoint in the request's database. What its account may is decided later.
    /// - Throws: `permissionFailure`.
    package func admit(_ context: RequestContext) throws(ServiceError) {
        try context.checkProgram(use, EndpointUses.databases[endpoint.path])
    }

    /// Whether a signed request is to be claimed, so that it is carried out once: one that writes, and whose outcome is not
    /// stored by its request key.
    package var claimsSignedRequests: Bool { use != .reads && endpoint.path != "records/modify" }
}

/// The endpoints that do not write what an account has, by their paths.
enum EndpointUses {
    static let reading: Set = [
        "records/lookup", "records/query", "records/changes", "records/resolve", "zones/list", "zones/lookup",
        "zones/changes", "changes/database", "changes/zone", "subscriptions/list", "subscriptions/lookup",
        "users/caller", "users/current", "users/discover", "users/lookup/email", "users/lookup/id",
        "users/lookup/contacts", "users/participants", "keys/account", "keys/lookup",
    ]

    /// The databases of endpoints that reach others than the one of their path.
    static let databases: [String: [DatabaseScope]] = [
        // The root record, which the owner has in the private database, and participants have in the shared one.
        "records/resolve": [.private, .shared], "records/accept": [.private, .shared],
        "records/requestAccess": [.shared],
        "keys/account": [.private],
    ]

    static let credentials: Set = [
        "tokens/create", "tokens/register", "keys/enroll", "keys/reset", "keys/group", "users/webAuthToken",
    ]
}
