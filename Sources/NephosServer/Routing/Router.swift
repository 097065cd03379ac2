import NephosService
import NephosWire

/// All routes of the server.
enum Routes {
    static let table: [Route] = [
        NephosService.endpoints.map { Route($0) }, AssetRoutes.table, SchemaRoutes.table, AdministrationRoutes.table,
        DeviceRoutes.table, OwnRecordRoutes.table,
        StatusRoutes.table, WebRoutes.table, CloudKitJSRoutes.table, ShareRoutes.table, SignInRoutes.table,
        InstallationRoutes.table, ownTable,
    ].flatMap { $0 }

    /// The routes of the long poll and of the server's health.
    private static let ownTable: [Route] = [
        .courier,
        Route([.get], "/health", access: .open) { _ in .json(Array(#"{"status":"ok"}"#.utf8)) },
        Route([.get], "/ready", access: .open) { asked throws(Refusal) in
            guard let problem = await asked.service.problemOfReadiness() else {
                return .json(Array(#"{"status":"ok"}"#.utf8))
            }
            var refusal = Refusal(.tryAgainLater, problem)
            refusal.retryAfter = 1
            throw refusal
        },
        Route([.get], "/metrics", access: .viewInstallation) { asked in
            .text(
                asked.metrics.text(
                    asked.service.storageWaits, isReady: await asked.service.problemOfReadiness() == nil),
                type: "text/plain; version=0.0.4; charset=utf-8")
        },
    ]
}

/// One row of the route table: methods, path and handler.
struct Route: Sendable {
    typealias Handler = @Sendable (RoutedRequest) async throws(Refusal) -> HTTPResponse

    let methods: [HTTPMethod]
    /// The path of the route. It is a whole path with its leading slash, or `entity/action`. The latter stands for
    /// `/database/1/{container}/{environment}/{database}/entity/action` and, for push tokens, for
    /// `/device/1/{container}/{environment}/entity/action`. `/nephos/entity/action` stands for
    /// `/nephos/1/{container}/{environment}/entity/action`. The path of the courier has further components.
    let path: String
    /// The maximum size of a request's body in bytes.
    let bodyLimit: Int
    let access: RouteAccess
    let handler: Handler

    init(
        _ methods: [HTTPMethod], _ path: String, bodyLimit: Int = Limits.requestSize, access: RouteAccess,
        _ handler: @escaping Handler
    ) {
        self.access = access
        self.methods = methods
        self.path = path
        self.bodyLimit = bodyLimit
        self.handler = handler
    }

    /// Whether a request to this route may have changed the store by the time it is answered.
    var changes: Bool { path.hasSuffix("/modify") }

    /// Whether neither the request nor the answer has a credential, so that a development server may record them. The
    /// address of a share is one.
    var hasRecordableBodies: Bool {
        if ["records/accept", "records/resolve", "records/requestAccess"].contains(path) { return false }
        return ["records/", "zones/", "changes/", "subscriptions/"].contains { path.hasPrefix($0) }
    }

    /// Which requests to the route are recorded.
    enum Recorded {
        /// Every request, failed requests alone, or none. A route that records none logs none either.
        case all, failures, none
    }

    /// The requests to the route that are recorded. Polls of dashboards and monitoring are not: they would evict apps'
    /// requests from the ring.
    var recorded: Recorded {
        if path.hasPrefix(StatusRoutes.statusPath) { return .none }
        return switch access {
        case .view, .viewInstallation, .viewOwnRights: .failures
        case .open: ["/", WebFiles.path, "/health", "/ready"].contains(path) ? .failures : .all
        case .url, .container, .change, .administer: .all
        }
    }

    func answers(_ method: HTTPMethod) -> Bool {
        methods.contains(method == .head ? .get : method)
    }

    static let allMethods = "GET, HEAD, POST, OPTIONS"

    /// The value of the `Allow` header. HEAD is allowed with GET, and OPTIONS always.
    var allowedMethods: String {
        let all: [HTTPMethod] = [.get, .head, .post, .options]
        return all.filter { $0 == .options || answers($0) }.map(\.rawValue).joined(separator: ", ")
    }
}

/// What a route asks of its callers.
enum RouteAccess: Hashable, Sendable, CaseIterable {
    /// Nothing.
    case open
    /// Nothing but the URL, which contains a secret: of a file, a poll or a share.
    case url
    /// The API token of the container, and a session for all but public records.
    case container
    /// A role of the container.
    case view, change
    /// A role of the installation.
    case viewInstallation, administer
    /// A role of the installation, or of any container.
    case viewOwnRights

    /// The right that a request of the administration needs; nil for other routes.
    func right(container: String) -> AdministrationRight? {
        switch self {
        case .open, .url, .container: nil
        case .view: .view(container: container)
        case .change: .change(container: container)
        case .viewInstallation: .viewInstallation
        case .administer: .administer
        case .viewOwnRights: .viewOwnRights
        }
    }
}

/// A request that is passed to a route, with its context.
struct RoutedRequest: Sendable {
    let responder: Responder
    /// The caller, on a route of the administration; nil on others.
    let administrator: Administrator?
    let request: HTTPRequest
    let target: RequestTarget
    let requestID: String
    /// Whether the request's client is noted, as the dashboard was looked at.
    let notesClients: Bool
    /// The details for the log and the status page; nil if neither needs them.
    let details: RequestDetails?

    var access: any ServerAccess { responder.access }
    var service: NephosService { responder.service }
    var metrics: Metrics { responder.metrics }
    var recent: RecentRequests { responder.recent }
    var streams: RequestStreams { responder.streams }
    var clients: ClientLog { responder.clients }
}

/// Finds the route of a path.
struct Router: Sendable {
    private let routes: [String: Route]

    init(_ table: [Route]) {
        routes = Dictionary(uniqueKeysWithValues: table.map { ($0.path, $0) })
    }

    /// Returns the action of the protocol that is most similar to an unknown one; nil if none is similar.
    func suggestion(for action: String) -> String? {
        let known = routes.keys.filter { !$0.hasPrefix("/") }.sorted()
        guard let nearest = Suggestion.nearest(to: action, among: known) else { return nil }
        // Many actions have the same entity, so the entity alone must not make two of them similar.
        let length = nearest.split(separator: "/").last?.count ?? 0
        return Suggestion.distance(action, nearest) <= max(1, length / 3) ? nearest : nil
    }

    func route(_ target: RequestTarget) -> Route? {
        let components = target.components
        switch components.first {
        case DatabasePath.module:
            // Fast path for every client request: it avoids `joined`.
            let action =
                components.count == 7
                ? components[5] + "/" + components[6] : components.dropFirst(5).joined(separator: "/")
            // Other routes than the protocol's have no second path.
            return action.hasPrefix("/") ? nil : routes[action]
        case DatabasePath.deviceModule:
            // The device module contains only push tokens.
            let action = components.dropFirst(4).joined(separator: "/")
            return action.hasPrefix("tokens/") ? routes[action] : nil
        case CourierPath.module: return 5...6 ~= components.count ? routes["/" + CourierPath.module] : nil
        case AssetPath.module: return AssetPath.route(components).flatMap { routes[$0] }
        case WebFiles.module: return components.count <= 2 ? routes[WebFiles.path] : nil
        case CloudKitJS.module: return components.count == 3 ? routes[CloudKitJS.path] : nil
        case ShareRoutes.module: return components.count == 2 ? routes["/" + ShareRoutes.module] : nil
        case AdministrationPath.module where components.count == 5 && components[2] == InstallationRoutes.component:
            guard components[1] == DatabasePath.version else { return nil }
            return routes["/installation/" + components.dropFirst(3).joined(separator: "/")]
        case AdministrationPath.module:
            return routes["/nephos/" + components.dropFirst(4).joined(separator: "/")]
        case InstallationRoutes.component: return nil
        case ProviderPage.module where components.count == 4 && components[1] == ProviderPage.component:
            return routes[ProviderPage.path + components[2]]
        default:
            // An encoded slash would lead past a proxy's rules for paths.
            return components.contains { $0.contains("/") } ? nil : routes["/" + components.joined(separator: "/")]
        }
    }
}
