import NephosWire

extension EndpointAnswering {
    /// Throws unless the caller may use the endpoint in the request's database. What its account may is decided later.
    /// - Throws: `permissionFailure`.
    package func admit(_ context: RequestContext) throws(ServiceError) {
        if context.program != nil { try context.checkProgram(use, EndpointAccess.databases[path]) }
    }

    /// Whether a signed request is to be claimed, so that it is carried out once: one that writes, and whose outcome is not
    /// stored by its request key.
    package var claimsSignedRequests: Bool { use != .reads && path != "records/modify" }
}

enum EndpointAccess {
    /// The databases of endpoints that reach others than the one of their path.
    static let databases: [String: [DatabaseScope]] = [
        // The root record, which the owner has in the private database, and participants have in the shared one.
        "records/resolve": [.private, .shared], "records/accept": [.private, .shared],
        "records/requestAccess": [.shared],
        "keys/account": [.private],
    ]
}
