package import NephosService
import NephosWire
import Synchronization

/// Answers requests: the common steps around each route.
///
/// In order: the loopback guard, the route, the method, the body's size, the route's own work; then the headers of
/// every answer, and the metrics.
package final class Responder: Sendable {
    private let service: NephosService
    private let router = Router(Routes.table)
    private let metrics = Metrics()
    private let requestIDs = RequestIDs()
    private let recent = RecentRequests()
    private let log: (@Sendable (AnsweredRequest) -> Void)?

    /// - Parameter log: called after every answer, on the thread that answers: it must not block.
    package init(_ service: NephosService, log: (@Sendable (AnsweredRequest) -> Void)? = nil) {
        self.service = service
        self.log = log
    }

    /// The answer to a request that is unfinished when the server has to stop.
    package static var unfinished: HTTPResponse {
        var refusal = Refusal(
            .tryAgainLater, "the server is stopping: whether the request was carried out is not known")
        refusal.retryAfter = 5
        return refusal.response(requestID: RequestIDs().next(), signIn: nil)
    }

    /// The answer to a request that exceeds the server's memory budget.
    package static func busy(_ request: HTTPRequest) -> HTTPResponse {
        let requestID = busyIDs.next()
        var response = Refusal(ServiceError.noRoom).response(requestID: requestID, signIn: nil)
            .withoutUnwantedAdditions(request)
        response.headers.append(HTTPHeader("X-Apple-Request-UUID", requestID))
        if let reader = request.origin, reader != "null", (try? LoopbackGuard.check(request)) != nil {
            response.headers += CrossOrigin.headers(allowing: reader)
        }
        return response
    }
    private static let busyIDs = RequestIDs()

    /// The account that a request is signed in as; nil for none.
    package static func account(_ request: HTTPRequest) -> String? {
        RequestTarget(request.target).flatMap { try? DevelopmentSignIn.account($0) }
    }

    package func respond(to request: HTTPRequest) async -> HTTPResponse {
        let start = ContinuousClock.now
        metrics.began()
        let requestID = requestIDs.next()
        let target = RequestTarget(request.target)
        let route = target.flatMap { router.route($0) }
        var response: HTTPResponse
        // Recording a request costs a tenth of a short one, so it starts with the first view of the page.
        if route?.path == StatusRoutes.statusPath { recent.isWatched.store(true, ordering: .relaxed) }
        let isTold = log != nil || recent.isWatched.load(ordering: .relaxed)
        let details = isTold && route?.path != StatusRoutes.statusPath ? RequestDetails() : nil
        var refused: Refusal?
        /// The origin of the web page that may read the answer.
        var reader: String?
        let timing = RequestTiming(client: request.client)
        do throws(Refusal) {
            if let problem = request.problem { throw Refusal(.badRequest, problem) }
            try LoopbackGuard.check(request)
            reader = request.origin == "null" ? nil : request.origin
            response = try await timing.measure {
                await answer(request, target, route, requestID, details)
            }.get()
        } catch let refusal {
            refused = refusal
            response = refusal.response(requestID: requestID, signIn: Self.signInURL(request))
        }
        if target?.isOfProtocol == true { response = response.withoutUnwantedAdditions(request) }
        response.headers.append(HTTPHeader("X-Apple-Request-UUID", requestID))
        if route?.changes != true { response.isOutcome = false }
        if let reader { response.headers += CrossOrigin.headers(allowing: reader) }
        let duration = ContinuousClock.now - start
        let stages = timing.stages
        metrics.answered(
            route: route?.path ?? "none", status: response.status, error: refused?.code, after: duration, stages)
        if let details {
            let entry = Self.entry(request, route, details, refused, response, requestID, duration, stages)
            recent.note(entry, at: service.environment.now())
            log?(entry)
        }
        return response
    }

    private static func entry(
        _ request: HTTPRequest, _ route: Route?, _ details: RequestDetails, _ refused: Refusal?,
        _ response: HTTPResponse, _ requestID: String, _ duration: Duration, _ stages: StageDurations
    ) -> AnsweredRequest {
        // A target's query and the path to an asset or a courier contain tokens, which stay out of the log.
        let path = route == nil ? withoutSecrets(request.target.prefix { $0 != "?" }) : ""
        return AnsweredRequest(
            requestID: requestID, method: request.method.rawValue,
            endpoint: route?.path ?? path, container: details.container, environment: details.environment,
            database: details.database, account: details.account,
            summary: details.summaries.isEmpty ? nil : details.summaries.joined(separator: " "),
            status: response.status, failedItems: details.failedItems, errorCode: refused?.code.rawValue,
            reason: refused?.reason, duration: duration,
            answerSize: response.parts.reduce(0) { $0 + $1.buffer.count }, stages: stages)
    }

    /// An unrouted path may be a mistyped URL of a share or an asset: masks possible secrets.
    private static func withoutSecrets(_ path: Substring) -> String {
        path.split(separator: "/", omittingEmptySubsequences: false)
            .map { $0.utf8.count < secretSize || $0.contains(".") ? $0 : "…" }.joined(separator: "/")
    }

    /// The least bytes of a path component that may contain a secret.
    private static let secretSize = 20

    private func answer(
        _ request: HTTPRequest, _ target: RequestTarget?, _ route: Route?, _ requestID: String,
        _ details: RequestDetails?
    ) async -> Result<HTTPResponse, Refusal> {
        do throws(Refusal) {
            return .success(try await routed(request, target, route, requestID, details))
        } catch {
            return .failure(error)
        }
    }

    private func routed(
        _ request: HTTPRequest, _ target: RequestTarget?, _ route: Route?, _ requestID: String,
        _ details: RequestDetails?
    ) async throws(Refusal) -> HTTPResponse {
        // Also for unknown paths: a page's script sees the 404 only after a successful preflight.
        if request.method == .options { return CrossOrigin.preflight(route) }
        guard let target else { throw Refusal(.badRequest, "the path's percent-encoding is not valid UTF-8") }
        guard let route else { throw try unknownPath(target) }
        guard route.answers(request.method) else { throw .methodNotAllowed(route.allowedMethods) }
        if request.bodyIsTooLarge { throw .bodyTooLarge(limit: route.bodyLimit) }
        let request = try request.decoded()
        if request.body.count > route.bodyLimit { throw .bodyTooLarge(limit: route.bodyLimit) }
        return try await route.handler(
            RoutedRequest(
                request: request, target: target, requestID: requestID, service: service,
                metrics: metrics, recent: recent, details: details))
    }

    /// The refusal of an unrouted path: a defect in the path of a database or a container is reported ahead of the
    /// action.
    private func unknownPath(_ target: RequestTarget) throws(Refusal) -> Refusal {
        var refusal = Refusal.noHandler
        if target.components.first == DatabasePath.module {
            _ = try DatabasePath(target.components)
            let action = target.components.dropFirst(5).joined(separator: "/")
            if let meant = router.suggestion(for: action) { refusal.reason += ": did you mean '\(meant)'?" }
        }
        if target.components.first == AdministrationPath.module { _ = try AdministrationPath(target.components) }
        return refusal
    }

    private static func signInURL(_ request: HTTPRequest) -> String? {
        request.host == nil ? nil : request.baseURL + DevelopmentSignIn.path
    }
}

extension RequestTarget {
    /// Whether the target is one of CloudKit Web Services, not of our own routes.
    fileprivate var isOfProtocol: Bool {
        components.first == DatabasePath.module || components.first == DatabasePath.deviceModule
    }
}

extension HTTPResponse {
    /// Removes the keys that Apple does not have from a JSON answer to a client that does not ask for ours. Answers in
    /// other formats were requested explicitly.
    func withoutUnwantedAdditions(_ request: HTTPRequest) -> HTTPResponse {
        guard !request.takesAdditions,
            headers.contains(where: { $0.name == "Content-Type" && $0.value.hasPrefix("application/json") })
        else { return self }
        var response = self
        response.parts = AnswerAdditions.removed(from: parts)
        return response
    }
}

extension HTTPRequest {
    /// The base of this service's URLs, under the host name that the client uses.
    var baseURL: String { host.map { "http://\($0)" } ?? "" }
}
