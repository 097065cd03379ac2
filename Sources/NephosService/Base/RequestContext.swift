import NephosStorage
import NephosWire

/// The database that a request names in its path.
package enum DatabaseScope: String, Hashable, Sendable {
    case `public`, `private`, shared
}

/// A container's environment.
package enum ContainerEnvironment: String, Hashable, Sendable {
    case development, production
}

/// The caller of a request, and the database that the request addresses.
package struct RequestContext: Hashable, Sendable {
    /// The container's identifier, for example `iCloud.org.example.App`.
    package var container: String
    package var environment: ContainerEnvironment
    package var scope: DatabaseScope
    /// The name of the signed-in account; nil if the request has only an API token.
    package var account: String?
    /// The canonical address of the signed-in account, to which invitations go; nil where it is the account's name. The
    /// accounts of an installation have IDs as names, so nil is no address of theirs.
    package var address: String?
    /// The name of the caller's session in the installation; nil without one.
    package var session: String?
    /// The idempotency key of a signed request, which replaces the client's; nil for others.
    package var requestKey: String?
    /// What the caller's program token or server-to-server key lets it do; nil for other callers.
    package var program: ProgramAccess?
    /// Whether saves may add record types and fields to the schema of `development`.
    package var mayExtendSchema = true
    /// Whether the container is known to exist, also where it is unused.
    package var isContainerKnown = false
    /// The client's own name, which a request sends as `clientId`; nil if the client sends none. The name distinguishes
    /// an account's clients.
    package var clientID: String?
    /// The request's unique ID, which is the `uuid` of the request's errors.
    package var requestID: String
    /// Whether responses may hold records encoded as JSON. A server sets this, because it only forwards the records.
    package var takesEncodedRecords = false
    /// Whether a library of ours sends the request, and not another client of CloudKit Web Services.
    package var isOfLibrary = true
    /// Whether a sync engine in this process looks zones up for its own state, and no app asked for them.
    package var isOfSyncEngine = false
    /// Whether responses with records hold the current `syncToken` of the records' zone's change feed.
    package var wantsSyncToken = false
    /// The prefix of addresses in responses, without a trailing slash, for example `https://cloud.example.org`. Empty
    /// if the service runs in the caller's own process.
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
    /// Throws unless the container's identifier has 1 to 200 letters, digits, dots, hyphens and underscores, and does
    /// not begin with a dot. Apple's identifiers have this form, and it is a valid file name.
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
        guard container != StoreID.installation.container else {
            throw ServiceError(
                .badRequest, .badContainer,
                "'\(container)' is where a server keeps its accounts: give the container another name, such as "
                    + "iCloud.org.example.App")
        }
    }
}
