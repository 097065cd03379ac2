import NephosService

/// The parsed path of an administrator's request about a container: `/nephos/{version}/{container}/{environment}/…`. It
/// is not part of CloudKit Web Services.
struct AdministrationPath: Hashable, Sendable {
    static let module = "nephos"

    var container: String
    var environment: ContainerEnvironment

    /// - Parameter components: the components of the whole path: at least the first four.
    init(_ components: [String]) throws(Refusal) {
        guard components.count > 3 else { throw .noHandler }
        try DatabasePath.check(version: components[1])
        container = try DatabasePath.container(components[2])
        environment = try DatabasePath.environment(components[3])
    }
}
