import NephosWire

/// The database a request names in its path.
package enum DatabaseScope: String, Hashable, Sendable {
    case `public`, `private`, shared
}

/// A container's environment.
package enum ContainerEnvironment: String, Hashable, Sendable {
    case development, production
}

/// The caller, and the database of the request.
package struct RequestContext: Hashable, Sendable {
    /// `iCloud.org.example.App`.
    package var container: String
    package var environment: ContainerEnvironment
    package var scope: DatabaseScope
    /// The signed-in account's name; nil for an API token alone.
    package var account: String?
    /// What the client calls itself, `clientId` of a request; nil where it does not say. It tells an account's clients
    /// apart.
    package var clientID: String?
    /// Unique per request; it is the `uuid` of the errors the request gets.
    package var requestID: String
    /// Whether answers may have their records in JSON: for a server, which only sends them on.
    package var takesEncodedRecords = false
    /// Whether answers with records say where the zone's change feed is now.
    package var wantsSyncToken = false
    /// How addresses of assets begin, without a slash at the end: `https://cloud.example.org`; empty in the caller's own
    /// process.
    package var baseURL = ""

    package init(
        container: String, environment: ContainerEnvironment, scope: DatabaseScope, account: String?,
        clientID: String? = nil, requestID: String
    ) {
        self.container = container
        self.environment = environment
        self.scope = scope
        self.account = account
        self.clientID = clientID
        self.requestID = requestID
    }
}

extension RequestContext {
    /// A container's identifier is 1 to 200 letters, digits, dots, hyphens and underscores, and does not begin with a dot;
    /// that is what Apple's look like, and what a file can be called.
    func checkContainer() throws(ServiceError) {
        let isValid = container.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        guard isValid, !container.isEmpty, container.utf8.count <= 200, !container.hasPrefix(".") else {
            throw ServiceError(
                .badRequest, .badContainer,
                "container '\(Identifier.excerpt(container))' must hold 1 to 200 letters, digits, '.', '-' and '_'")
        }
    }
}
