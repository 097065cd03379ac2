import NephosService
import NephosWire

/// The routes about what belongs to the installation, `/nephos/1/installation/{entity}/{action}`.
enum InstallationRoutes {
    static let component = "installation"

    static let table: [Route] =
        accounts + containers + apiTokens + sessions + roles + audit + serverKeys
        + programTokens + signInMethods

    private static let accounts: [Route] = [
        .installation("accounts/create") { (message: NewAccount, call) async throws(ServiceError) in
            try await call.installation.createAccount(
                named: message.account, password: message.password, isVerified: message.verified ?? false,
                by: call.actor)
        },
        .installation("accounts/list", .viewInstallation) { (message: Page, call) async throws(ServiceError) in
            try await call.installation.accounts(after: message.after ?? "")
        },
        .installation("accounts/set-password") { (message: NewAccount, call) async throws(ServiceError) in
            guard let password = message.password else { throw .missing("password") }
            try await call.installation.setPassword(password, ofAccountNamed: message.account, by: call.actor)
            return EmptyAnswer()
        },
        .installation("accounts/verify") { (message: Account, call) async throws(ServiceError) in
            try await call.installation.verifyAddress(ofAccountNamed: message.account, by: call.actor)
            return EmptyAnswer()
        },
        .installation("accounts/recovery-link") { (message: Account, call) async throws(ServiceError) in
            let link = try await call.installation.makeRecoveryLink(ofAccountNamed: message.account, by: call.actor)
            return Link(link: link)
        },
        .installation("accounts/invite") { (message: Account, call) async throws(ServiceError) in
            Link(link: try await call.installation.invite(message.account, by: call.actor))
        },
        .installation("accounts/delete") { (message: DeletedAccount, call) async throws(ServiceError) in
            try await call.service.deleteAccount(
                named: message.account, of: call.installation, erasesPublicRecords: message.publicRecords ?? false,
                by: call.actor)
        },
    ]

    private static let containers: [Route] = [
        .installation("containers/create") { (message: Container, call) async throws(ServiceError) in
            try await call.service.createContainer(message.container, of: call.installation, by: call.actor)
            return EmptyAnswer()
        },
        .installation("containers/list", .viewInstallation) { (_: Nothing, call) async throws(ServiceError) in
            let deleted = try await call.installation.containersBeingDeleted()
            return Containers(
                containers: try await call.installation.containers(), beingDeleted: deleted.isEmpty ? nil : deleted)
        },
        .installation("containers/delete") { (message: Container, call) async throws(ServiceError) in
            let content = try await call.service.deleteContainer(
                message.container, of: call.installation, by: call.actor)
            return DeletedContainer(container: message.container, deleted: content.map(DeletedEnvironment.init))
        },
    ]

    private static let apiTokens: [Route] = [
        .installation("api-tokens/create") { (message: NewAPIToken, call) async throws(ServiceError) in
            guard let environment = ContainerEnvironment(rawValue: message.environment) else {
                throw .unknownEnvironment
            }
            return try await call.installation.createAPIToken(
                container: message.container, environment: environment, name: message.name ?? "",
                origins: message.origins ?? [], allowsSignIn: message.allowsSignIn ?? true,
                callback: message.callback, lifetime: message.lifetime, by: call.actor)
        },
        .installation("api-tokens/list", .viewInstallation) {
            (message: OptionalContainer, call) async throws(ServiceError) in
            APITokens(apiTokens: try await call.installation.apiTokenSummaries(container: message.container))
        },
        .installation("api-tokens/revoke") { (message: RevokedToken, call) async throws(ServiceError) in
            try await call.installation.revokeAPIToken(message.token, by: call.actor)
            return EmptyAnswer()
        },
    ]

