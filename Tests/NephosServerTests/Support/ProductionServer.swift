import Foundation
import NephosCrypto
import NephosSQLite
import NephosStorage
import NephosWire
import Synchronization
import Testing

@testable import NephosServer
@testable import NephosService

/// A production server in memory, and requests to it by every kind of caller.
final class ProductionServer: Sendable {
    enum Caller: CaseIterable {
        case nobody, apiToken, readOnlyToken, page, foreignPage
        case session, otherAccount, viewer, developer, administrator, lateAdministrator, localUser
        case forgedSession, expiredSession, signedOut, otherContainer, otherEnvironment
        case program, readOnlyProgram, programElsewhere, expiredProgram, revokedProgram
        /// An account that takes part in a share of the account of `session`.
        case participant
        case serverKey, serverKeyElsewhere, revokedServerKey
        /// With a signature by another key, and with one of another request.
        case forgedSignature, replayedSignature
    }

    private struct Credentials {
        var apiToken: String?
        var session: String?
        var origin: String?
        var localUser: UInt32?
        /// The ID of a server-to-server key, the key, and what it signs in place of the request; nil for the request.
        var signing: (keyID: String, key: SigningKey, instead: String?)?
    }

    private final class Clock: Sendable {
        let now = Mutex(Int64(1_800_000_000_000))
    }

    static let url = "https://cloud.example.org"
    static let page = "https://app.example.org"
    static let container = "iCloud.test"
    static let password = "nine lives of a grey cat"
    private static let passwordCost = PasswordHash.Cost(operations: 1, memory: 8192)
    private static let passwordHash = PasswordHash.make(password, passwordCost)

    let installation: Installation
    let service: NephosService
    let responder: Responder
    private let clock = Clock()
    private let callers = Mutex<[Caller: Credentials]>([:])

    /// - Parameter log: takes the lines of the service's log; nil for standard error.
    init(
        rates: RequestRates = RequestRates(), people: PeopleSettings = PeopleSettings(),
        stores: any StoreProvider = MemoryStores(), log: (@Sendable (String) -> Void)? = nil
    ) async throws {
        var environment = ServiceEnvironment.system
        if let log { environment.log = log }
        environment.now = { [clock] in clock.now.withLock { $0 } }
        environment.passwordCost = Self.passwordCost
        var waiting = environment
        waiting.sleepUntil = { [clock] due in
            while clock.now.withLock({ $0 }) < due {
                try Task.checkCancellation()
                await Task.yield()
            }
        }
        installation = try await Installation.open(stores, waiting, rates: rates, people: people)
        var configuration = ServiceConfiguration()
        configuration.makeWebAuthToken = installation.webAuthToken
        configuration.noteDevice = installation.noteDevice
        service = NephosService(stores: stores, environment: environment, configuration: configuration)
        let url = try #require(PublicURL(Self.url))
        responder = Responder(service, access: .production(installation, url: url))
        try await prepare()
    }

    var now: Int64 { clock.now.withLock { $0 } }

    func advance(milliseconds: Int64) { clock.now.withLock { $0 += milliseconds } }

    private func prepare() async throws {
        let root = AuditActor(name: "user 0")
        for container in [Self.container, "iCloud.other"] {
            try await installation.createContainer(container, by: root)
        }
        for name in ["lovelace", "bob", "participant", "viewer", "developer", "administrator"] {
            _ = try await installation.createAccount(named: name, password: nil, by: root)
            try await installation.write { transaction in
                var (id, account) = try transaction.requireInstallationAccount(named: name)
                account.password = Self.passwordHash
                try transaction.put(account, id)
            }
        }
        for role in [InstallationRole.viewer, .developer] {
            try await installation.grant(role, toAccountNamed: role.rawValue, container: Self.container, by: root)
        }
        try await installation.grant(.administrator, toAccountNamed: "administrator", container: nil, by: root)
        func token(
            _ container: String = ProductionServer.container, _ environment: ContainerEnvironment = .development,
            origins: [String] = [], allowsSignIn: Bool = true
        ) async throws -> String {
            try await installation.createAPIToken(
                container: container, environment: environment, name: "", origins: origins, allowsSignIn: allowsSignIn,
                lifetime: nil, by: root
            ).token
        }
        // A sign-in by a password takes most of the time of a test.
        func session(
            _ name: String, _ container: String = ProductionServer.container,
            _ environment: ContainerEnvironment = .development
        ) async throws -> String {
            try await installation.createSession(
                ofAccountNamed: name, container: container, environment: environment, label: "", by: root
            ).token
        }
        func signIn(_ name: String, _ apiToken: String?, keeps: Bool = true) async throws -> String {
            try await installation.signIn(
                SignIn(name: name, password: Self.password, apiToken: apiToken, keepsSignedIn: keeps)
            ).token
        }
        let own = try await token()
        let pages = try await token(origins: [Self.page])
        var all: [Caller: Credentials] = [.nobody: Credentials(), .localUser: Credentials(localUser: 0)]
        all[.apiToken] = Credentials(apiToken: own)
        all[.readOnlyToken] = Credentials(apiToken: try await token(allowsSignIn: false))
        all[.page] = Credentials(apiToken: pages, origin: Self.page)
        all[.foreignPage] = Credentials(apiToken: pages, origin: "https://evil.example.org")
        all[.expiredSession] = Credentials(apiToken: own, session: try await signIn("lovelace", own, keeps: false))
        all[.lateAdministrator] = Credentials(apiToken: own, session: try await signIn("administrator", nil))
        advance(milliseconds: 31 * 60_000)
        all[.session] = Credentials(apiToken: own, session: try await session("lovelace"))
        all[.otherAccount] = Credentials(apiToken: own, session: try await session("bob"))
        for (caller, name) in [(Caller.viewer, "viewer"), (.developer, "developer"), (.administrator, "administrator")]
        {
            all[caller] = Credentials(apiToken: own, session: try await signIn(name, nil))
        }
        all[.forgedSession] = Credentials(apiToken: own, session: String(repeating: "A", count: 66))
        let ended = try await session("lovelace")
        try await installation.signOut(ended)
        all[.signedOut] = Credentials(apiToken: own, session: ended)
        all[.otherContainer] = Credentials(
            apiToken: own, session: try await session("lovelace", "iCloud.other"))
        all[.otherEnvironment] = Credentials(
            apiToken: own, session: try await session("lovelace", Self.container, .production))
        try await addPrograms(own, &all)
        all[.participant] = Credentials(apiToken: own, session: try await session("participant"))
        callers.withLock { $0 = all }
    }

