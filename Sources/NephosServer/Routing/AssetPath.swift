import NephosService
import NephosWire

/// The parsed path of a file's URL (`AssetAddress`).
struct AssetPath: Hashable, Sendable {
    static let module = AssetAddress.module
    static let upload = "/assets/upload"
    static let download = "/assets/download"

    var container: String
    var environment: ContainerEnvironment
    /// The token of the URL. In a download URL, the next property is the name of the content.
    var token: String
    var content: String

    /// Returns the route of a path that starts with the module of files; nil if there is none.
    static func route(_ components: [String]) -> String? {
        guard components.count > 5 else { return nil }
        if components[4] == AssetAddress.upload { return components.count == 6 ? upload : nil }
        return components.count <= 7 ? download : nil
    }

    /// - Parameter components: the components of a path that has a route.
    init(_ components: [String]) throws(Refusal) {
        guard components.count > 5 else { throw .noHandler }
        try DatabasePath.check(version: components[1])
        container = try DatabasePath.container(components[2])
        environment = try DatabasePath.environment(components[3])
        content = components[4]
        token = components[5]
    }
}
