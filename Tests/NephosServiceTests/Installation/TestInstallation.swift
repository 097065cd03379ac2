import NephosCrypto
import NephosSQLite
import NephosStorage
import NephosWire
import Synchronization
import Testing

@testable import NephosService

/// An installation in memory with a clock of its own.
struct TestInstallation {
    static let container = "iCloud.test"
    static let password = "nine lives of a grey cat"
    static let root = AuditActor(name: "user 0")

    let stores: any StoreProvider
    let clock = TestCloud.Clock()
    let installation: Installation
    private let people: PeopleSettings

    /// - Parameter failsForLog: whether a line of the log fails the test.
    init(
        _ stores: any StoreProvider = MemoryStores(), failsForLog: Bool = true,
        people: PeopleSettings = PeopleSettings()
    ) async throws {
        self.stores = stores
        self.people = people
        installation = try await Self.open(stores, clock, failsForLog: failsForLog, people)
    }

    private static func open(
        _ stores: any StoreProvider, _ clock: TestCloud.Clock, failsForLog: Bool, _ people: PeopleSettings
    ) async throws -> Installation {
        var environment = ServiceEnvironment(
            now: { clock.now }, makeUUID: { clock.makeUUID() },
            log: { line in
                if failsForLog, !line.hasPrefix("a sign-in failed") { Issue.record("\(line)") }
            },
            sleepUntil: { try await clock.sleep(until: $0) })
        environment.passwordCost = .init(operations: 1, memory: 8192)
        return try await Installation.open(stores, environment, people: people)
    }

    /// The settings of a server that sends mail.
    static func people(_ signUp: PeopleSettings.SignUp = .open) throws -> PeopleSettings {
        let sender = try #require(MailSender("no-reply@example.org"))
        return PeopleSettings(
            url: "https://cloud.example.org", serverName: "cloud.example.org", mail: .init(sender: sender),
            signUp: signUp)
    }

    /// The same installation by another server.
    func again() async throws -> Installation {
        try await Self.open(stores, clock, failsForLog: false, people)
    }

    /// Makes the container, an account with the password, and an API token.
    /// - Returns: the API token.
    func prepare(account: String = "ada@example.org") async throws -> String {
        try await installation.createContainer(Self.container, by: Self.root)
        _ = try await installation.createAccount(
            named: account, password: Self.password, isVerified: true, by: Self.root)
        return try await token().token
    }

    func token(
        environment: ContainerEnvironment = .development, origins: [String] = [], allowsSignIn: Bool = true,
        lifetime: Int64? = nil
    ) async throws -> APITokenSummary {
        try await installation.createAPIToken(
            container: Self.container, environment: environment, name: "app", origins: origins,
            allowsSignIn: allowsSignIn, lifetime: lifetime, by: Self.root)
    }

    func signIn(
        _ account: String = "ada@example.org", password: String = password, apiToken: String?, device: String? = nil,
        keepsSignedIn: Bool = false, address: [UInt8] = [192, 0, 2, 1]
    ) async throws(ServiceError) -> SignedIn {
        try await installation.signIn(
            SignIn(
                name: account, password: password, apiToken: apiToken, device: device, keepsSignedIn: keepsSignedIn,
                address: address))
    }

    func caller(
        _ apiToken: String?, _ token: String?, container: String = container,
        environment: ContainerEnvironment = .development, origin: String? = nil
    ) async throws(ServiceError) -> SignedInCaller {
        try await installation.caller(
            container: container, environment: environment, apiToken: apiToken, token: token, origin: origin)
    }
}

/// The error code of a call that fails; nil for one that does not.
func code<T>(_ call: () async throws(ServiceError) -> T) async -> ServerErrorCode? {
    do {
        _ = try await call()
        return nil
    } catch {
        return error.code
    }
}