    /// Makes the callers with program tokens; half of them send an API token besides.
    private func addPrograms(_ apiToken: String, _ all: inout [Caller: Credentials]) async throws {
        func token(
            _ environment: String = "development", isReadOnly: Bool = false, lifetime: Int64? = nil
        ) async throws -> MadeProgramToken {
            try await installation.createProgramToken(
                NewProgramToken(
                    name: "program", places: [ProgramPlace(container: Self.container, environment: environment)],
                    databases: ["private", "shared", "public"], isReadOnly: isReadOnly, lifetime: lifetime),
                ofAccountNamed: "lovelace", by: AuditActor(name: "user 0"))
        }
        all[.program] = Credentials(session: try await token().token)
        all[.readOnlyProgram] = Credentials(apiToken: apiToken, session: try await token(isReadOnly: true).token)
        all[.programElsewhere] = Credentials(session: try await token("production").token)
        all[.expiredProgram] = Credentials(apiToken: apiToken, session: try await token(lifetime: 1000).token)
        let revoked = try await token()
        _ = try await installation.revokeProgramTokens(
            ofAccountNamed: "lovelace", id: revoked.programToken.id, by: AuditActor(name: "user 0"))
        all[.revokedProgram] = Credentials(session: revoked.token)
        // Signed dates are of whole seconds.
        advance(milliseconds: 1000)
    }

    /// Makes the callers with server-to-server keys, which other tests need not wait for.
    func addKeys() async throws {
        var all = callers.withLock(\.self)
        let root = AuditActor(name: "user 0")
        let keys = (own: try await SigningKey(), elsewhere: try await SigningKey(), revoked: try await SigningKey())
        func make(_ key: SigningKey, _ container: String = ProductionServer.container) async throws -> String {
            try await installation.createServerKey(
                container: container, environment: .development, name: "", publicKey: key.publicKey, replacing: nil,
                by: root
            ).keyID
        }
        let id = try await make(keys.own)
        all[.serverKey] = Credentials(signing: (id, keys.own, nil))
        all[.forgedSignature] = Credentials(signing: (id, keys.elsewhere, nil))
        all[.replayedSignature] = Credentials(
            signing: (id, keys.own, "/database/1/\(Self.container)/development/public/x"))
        all[.serverKeyElsewhere] = Credentials(
            signing: (try await make(keys.elsewhere, "iCloud.other"), keys.elsewhere, nil))
        let revoked = try await make(keys.revoked)
        try await installation.revokeServerKey(revoked, by: root)
        all[.revokedServerKey] = Credentials(signing: (revoked, keys.revoked, nil))
        callers.withLock { [all] in $0 = all }
    }

    /// Sends a request to a route, with an empty object as its message. The query has a leading question mark.
    func send(
        _ route: Route, as caller: Caller, method: HTTPMethod? = nil, container: String = container,
        body: String = "{}", query: String = ""
    ) async -> HTTPResponse {
        let request = await request(
            to: route, as: caller, method: method, container: container, body: body, query: query)
        return await responder.respond(to: request)
    }

    func request(
        to route: Route, as caller: Caller, method: HTTPMethod? = nil, container: String = container,
        body: String = "{}", query: String = ""
    ) async -> HTTPRequest {
        let credentials = callers.withLock { $0[caller] ?? Credentials() }
        var target: String
        switch route.path {
        case AssetPath.upload, AssetPath.download:
            target = "\(route.path)/1/\(container)/development/x/y"
        case "/courier": target = "/courier/1/\(container)/development/token"
        case "/share": target = "/share/0123456789"
        case let path where path.hasPrefix("/nephos/"):
            target = "/nephos/1/\(container)/development/\(path.dropFirst("/nephos/".count))"
        case let path where path.hasPrefix("/installation/"): target = "/nephos/1\(path)"
        case let path where path.hasPrefix("/"): target = path
        // A server-to-server key has no private database.
        case let path:
            target = "/database/1/\(container)/development/\(credentials.signing == nil ? "private" : "public")/\(path)"
        }
        target += query
        if let apiToken = credentials.apiToken { target += "\(query.isEmpty ? "?" : "&")ckAPIToken=\(apiToken)" }
        var request = HTTPRequest(
            method: method ?? (route.methods.contains(.post) ? .post : .get), target: target,
            host: credentials.localUser == nil ? "cloud.example.org" : "localhost",
            origin: credentials.origin, body: Array(body.utf8))
        request.authorization = credentials.session.map { "Bearer \($0)" }
        request.localUser = credentials.localUser
        if let (keyID, key, instead) = credentials.signing {
            let date = Date(timeIntervalSince1970: Double(now / 1000)).formatted(.iso8601)
            request.signature = try? await key.signed(keyID, instead ?? target, body: body, date: date)
            request.signature?.target = target
        }
        return request
    }

    func close() async {
        await service.close()
        await installation.close()
    }
}
