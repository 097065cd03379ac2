import NephosService
import NephosWire

/// The parsed path of a request about a database:
/// `/database/{version}/{container}/{environment}/{database}/{entity}/{action}` (CloudKit Web Services, the URL
/// scheme).
struct DatabasePath: Hashable, Sendable {
    static let module = "database"
    /// The module of push tokens. Tokens belong to no database, so their path has the same form without a database.
    static let deviceModule = "device"
    static let version = "1"

    var container: String
    var environment: ContainerEnvironment
    var scope: DatabaseScope

    /// - Parameter components: the components of the whole path: at least the first five, or four if it names no
    ///   database.
    init(_ components: [String]) throws(Refusal) {
        let namesDatabase = components.first == Self.module
        guard components.count > (namesDatabase ? 4 : 3) else { throw .noHandler }
        try Self.check(version: components[1])
        let container = try Self.container(components[2])
        let environment = try Self.environment(components[3])
        guard let scope = namesDatabase ? DatabaseScope(rawValue: components[4]) : .private else {
            throw Refusal(
                .badRequest, "unknown database '\(components[4])' in the path: it is public, private or shared")
        }
        self.container = container
        self.environment = environment
        self.scope = scope
    }

    static func check(version: String) throws(Refusal) {
        guard version == Self.version else {
            throw Refusal(.notFound, "unknown version '\(version)' in the path: this service speaks version 1")
        }
    }

    static func container(_ name: String) throws(Refusal) -> String {
        guard isContainer(name) else {
            throw Refusal(
                .badRequest,
                "invalid container identifier '\(name)' in the path: 1 to 200 ASCII letters, digits, '.', '-' "
                    + "and '_', beginning with a letter or digit; for example iCloud.org.example.App")
        }
        return name
    }

    static func environment(_ name: String) throws(Refusal) -> ContainerEnvironment {
        guard let environment = ContainerEnvironment(rawValue: name) else {
            throw Refusal(.badRequest, "unknown environment '\(name)' in the path: it is development or production")
        }
        return environment
    }

    private static func isContainer(_ name: String) -> Bool {
        guard let first = name.utf8.first, name.utf8.count <= 200 else { return false }
        return isAlphanumeric(first)
            && name.utf8.allSatisfy {
                isAlphanumeric($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
            }
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"):
            true
        default: false
        }
    }
}
