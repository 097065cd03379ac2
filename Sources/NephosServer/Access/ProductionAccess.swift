import Glibc
import NephosService
import NephosWire

/// The rules of `nephos serve`: a request to a container needs the container's API token, and a session for everything
/// but public records (CloudKit Web Services, authentication). The administration needs a role, or a user of this
/// machine.
struct ProductionAccess: ServerAccess {
    private let known: Installation
    private let url: PublicURL

    init(installation: Installation, url: PublicURL) {
        known = installation
        self.url = url
    }

    var installation: Installation? { known }
    var recordsBodies: Bool { false }

    func check(_ request: HTTPRequest) throws(Refusal) {
        if let user = request.localUser { return try Self.checkSocket(user, request) }
        guard let host = request.host, url.isHost(host) else {
            throw Refusal(.badRequest, "the Host header does not name this server")
        }
        if request.origin == "null", !ProviderPage.takesNullOrigin(request) {
            throw Refusal(.accessDenied, "web pages without an origin, such as files and sandboxes, are not answered")
        }
    }

    /// Refuses other users of this machine, also where the socket's file lets them connect, and what looks forwarded:
    /// a proxy to the socket would make administrators of its clients.
    private static func checkSocket(_ user: UInt32, _ request: HTTPRequest) throws(Refusal) {
        guard user == 0 || user == geteuid() else {
            throw Refusal(.accessDenied, "the socket is for root and the server's user")
        }
        guard request.origin == nil, request.host == "localhost" else {
            throw Refusal(.accessDenied, "the socket takes requests to 'localhost' that no page and no proxy sent")
        }
    }

    func admit(_ request: HTTPRequest) throws(Refusal) {
        guard request.localUser == nil else { return }
        do throws(ServiceError) { try known.admit(address: request.client) } catch { throw Refusal(error) }
    }

    func mayRead(_ origin: String, _ request: HTTPRequest, _ target: RequestTarget?) async -> Bool {
        if origin == url.text { return true }
        guard let target else { return false }
        // The addresses of files and polls are secrets in themselves, and carry no API token.
        if target.components.first == AssetPath.module || target.components.first == CourierPath.module { return true }
        // A preflight tells nothing. Without it a page cannot read why its request is refused.
        if request.method == .options, target.isOfProtocol { return true }
        guard let token = target.parameter("ckAPIToken")?.readings.first else { return false }
        return await known.allows(origin: origin, apiToken: token)
    }

    func caller(
        _ request: HTTPRequest, _ target: RequestTarget, _ path: DatabasePath
    ) async throws(Refusal) -> SignedInCaller {
        if let signature = request.signature { return try await caller(request, target, path, signature) }
        let token = try Self.token(request, target)
        do throws(ServiceError) {
            return try await known.caller(
                container: path.container, environment: path.environment,
                apiToken: target.parameter("ckAPIToken")?.readings.first, token: token, origin: request.origin)
        } catch {
            var refusal = Refusal(error)
            refusal.isPublic = error.isAboutAPIToken
            throw refusal
        }
    }

    /// Returns the caller of a request that a server-to-server key signed. It reaches the public database alone.
    private func caller(
        _ request: HTTPRequest, _ target: RequestTarget, _ path: DatabasePath, _ signature: SignedRequest
    ) async throws(Refusal) -> SignedInCaller {
        guard target.parameter("ckAPIToken") == nil, target.parameter("ckWebAuthToken") == nil,
            target.parameter("ckSession") == nil, request.authorization == nil
        else {
            throw Refusal(.badRequest, "a signed request has no token besides", clientCode: .invalidArguments)
        }
        guard target.components.first == DatabasePath.module, path.scope == .public else {
            throw Refusal(
                .authenticationFailed, "a server-to-server key reaches the public database alone",
                clientCode: .notAuthenticated)
        }
        do throws(ServiceError) {
            return try await known.caller(
                container: path.container, environment: path.environment, signed: signature)
        } catch {
            throw Refusal(error)
        }
    }

