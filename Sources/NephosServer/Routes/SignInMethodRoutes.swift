import NephosService
import NephosWire

extension InstallationRoutes {
    /// The routes about how accounts sign in, besides passwords.
    static let signInMethods: [Route] = [
        .installation("methods/list", .viewInstallation) { (message: Owner, call) async throws(ServiceError) in
            try await call.installation.signInMethodList(ofAccountNamed: message.account)
        },
        .installation("methods/remove") { (message: Removed, call) async throws(ServiceError) in
            Removal(
                count: try await call.installation.removeSignInMethods(
                    ofAccountNamed: message.account, id: message.id, by: call.actor))
        },
    ]

    private struct Owner: Decodable { var account: String }
    private struct Removed: Decodable {
        var account: String
        /// Nil for all.
        var id: String?
    }
    private struct Removal: Encodable { var count: Int }
}