    private static let sessions: [Route] = [
        .installation("sessions/create") { (message: NewSession, call) async throws(ServiceError) in
            guard let environment = ContainerEnvironment(rawValue: message.environment) else {
                throw .unknownEnvironment
            }
            let made = try await call.installation.createSession(
                ofAccountNamed: message.account, container: message.container, environment: environment,
                label: message.label ?? "", by: call.actor)
            return Session(ckWebAuthToken: made.token, expires: made.expiresAt)
        },
        .installation("sessions/list", .viewInstallation) { (message: Account, call) async throws(ServiceError) in
            Sessions(sessions: try await call.installation.sessionSummaries(ofAccountNamed: message.account))
        },
        .installation("sessions/end") { (message: EndedSession, call) async throws(ServiceError) in
            let count = try await call.installation.endSessions(
                ofAccountNamed: message.account, id: message.session,
                withProgramTokens: message.programTokens ?? false, by: call.actor)
            return Count(count: count)
        },
        .installation("passkeys/list", .viewInstallation) { (message: Account, call) async throws(ServiceError) in
            Passkeys(passkeys: try await call.installation.passkeySummaries(ofAccountNamed: message.account))
        },
        .installation("passkeys/remove") { (message: RemovedPasskey, call) async throws(ServiceError) in
            let count = try await call.installation.removeSignInMethods(
                ofAccountNamed: message.account, .passkey, id: message.passkey, by: call.actor)
            return Count(count: count)
        },
    ]

    private static let roles: [Route] = [
        .installation("roles/grant") { (message: NewRole, call) async throws(ServiceError) in
            guard let role = InstallationRole(rawValue: message.role) else { throw .unknownRole }
            try await call.installation.grant(
                role, toAccountNamed: message.account, container: message.container, by: call.actor)
            return EmptyAnswer()
        },
        .installation("roles/revoke") { (message: RevokedRole, call) async throws(ServiceError) in
            try await call.installation.revokeRole(
                ofAccountNamed: message.account, container: message.container, by: call.actor)
            return EmptyAnswer()
        },
        .installation("roles/list", .viewInstallation) { (_: Nothing, call) async throws(ServiceError) in
            Roles(roles: try await call.installation.roleSummaries())
        },
    ]

    private static let serverKeys: [Route] = [
        .installation("server-keys/create") { (message: NewServerKey, call) async throws(ServiceError) in
            guard let environment = ContainerEnvironment(rawValue: message.environment) else {
                throw .unknownEnvironment
            }
            return try await call.installation.createServerKey(
                container: message.container, environment: environment, name: message.name ?? "",
                publicKey: message.publicKey, replacing: message.replaces, by: call.actor)
        },
        .installation("server-keys/list", .viewInstallation) {
            (message: OptionalContainer, call) async throws(ServiceError) in
            ServerKeys(serverKeys: try await call.installation.serverKeySummaries(container: message.container))
        },
        .installation("server-keys/revoke") { (message: RevokedServerKey, call) async throws(ServiceError) in
            try await call.installation.revokeServerKey(message.keyID, by: call.actor)
            return EmptyAnswer()
        },
    ]

    private static let audit: [Route] = [
        .installation("audit/list", .viewInstallation) { (message: AuditStart, call) async throws(ServiceError) in
            if let before = message.before {
                return try await call.installation.audit(before: before > 0 ? before : nil)
            }
            return try await call.installation.audit(after: max(0, message.batch ?? 0))
        },
        .installation("audit/verify", .viewInstallation) { (message: NotedHead, call) async throws(ServiceError) in
            let noted = message.head.map(AuditHead.init)
            if let noted, noted == nil { throw .noHead }
            return try await call.installation.verifyAudit(noted ?? nil)
        },
    ]

    /// A call of the administration, with what its messages need.
    struct Call {
        let service: NephosService
        let installation: Installation
        let actor: AuditActor
    }

    // MARK: Messages

