import Foundation

/// Finds the service of a container by the container's identifier. It is the service of a registered in-process cloud
/// or, without one, the server of `CloudKitEnvironment`.
package final class ServiceDirectory: Sendable {
    /// Creates the service of a container.
    package typealias Provider = @Sendable (_ containerIdentifier: String) -> any CloudService

    package static let shared = ServiceDirectory()

    /// The directory of the current task and its children, which a test's cloud sets; nil outside of such a task.
    @TaskLocal package static var scoped: ServiceDirectory?

    /// Runs code of an app, such as a handler, in a directory; nil for the process's.
    static func run<Result>(in directory: ServiceDirectory?, _ body: () -> Result) -> Result {
        guard let directory else { return body() }
        return $scoped.withValue(directory, operation: body)
    }

    /// The directory of the current task, or else that of the process.
    package static var current: ServiceDirectory { scoped ?? shared }

    private struct State: Sendable {
        var environment: Result<CloudKitEnvironment, CloudKitEnvironment.Invalid>?
        /// Whether code, and not the process's variables, determined the environment.
        var isChosen = false
        /// Why the containers of an environment that no code determined reach no server; nil if they reach it.
        var refusal: String?
        /// The registered providers, of which the last one is used.
        var providers: [(id: UUID, account: String?, provider: Provider)] = []
        /// The sessions by container identifier. The dictionary is emptied whenever the service changes.
        var sessions: [String: ContainerSession] = [:]
        var defaultContainer: CKContainer?

        mutating func forgetSessions() {
            sessions = [:]
            defaultContainer = nil
        }
    }

    private let state = Locked(State())
    /// Serialises account switches, so that the sessions end up with the last account.
    private let switching = NSLock()

    /// The cloud to which the directory's containers belong; nil for the process's directory.
    package let scope: ServiceScope?
    /// The states of the sync engines on the directory's containers; nil for the process's directory.
    package let engines: EngineStates?
    /// The clock and randomness of the directory's containers.
    private let syncEnvironment: SyncEngineEnvironment

    package init() {
        scope = nil
        engines = nil
        syncEnvironment = .system
    }

    /// Creates the directory of one cloud, whose containers only tasks of that cloud use.
    /// - Returns: the directory, and the ID of the provider's registration.
    package static func scoped(
        _ scope: ServiceScope, _ environment: CloudKitEnvironment, account: String?,
        _ syncEnvironment: SyncEngineEnvironment, _ provider: @escaping Provider
    ) -> (ServiceDirectory, UUID) {
        let directory = ServiceDirectory(scope, syncEnvironment)
        let id = UUID()
        directory.state.withLock { state in
            state.environment = .success(environment)
            state.isChosen = true
            state.providers = [(id, account, provider)]
        }
        return (directory, id)
    }

    private init(_ scope: ServiceScope, _ syncEnvironment: SyncEngineEnvironment) {
        self.scope = scope
        engines = EngineStates()
        self.syncEnvironment = syncEnvironment
    }

    /// Has every container that would reach the server of the process's variables fail with `refusal` instead: those
    /// that exist, and those that are created from now on. It lasts as long as the process: between two tests, what the
    /// first one left running would reach the server.
    package func refuseUnchosen(_ refusal: String) {
        switching.lock()
        let sessions: [ContainerSession] = state.withLock { state in
            if state.refusal != nil { return [] }
            state.refusal = refusal
            return state.providers.isEmpty && !state.isChosen ? Array(state.sessions.values) : []
        }
        for session in sessions { session.switchAccount(to: MisconfiguredService(refusal)) }
        switching.unlock()
    }

    /// The value of `CloudKitEnvironment.current`, or the reason why it is invalid.
    var environment: Result<CloudKitEnvironment, CloudKitEnvironment.Invalid> {
        state.withLock { Self.environment(&$0) }
    }

    /// The current environment; the default environment if the current one is invalid.
    var currentEnvironment: CloudKitEnvironment { (try? environment.get()) ?? CloudKitEnvironment() }

    private static func environment(_ state: inout State) -> Result<CloudKitEnvironment, CloudKitEnvironment.Invalid> {
        if let known = state.environment { return known }
        let read = Result { () throws(CloudKitEnvironment.Invalid) in
            try CloudKitEnvironment(variables: ProcessInfo.processInfo.environment)
        }
        state.environment = read
        return read
    }

    package func setEnvironment(_ environment: CloudKitEnvironment) {
        let (changesAccount, old) = state.withLock { state in
            let before = Self.environment(&state)
            state.environment = .success(environment)
            state.isChosen = true
            let old = (state.sessions, state.defaultContainer)
            state.forgetSessions()
            return ((try? before.get())?.account != environment.account, old)
        }
        _ = old
        if changesAccount { postAccountChanged() }
    }

    /// A name that distinguishes the account of future containers; nil if no account is signed in.
    var account: String? {
        state.withLock { state in
            if let last = state.providers.last { return last.account }
            guard case .success(let environment) = Self.environment(&state),
                case .token(let token) = environment.account
            else { return nil }
            return token
        }
    }

    /// Registers `provider` for every container that is created from now on, as the given account. The registration
    /// ends with a call of `remove` with the returned ID.
    package func add(account: String?, _ provider: @escaping Provider) -> UUID {
        let id = UUID()
        let old = state.withLock { state in
            state.providers.append((id, account, provider))
            let old = (state.sessions, state.defaultContainer)
            state.forgetSessions()
            return old
        }
        _ = old
        postAccountChanged()
        return id
    }

    /// Replaces a provider with that of another account in the same cloud. Its containers continue as that account.
    /// Does nothing if the provider was removed.
    package func switchAccount(of id: UUID, to account: String?, _ provider: @escaping Provider) {
        switching.lock()
        let sessions: [ContainerSession]? = state.withLock { state in
            guard let index = state.providers.firstIndex(where: { $0.id == id }) else { return nil }
            state.providers[index] = (id, account, provider)
            // Only the last provider serves containers.
            return index == state.providers.count - 1 ? Array(state.sessions.values) : []
        }
        for session in sessions ?? [] { session.switchAccount(to: provider(session.identifier)) }
        switching.unlock()
        if sessions != nil { postAccountChanged() }
    }

    /// Signs in to the same server as another account, or signs out. The containers of the server continue as that
    /// account.
    package func switchAccount(to account: CloudKitEnvironment.Account) {
        switching.lock()
        let (sessions, environment) = state.withLock { state in
            var environment = (try? Self.environment(&state).get()) ?? CloudKitEnvironment()
            environment.account = account
            state.environment = .success(environment)
            state.isChosen = true
            return (state.providers.isEmpty ? Array(state.sessions.values) : [], environment)
        }
        for session in sessions { session.switchAccount(to: environment.service(of: session.identifier)) }
        switching.unlock()
        postAccountChanged()
    }

    /// Removes a provider. Does nothing if it was removed before.
    package func remove(_ id: UUID) {
        let removed = state.withLock { state in
            guard let index = state.providers.firstIndex(where: { $0.id == id }) else { return false }
            state.providers.remove(at: index)
            state.forgetSessions()
            return true
        }
        // The end of a test concerns no other test.
        if removed, scope == nil { postAccountChanged() }
    }

    /// Announces that the account of the directory's containers changed.
    private func postAccountChanged() { AccountChangeOrigin(scope: scope, engines: engines).post() }

    /// Returns the session for a container identifier, which all container objects with that identifier share.
    func session(for identifier: String) -> ContainerSession {
        state.withLock { state in
            if let session = state.sessions[identifier] { return session }
            let service: any CloudService
            if let provider = state.providers.last?.provider {
                service = provider(identifier)
            } else {
                switch Self.environment(&state) {
                case .success where state.refusal != nil && !state.isChosen:
                    service = MisconfiguredService(state.refusal ?? "")
                case .success(let environment): service = environment.service(of: identifier)
                case .failure(let invalid): service = MisconfiguredService(invalid)
                }
            }
            let session = ContainerSession(
                identifier, service, environment: syncEnvironment, directory: scope == nil ? nil : self)
            state.sessions[identifier] = session
            return session
        }
    }

    /// Returns a container with that identifier.
    package func container(_ identifier: String) -> CKContainer { CKContainer(session(for: identifier)) }

    /// Returns the value of `CKContainer.default()`, which is the same object until the service changes.
    func defaultContainer() -> CKContainer {
        let identifier = currentEnvironment.defaultContainerIdentifier
        let session = session(for: identifier)
        return state.withLock { state in
            if let container = state.defaultContainer { return container }
            let container = CKContainer(session)
            // If the service has changed meanwhile, the container is not stored. The next call then creates the
            // container that later calls return.
            if state.sessions[identifier] === session { state.defaultContainer = container }
            return container
        }
    }
}
