/// The database a request names in its path.
package enum DatabaseScope: String, Hashable, Sendable {
    case `public`, `private`, shared
}

/// A container's environment.
package enum ContainerEnvironment: String, Hashable, Sendable {
    case development, production
}

/// Who asks, and of which database.
package struct RequestContext: Hashable, Sendable {
    /// `iCloud.org.example.App`.
    package var container: String
    package var environment: ContainerEnvironment
    package var scope: DatabaseScope
    /// The signed-in account's name; nil for an API token alone.
    package var account: String?
    /// Unique per request; it is the `uuid` of the errors the request gets.
    package var requestID: String

    package init(
        container: String, environment: ContainerEnvironment, scope: DatabaseScope, account: String?, requestID: String
    ) {
        self.container = container
        self.environment = environment
        self.scope = scope
        self.account = account
        self.requestID = requestID
    }
}