    func hasAccount(
        _ request: HTTPRequest, _ target: RequestTarget, _ path: DatabasePath
    ) async throws(Refusal) -> Bool {
        guard let signature = request.signature else {
            return try await caller(request, target, path).account != nil
        }
        // The signature is checked with the body, of which it is.
        do throws(ServiceError) {
            try await known.checkServerKey(
                signature.keyID, container: path.container, environment: path.environment)
        } catch {
            throw Refusal(error)
        }
        return true
    }

    func administrator(
        _ request: HTTPRequest, _ target: RequestTarget, isUsed: Bool
    ) async throws(Refusal) -> Administrator {
        if let user = request.localUser { return .localUser(user) }
        // The administration has no web pages elsewhere, and its token is never in a URL.
        guard request.origin == nil || request.origin == url.text, let header = request.authorization,
            let token = AuthorizationHeader.token(header)
        else {
            throw Refusal(
                .authenticationFailed,
                "the administration needs a session of an administrator, in the header "
                    + "Authorization", clientCode: .notAuthenticated)
        }
        do throws(ServiceError) {
            return try await known.administrator(String(token), isUsed: isUsed)
        } catch {
            throw Refusal(error)
        }
    }

    func checkExists(container: String) async throws(Refusal) {
        do throws(ServiceError) {
            guard try await known.exists(container: container) else {
                throw ServiceError.noContainer(container)
            }
        } catch {
            throw Refusal(error)
        }
    }

    func audit(
        _ route: Route, of place: AdministrationPath, by administrator: Administrator, _ request: HTTPRequest
    ) async throws(Refusal) {
        do throws(ServiceError) {
            let address = SignInCounters.network(request.client) ?? ""
            let object = AuditedEvent.object(place.container, place.environment.rawValue, of: route.path)
            try await known.audit(route.path, object, by: administrator.actor(address: address))
        } catch {
            throw Refusal(error)
        }
    }

    func noteRefusal(
        _ route: Route, of container: String, by administrator: Administrator?, _ request: HTTPRequest
    ) {
        let address = SignInCounters.network(request.client) ?? ""
        // A container without a role of this administrator is not recorded: its name is any text that the caller sent.
        let isOwn = if case .account(_, let roles, _)? = administrator { roles[container] != nil } else { false }
        known.noteRefusal(
            route.path, isOwn ? container : "", by: administrator?.actor(address: address), address: address)
    }

    func baseURL(_ request: HTTPRequest) -> String { url.text }

    func signInURL(_ request: HTTPRequest, _ target: RequestTarget?) async -> String? {
        guard let token = target?.parameter("ckAPIToken")?.readings.first, SignInPage.isToken(token),
            (try? await known.app(ofAPIToken: token)) != nil
        else { return nil }
        // The page gives the token of the session to this origin alone.
        return known.signInQuery(apiToken: token, origin: request.origin).map { "\(url.text)\(SignInPage.path)?\($0)" }
    }

    func account(_ request: HTTPRequest, _ target: RequestTarget) -> String? {
        (try? Self.token(request, target)).flatMap { $0 }.flatMap(known.cachedAccount)
    }

    func nextToken(_ request: HTTPRequest, _ target: RequestTarget) -> String? {
        (try? Self.token(request, target)).flatMap { $0 }.flatMap(Installation.anotherText)
    }

    /// Returns the web auth token of a request: of the header `Authorization`, or of the query; nil without one.
    private static func token(_ request: HTTPRequest, _ target: RequestTarget) throws(Refusal) -> String? {
        let parameter = target.parameter("ckWebAuthToken") ?? target.parameter("ckSession")
        guard let header = request.authorization else { return parameter?.readings.last }
        guard let token = AuthorizationHeader.token(header).map(String.init) else {
            throw Refusal(
                .authenticationFailed, "the header Authorization is not valid: it is 'Bearer' and a web auth token",
                clientCode: .notAuthenticated)
        }
        if let parameter, !parameter.readings.contains(token) { throw DevelopmentSignIn.differing }
        return token
    }
}
