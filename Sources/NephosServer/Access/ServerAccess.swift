import Glibc
package import NephosService
import NephosWire

/// The authentication of a server: which callers it accepts, and as which accounts.
package enum Access: Sendable {
    /// The rules of `nephos dev`: everybody on this machine, by name.
    case development
    /// The same beyond this machine, for everybody with the access token.
    case developmentElsewhere(AccessToken)
    /// The rules of commands on the data of a stopped `nephos serve`: everybody by the ID of an account of the
    /// installation, with the address to which invitations to it go. The audit names the user of this machine.
    case stoppedProduction(Installation, localUser: UInt32)
    /// The rules of `nephos serve`: API tokens, sessions and roles of an installation. The URL is the one address of the
    /// service, such as `https://cloud.example.org`, without a trailing slash.
    case production(Installation, url: PublicURL)

    var rules: any ServerAccess {
        switch self {
        case .development: DevelopmentAccess()
        case .developmentElsewhere(let token): DevelopmentAccess(token: token)
        case .stoppedProduction(let installation, let user): DevelopmentAccess(names: installation, localUser: user)
        case .production(let installation, let url): ProductionAccess(installation: installation, url: url)
        }
    }
}

/// The rules of a server about its callers. `NephosService` decides what callers may do.
protocol ServerAccess: Sendable {
    /// Checks the headers that say where a request comes from.
    func check(_ request: HTTPRequest) throws(Refusal)
    /// Counts a request that `check` accepts. Refuses it above the rate of its address.
    func admit(_ request: HTTPRequest) throws(Refusal)
    /// Returns whether web pages of an origin may read the answer to a request that `check` accepts.
    func mayRead(_ origin: String, _ request: HTTPRequest, _ target: RequestTarget?) async -> Bool
    /// Returns the caller of a request to a container.
    func caller(_ request: HTTPRequest, _ target: RequestTarget, _ path: DatabasePath) async throws(Refusal)
        -> SignedInCaller
    /// Returns whether the caller of a request to a container has an account, before the request's body is read.
    /// - Throws: the refusal of a caller whom no body would let in.
    func hasAccount(_ request: HTTPRequest, _ target: RequestTarget, _ path: DatabasePath) async throws(Refusal)
        -> Bool
    /// Returns the caller of a request of the administration.
    /// - Parameter isUsed: whether the caller sent the request now; false to check once more whether its session lives.
    func administrator(
        _ request: HTTPRequest, _ target: RequestTarget, isUsed: Bool
    ) async throws(Refusal) -> Administrator
    /// Throws unless the container exists, in words that are the same for others' containers.
    func checkExists(container: String) async throws(Refusal)
    /// Adds a change of a container to the audit, before it runs.
    func audit(
        _ route: Route, of place: AdministrationPath, by administrator: Administrator, _ request: HTTPRequest
    ) async throws(Refusal)
    /// Notes for the audit that a request of the administration was refused.
    /// - Parameter administrator: the caller; nil for one without a session.
    func noteRefusal(_ route: Route, of container: String, by administrator: Administrator?, _ request: HTTPRequest)
    /// The prefix of the addresses in answers, without a trailing slash.
    func baseURL(_ request: HTTPRequest) -> String
    /// The URL of the page at which people sign in; nil if none is known, or the API token allows no sign-in.
    func signInURL(_ request: HTTPRequest, _ target: RequestTarget?) async -> String?
    /// The account to which a request's memory is charged; nil for none. May be wrong, as nothing is read for it.
    func account(_ request: HTTPRequest, _ target: RequestTarget) -> String?
    /// Returns another text of the request's web auth token, which answers carry; nil without one.
    func nextToken(_ request: HTTPRequest, _ target: RequestTarget) -> String?
    /// The installation; nil for a server without one.
    var installation: Installation? { get }
    /// Whether the dashboard may show the bodies of requests.
    var recordsBodies: Bool { get }
    /// Whether callers may have requests go wrong.
    var hasFaults: Bool { get }
}

/// The rules of `nephos dev`.
struct DevelopmentAccess: ServerAccess {
    /// The secret that every request needs; nil on the loopback.
    var token: AccessToken?
    /// The installation whose accounts sign in by their IDs; nil where accounts are names.
    var names: Installation?
    /// The user ID of the process that administers on this machine, which the audit names.
    var localUser: UInt32 = 0

    var hasFaults: Bool { names == nil }

    func check(_ request: HTTPRequest) throws(Refusal) {
        guard let token else { return try LoopbackGuard.check(request) }
        // Browsers send the password of Basic authentication for pages elsewhere, too.
        if let origin = request.origin, origin != baseURL(request) {
            throw Refusal(.accessDenied, "nephos dev answers no web pages of other origins where it needs a token")
        }
        if request.origin == nil, request.fetchSite == "cross-site" {
            throw Refusal(.accessDenied, "nephos dev does not answer what web pages elsewhere ask for")
        }
        try token.check(request)
    }

    func admit(_ request: HTTPRequest) throws(Refusal) {}

    func mayRead(_ origin: String, _ request: HTTPRequest, _ target: RequestTarget?) async -> Bool { true }

    func caller(
        _ request: HTTPRequest, _ target: RequestTarget, _ path: DatabasePath
    ) async throws(Refusal) -> SignedInCaller {
        let account = try account(of: request, target)
        var address: String?
        if let account, let names {
            do throws(ServiceError) { address = try await names.naming(account) } catch { throw Refusal(error) }
        }
        return SignedInCaller(account: account, address: address, isDeveloper: true)
    }

    func hasAccount(
        _ request: HTTPRequest, _ target: RequestTarget, _ path: DatabasePath
    ) async throws(Refusal) -> Bool { true }

    func administrator(
        _ request: HTTPRequest, _ target: RequestTarget, isUsed: Bool
    ) async throws(Refusal) -> Administrator {
        .localUser(localUser)
    }

    func checkExists(container: String) async throws(Refusal) {}

    func audit(
        _ route: Route, of place: AdministrationPath, by administrator: Administrator, _ request: HTTPRequest
    ) async throws(Refusal) {
        do throws(ServiceError) {
            let object = AuditedEvent.object(place.container, place.environment.rawValue, of: route.path)
            try await names?.audit(route.path, object, by: administrator.actor(address: ""))
        } catch {
            throw Refusal(error)
        }
    }

    func noteRefusal(
        _ route: Route, of container: String, by administrator: Administrator?, _ request: HTTPRequest
    ) {}

    func baseURL(_ request: HTTPRequest) -> String {
        request.host.map { "\(request.isSecure ? "https" : "http")://\($0)" } ?? ""
    }

    func signInURL(_ request: HTTPRequest, _ target: RequestTarget?) -> String? {
        request.host == nil ? nil : baseURL(request) + DevelopmentSignInPage.target(of: request, target)
    }

    func account(_ request: HTTPRequest, _ target: RequestTarget) -> String? {
        try? account(of: request, target)
    }

    private func account(of request: HTTPRequest, _ target: RequestTarget) throws(Refusal) -> String? {
        guard token != nil, request.authorization?.lowercased().hasPrefix("basic ") == true else {
            return try DevelopmentSignIn.account(request, target)
        }
        // Then the header has the access token, and the query the account.
        return try DevelopmentSignIn.account(target)
    }

    func nextToken(_ request: HTTPRequest, _ target: RequestTarget) -> String? { nil }

    var installation: Installation? { nil }
    var recordsBodies: Bool { names == nil }
}

extension ServerAccess {
    var hasFaults: Bool { false }
}
