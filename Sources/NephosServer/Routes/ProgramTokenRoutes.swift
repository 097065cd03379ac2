import NephosService
import NephosWire

extension InstallationRoutes {
    /// The routes about the program tokens of accounts.
    static let programTokens: [Route] = [
        .installation("program-tokens/create") { (message: NewToken, call) async throws(ServiceError) in
            try await call.installation.createProgramToken(
                NewProgramToken(
                    name: message.name, places: message.places,
                    databases: message.databases ?? ["private", "shared", "public"],
                    isReadOnly: message.readOnly ?? false,
                    lifetime: message.lifetime),
                ofAccountNamed: message.account, by: call.actor)
        },
        .installation("program-tokens/list", .viewInstallation) { (message: Owner, call) async throws(ServiceError) in
            Tokens(
                programTokens: try await call.installation.programTokenSummaries(ofAccountNamed: message.account))
        },
        .installation("program-tokens/revoke") { (message: Revoked, call) async throws(ServiceError) in
            Revocation(
                count: try await call.installation.revokeProgramTokens(
                    ofAccountNamed: message.account, id: message.id, by: call.actor))
        },
    ]

    private struct NewToken: Decodable {
        var account: String
        var name: String
        var places: [ProgramPlace]
        /// Nil for all.
        var databases: [String]?
        var readOnly: Bool?
        var lifetime: Int64?
    }
    private struct Owner: Decodable { var account: String }
    private struct Revoked: Decodable {
        var account: String
        /// Nil for all.
        var id: String?
    }
    private struct Tokens: Encodable { var programTokens: [ProgramTokenSummary] }
    private struct Revocation: Encodable { var count: Int }
}
