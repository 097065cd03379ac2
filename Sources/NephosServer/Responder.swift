package import NephosService
import NephosWire

/// Answers requests: what is the same for all of them, around the route of each.
///
/// In order: the loopback guard, the route, the method, the body's size, the route's own work; then the headers that
/// every answer carries, and the counts.
package final class Responder: Sendable {
    private let service: NephosService
    private let router = Router(Routes.table)
    private let metrics = Metrics()
    private let requestIDs = RequestIDs()

    package init(_ service: NephosService) {
        self.service = service
    }

    package func respond(to request: HTTPRequest) async -> HTTPResponse {
        let start = ContinuousClock.now
        metrics.began()
        let requestID = requestIDs.next()
        let target = RequestTarget(request.target)
        let route = target.flatMap { router.route($0) }
        var response: HTTPResponse
        var error: ServerErrorCode?
        /// The web page that may read the answer.
        var reader: String?
        do throws(Refusal) {
            try LoopbackGuard.check(request)
            reader = request.origin
            response = try await answer(request, target, route, requestID)
        } catch let refusal {
            error = refusal.code
            response = refusal.response(requestID: requestID, signIn: Self.signInURL(request))
        }
        response.headers.append(HTTPHeader("X-Apple-Request-UUID", requestID))
        if let reader { response.headers += CrossOrigin.headers(allowing: reader) }
        metrics.answered(
            route: route?.path ?? "none", status: response.status, error: error, after: .now - start)
        return response
    }

    private func answer(
        _ request: HTTPRequest, _ target: RequestTarget?, _ route: Route?, _ requestID: String
    ) async throws(Refusal) -> HTTPResponse {
        // Also where nothing answers: a page's script learns of the 404 only after a preflight that succeeds.
        if request.method == .options { return CrossOrigin.preflight(route) }
        guard let target else { throw Refusal(.badRequest, "the path's percent-encoding is not valid UTF-8") }
        guard let route else { throw try Self.unknownPath(target) }
        guard route.answers(request.method) else { throw .methodNotAllowed(route.allowedMethods) }
        if request.bodyIsTooLarge { throw .bodyTooLarge(limit: Limits.requestSize) }
        return try await route.handler(
            RoutedRequest(
                request: request, target: target, requestID: requestID, service: service, metrics: metrics))
    }

    /// A path that no route serves: one of a database or a container with something wrong before its action is told so.
    private static func unknownPath(_ target: RequestTarget) throws(Refusal) -> Refusal {
        if target.components.first == DatabasePath.module { _ = try DatabasePath(target.components) }
        if target.components.first == AdministrationPath.module { _ = try AdministrationPath(target.components) }
        return .noHandler
    }

    private static func signInURL(_ request: HTTPRequest) -> String? {
        request.host.map { "http://\($0)\(DevelopmentSignIn.path)" }
    }
}