    private struct Nothing: Decodable {}
    private struct Account: Decodable { var account: String }
    private struct NewAccount: Decodable {
        var account: String
        var password: String?
        var verified: Bool?
    }
    private struct Page: Decodable { var after: String? }
    private struct Container: Decodable { var container: String }
    private struct OptionalContainer: Decodable { var container: String? }
    private struct NewAPIToken: Decodable {
        var container: String
        var environment: String
        var name: String?
        var origins: [String]?
        var allowsSignIn: Bool?
        var callback: String?
        var lifetime: Int64?
    }
    private struct NewServerKey: Decodable {
        var container: String
        var environment: String
        var name: String?
        var publicKey: String
        var replaces: String?
    }
    private struct RevokedServerKey: Decodable { var keyID: String }
    private struct ServerKeys: Encodable { var serverKeys: [ServerKeySummary] }
    private struct RevokedToken: Decodable { var token: String }
    private struct NewSession: Decodable {
        var account: String
        var container: String
        var environment: String
        var label: String?
    }
    private struct EndedSession: Decodable {
        var account: String
        var session: String?
        /// Whether all program tokens are revoked too; nil for no.
        var programTokens: Bool?
    }
    private struct DeletedAccount: Decodable {
        var account: String
        /// Whether the records that it created in public databases go, too; nil for no.
        var publicRecords: Bool?
    }
    private struct RemovedPasskey: Decodable {
        var account: String
        var passkey: String?
    }
    private struct NewRole: Decodable {
        var account: String
        var role: String
        var container: String?
    }
    private struct AuditStart: Decodable {
        /// The batch after which a page begins; nil for the first one.
        var batch: Int64?
        /// In place of it, the batch before which a page ends; 0 for the newest page.
        var before: Int64?
    }
    private struct NotedHead: Decodable { var head: String? }
    private struct RevokedRole: Decodable {
        var account: String
        var container: String?
    }

    /// A link to pass on; nil if it is mailed.
    private struct Link: Encodable { var link: String? }
    private struct Containers: Encodable {
        var containers: [String]
        /// Nil for none.
        var beingDeleted: [String]?
    }
    private struct DeletedContainer: Encodable {
        var container: String
        var deleted: [DeletedEnvironment]
    }
    private struct DeletedEnvironment: Encodable {
        var environment: String
        var accounts: Int
        var zones: Int
        var records: Int
        /// Whether all was counted. If not, there may be more.
        var isComplete: Bool

        init(_ content: ServiceOverview.Container) {
            (environment, accounts, zones) = (content.environment, content.accounts.count, content.zones)
            (records, isComplete) = (content.recordTypes.reduce(0) { $0 + $1.records }, content.isComplete)
        }
    }
    private struct APITokens: Encodable { var apiTokens: [APITokenSummary] }
    private struct Sessions: Encodable { var sessions: [SessionSummary] }
    private struct Session: Encodable {
        var ckWebAuthToken: String
        var expires: Int64
    }
    private struct Passkeys: Encodable { var passkeys: [PasskeySummary] }
    private struct Roles: Encodable { var roles: [RoleSummary] }
    private struct Count: Encodable { var count: Int }
}

extension Route {
    /// Creates a route of the installation, whose messages are JSON objects.
    static func installation<Message: Decodable & SendableMetatype, Answer: Encodable & SendableMetatype>(
        _ path: String, _ access: RouteAccess = .administer,
        _ call: @escaping @Sendable (Message, InstallationRoutes.Call) async throws(ServiceError) -> Answer
    ) -> Route {
        Route([.post], "/\(InstallationRoutes.component)/\(path)", bodyLimit: 64 * 1024, access: access) {
            routed throws(Refusal) in
            let installation = try routed.installation
            guard let administrator = routed.administrator else { throw .noHandler }
            let message = try routed.message(Message.self)
            let actor = administrator.actor(address: SignInCounters.network(routed.request.client) ?? "")
            return try await routed.answer { () async throws(ServiceError) in
                try await call(
                    message,
                    InstallationRoutes.Call(service: routed.service, installation: installation, actor: actor))
            }
        }
    }
}

extension ServiceError {
    fileprivate static func missing(_ name: String) -> ServiceError {
        ServiceError(.badRequest, .invalidArguments, "the request has no '\(name)'")
    }
    fileprivate static let noHead = ServiceError(
        .badRequest, .invalidArguments, "the head is a number and a hash as the log has it, such as 17:2c26…")
    fileprivate static let unknownEnvironment = ServiceError(
        .badRequest, .invalidArguments, "the environment is 'development' or 'production'")
    fileprivate static let unknownRole = ServiceError(
        .badRequest, .invalidArguments,
        "the role is one of \(InstallationRole.allCases.map(\.rawValue).joined(separator: ", "))")
}
