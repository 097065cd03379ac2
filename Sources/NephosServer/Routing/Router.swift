import NephosService
import NephosWire

/// All routes of the server.
enum Routes {
    static let table: [Route] = [
        NephosService.endpoints.map { Route($0) }, AssetRoutes.table, SchemaRoutes.table, AdministrationRoutes.table,
        StatusRoutes.table, ShareRoutes.table, ownTable,
    ].flatMap { $0 }

    /// The long poll, and the routes of the server's health.
    private static let ownTable: [Route] = [
        .courier,
        Route([.get], "/health") { _ in .json(Array(#"{"status":"ok"}"#.utf8)) },
        Route([.get], "/ready") { asked throws(Refusal) in
            guard let problem = await asked.service.problemOfWriting() else {
                return .json(Array(#"{"status":"ok"}"#.utf8))
            }
            var refusal = Refusal(.tryAgainLater, problem)
            refusal.retryAfter = 1
            throw refusal
        },
        Route([.get], "/metrics") { asked in
            .text(
                asked.metrics.text(horizon: asked.service.horizonHolder),
                type: "text/plain; version=0.0.4; charset=utf-8")
        },
        Route([.get], DevelopmentSignIn.path) { _ in .text(DevelopmentSignIn.page) },
    ]
}

/// One row of the table: methods, path, handler.
struct Route: Sendable {
    typealias Handler = @Sendable (RoutedRequest) async throws(Refusal) -> HTTPResponse

    let methods: [HTTPMethod]
    /// A whole path with its leading slash, or `entity/action`, which stands for
    /// `/database/1/{container}/{environment}/{database}/entity/action` and, for push tokens,
    /// `/device/1/{container}/{environment}/entity/action`; the courier's path has further components.
    /// `/nephos/entity/action` stands for `/nephos/1/{container}/{environment}/entity/action`.
    let path: String
    /// The longest body in bytes.
    let bodyLimit: Int
    let handler: Handler

    init(
        _ methods: [HTTPMethod], _ path: String, bodyLimit: Int = Limits.requestSize, _ handler: @escaping Handler
    ) {
        self.methods = methods
        self.path = path
        self.bodyLimit = bodyLimit
        self.handler = handler
    }

    /// Whether the route may have changed something when it answers.
    var changes: Bool { path.hasSuffix("/modify") }

    func answers(_ method: HTTPMethod) -> Bool {
        methods.contains(method == .head ? .get : method)
    }

    static let allMethods = "GET, HEAD, POST, OPTIONS"

    /// The value of the `Allow` header: HEAD is allowed with GET, OPTIONS always.
    var allowedMethods: String {
        let all: [HTTPMethod] = [.get, .head, .post, .options]
        return all.filter { $0 == .options || answers($0) }.map(\.rawValue).joined(separator: ", ")
    }
}

/// A request and its context, passed to a route.
struct RoutedRequest: Sendable {
    let request: HTTPRequest
    let target: RequestTarget
    let requestID: String
    let service: NephosService
    let metrics: Metrics
    let recent: RecentRequests
    /// Details for the log and the status page; nil if neither is used.
    let details: RequestDetails?
}

/// Finds the route of a path.
struct Router: Sendable {
    private let routes: [String: Route]

    init(_ table: [Route]) {
        routes = Dictionary(uniqueKeysWithValues: table.map { ($0.path, $0) })
    }

    /// The protocol's action most similar to an unknown one.
    func suggestion(for action: String) -> String? {
        let known = routes.keys.filter { !$0.hasPrefix("/") }.sorted()
        guard let nearest = Suggestion.nearest(to: action, among: known) else { return nil }
        // Many actions share an entity, so the similarity must not come from the entity alone.
        let length = nearest.split(separator: "/").last?.count ?? 0
        return Suggestion.distance(action, nearest) <= max(1, length / 3) ? nearest : nil
    }

    func route(_ target: RequestTarget) -> Route? {
        let components = target.components
        switch components.first {
        case DatabasePath.module:
            // Fast path for every client request: avoids `joined`.
            if components.count == 7 { return routes[components[5] + "/" + components[6]] }
            return routes[components.dropFirst(5).joined(separator: "/")]
        case DatabasePath.deviceModule:
            // Under the device module only push tokens exist.
            let action = components.dropFirst(4).joined(separator: "/")
            return action.hasPrefix("tokens/") ? routes[action] : nil
        case CourierPath.module: return components.count == 5 ? routes["/" + CourierPath.module] : nil
        case AssetPath.module: return AssetPath.route(components).flatMap { routes[$0] }
        case ShareRoutes.module: return components.count == 2 ? routes["/" + ShareRoutes.module] : nil
        case AdministrationPath.module:
            return routes["/nephos/" + components.dropFirst(4).joined(separator: "/")]
        default: return routes["/" + components.joined(separator: "/")]
        }
    }
}
