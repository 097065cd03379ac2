package import NephosService
import NephosWire
import Synchronization

/// Answers requests: the steps that all routes have in common.
///
/// The steps are, in order: the loopback guard, the route, the method, the size of the body, and the route's own work.
/// Then the headers of every answer are added, and the metrics are updated.
package final class Responder: Sendable {
    let service: NephosService
    let access: any ServerAccess
    let router: Router
    let metrics = Metrics()
    let requestIDs = RequestIDs()
    let recent = RecentRequests()
    let streams: RequestStreams
    let clients = ClientLog()
    private let log: (@Sendable (AnsweredRequest) -> Void)?

    /// - Parameter log: called after every answer, on the thread that answers, so it must not block; nil for no log.
    package init(
        _ service: NephosService, access: Access = .development, log: (@Sendable (AnsweredRequest) -> Void)? = nil
    ) {
        self.service = service
        self.access = access.rules
        router = Router(self.access.hasFaults ? Routes.table + FaultRoutes.table : Routes.table)
        self.log = log
        streams = RequestStreams(recent, service.environment)
        service.sentNotifications.set { [recent, environment = service.environment] sent in
            let now = environment.now()
            guard recent.isWatched(at: now) else { return }
            for entry in AnsweredRequest.entries(of: sent) { recent.note(entry, at: now) }
        }
    }

    /// The answer to a request that is unfinished when the server stops.
    package static var unfinished: HTTPResponse {
        var refusal = Refusal(
            .tryAgainLater, "the server is stopping: whether the request was carried out is not known")
        refusal.retryAfter = 5
        return refusal.response(requestID: RequestIDs().next(), signIn: nil)
    }

    /// Returns the answer to a request that exceeds the memory budget of the server.
    package func busy(_ request: HTTPRequest) -> HTTPResponse {
        let requestID = requestIDs.next()
        var response = Refusal(ServiceError.noRoom).response(requestID: requestID, signIn: nil)
            .withoutUnwantedAdditions(request)
        response.headers.append(HTTPHeader("X-Apple-Request-UUID", requestID))
        // Nothing is looked up for a busy server. A page whose origin is not known reads a network failure.
        if let reader = request.origin, reader != "null", access.installation == nil,
            (try? access.check(request)) != nil
        {
            response.headers += CrossOrigin.headers(allowing: reader)
        }
        return response
    }

    /// Returns the account as which a request is signed in; nil for none. May be wrong, as nothing is read for it.
    package func account(_ request: HTTPRequest) -> String? {
        RequestTarget(request.target).flatMap { access.account(request, $0) }
    }

    package func respond(to request: HTTPRequest) async -> HTTPResponse {
        await respond(to: request, nil, requestID: requestIDs.next())
    }

    /// A request while it is answered.
    private struct Work {
        let request: HTTPRequest
        let requestID: String
        let target: RequestTarget?
        let route: Route?
        /// The details for the log and the status page; nil if neither needs them.
        let details: RequestDetails?
        let skipsSuccesses: Bool
        let timing: RequestTiming
        let start = ContinuousClock.now

        var recorded: Route.Recorded { route?.recorded ?? .all }
    }

    /// - Parameter refusal: the refusal of the request before its body was read; nil for none.
    func respond(to request: HTTPRequest, _ refusal: Refusal?, requestID: String) async -> HTTPResponse {
        let work = begin(request, requestID)
        var reader: String?
        do throws(Refusal) {
            if let problem = request.problem { throw Refusal(.badRequest, problem) }
            try access.check(request)
            if request.origin != nil { reader = await self.reader(work) }
            if let refusal { throw refusal }
            let response = try await work.timing.measure { await answer(work) }.get()
            return finish(response, work, nil, reader: reader)
        } catch let refusal {
            if refusal.isPublic { reader = reader ?? Self.origin(request) }
            let response = await answer(refusal, to: request, work.target, requestID)
            return finish(response, work, refusal, reader: reader)
        }
    }

    private func begin(_ request: HTTPRequest, _ requestID: String) -> Work {
        metrics.began()
        let target = RequestTarget(request.target)
        let route = target.flatMap { router.route($0) }
        let (details, skipsSuccesses) = details(route?.recorded ?? .all) ?? (nil, false)
        return Work(
            request: request, requestID: requestID, target: target, route: route, details: details,
            skipsSuccesses: skipsSuccesses, timing: RequestTiming(client: request.client, requestID: requestID))
    }

    /// Returns the origin of the web page that sends the request; nil for other clients.
    private static func origin(_ request: HTTPRequest) -> String? {
        request.origin.flatMap { $0 == "null" ? nil : $0 }
    }

    /// Returns the origin of the web page that may read the answer; nil for none.
    private func reader(_ work: Work) async -> String? {
        guard let origin = Self.origin(work.request) else { return nil }
        let mayRead = await work.timing.measure { await access.mayRead(origin, work.request, work.target) }
        return mayRead ? origin : nil
    }

    /// Adds to an answer what all of its kind have, counts it and records it.
    private func finish(
        _ response: HTTPResponse, _ work: Work, _ refused: Refusal?, reader: String?
    ) -> HTTPResponse {
        var response = response
        let (request, route) = (work.request, work.route)
        complete(&response, of: request, work.target, route, work.requestID, reader: reader)
        let duration = ContinuousClock.now - work.start
        let stages = work.timing.stages
        metrics.answered(
            route: route?.path ?? "none", status: response.status, error: refused?.code, after: duration, stages)
        let isSuccess = response.status < 400 && work.details?.failedItems == 0
        if work.skipsSuccesses, isSuccess {
            if work.recorded == .all { recent.skip() }
        } else if let details = work.details {
            let entry = Self.entry(request, route, details, refused, response, work.requestID, duration, stages)
            if work.recorded == .all || !isSuccess {
                recent.note(
                    access.recordsBodies ? entry : entry.withoutValues, at: service.environment.now(),
                    recording(details, request, route, response))
            }
            log?(entry)
        }
        return response
    }

    /// Whether a request is recorded, or logged; nil for neither. Recording a request takes a tenth of the time of a
    /// short one, so it starts only when the status page is first viewed.
    private func details(_ recorded: Route.Recorded) -> (details: RequestDetails, skipsSuccesses: Bool)? {
        let now = service.environment.now()
        let isWatched = recent.isWatched(at: now)
        guard log != nil || isWatched, recorded != .none else { return nil }
        let skipsSuccesses = isWatched && log == nil && recent.isOverrun(at: now)
        // A server with a log records every request, so a later reader finds its errors.
        let details = RequestDetails(isWatched: isWatched, isLogged: log != nil, isSummarized: !skipsSuccesses)
        return (details, skipsSuccesses)
    }

    /// Returns the answer to a refused request. Who opens a page, or sends its form, gets a page.
    private func answer(
        _ refusal: Refusal, to request: HTTPRequest, _ target: RequestTarget?, _ requestID: String
    ) async -> HTTPResponse {
        if access.installation != nil, request.isOfPage {
            return refusal.page(requestID: requestID)
        }
        let signIn = refusal.code == .authenticationRequired ? await access.signInURL(request, target) : nil
        return refusal.response(requestID: requestID, signIn: signIn)
    }

    /// Adds to an answer what all of its kind have.
    /// - Parameter reader: the origin of the web page that may read the answer; nil for none.
    private func complete(
        _ response: inout HTTPResponse, of request: HTTPRequest, _ target: RequestTarget?, _ route: Route?,
        _ requestID: String, reader: String?
    ) {
        if target?.isOfProtocol == true || response.status >= 400 {
            response = response.withoutUnwantedAdditions(request)
        }
        response.headers.append(HTTPHeader("X-Apple-Request-UUID", requestID))
        if route?.access == .container, response.status == 200, let target,
            let next = access.nextToken(request, target)
        {
            response.headers.append(HTTPHeader("X-Apple-CloudKit-Web-Auth-Token", next))
        }
        if access.installation != nil { response.addProductionHeaders(request) }
        if route?.changes != true { response.isOutcome = false }
        // Two origins in one answer would be none to a browser.
        if let reader, route?.path != CloudKitJS.path {
            response.headers += CrossOrigin.headers(allowing: reader)
        } else if route?.access == .url {
            response.headers.append(CrossOrigin.vary)
        }
    }

    /// Returns what is recorded of a request besides its entry; nil for nothing. The bodies are recorded in `nephos dev`
    /// alone, and those of routes without credentials.
    private func recording(
        _ details: RequestDetails, _ request: HTTPRequest, _ route: Route?, _ response: HTTPResponse
    ) -> RequestRecording? {
        guard details.keepsFailures else { return nil }
        var recording = RequestRecording(failures: details.failures.map(RequestRecording.FailedItem.init))
        if !access.recordsBodies {
            for index in recording.failures.indices {
                recording.failures[index].reason = RefusedValue.masked(recording.failures[index].reason)
            }
        }
        let isFailed = response.status >= 400 || details.failedItems > 0
        if details.isWatched, access.recordsBodies, route?.hasRecordableBodies == true,
            isFailed || !recent.isBusy(at: service.environment.now())
        {
            recording.request = RequestRecording.Body(request.body)
            recording.answer = RequestRecording.Body(response.parts)
        }
        return recording.isEmpty ? nil : recording
    }

    private static func entry(
        _ request: HTTPRequest, _ route: Route?, _ details: RequestDetails, _ refused: Refusal?,
        _ response: HTTPResponse, _ requestID: String, _ duration: Duration, _ stages: StageDurations
    ) -> AnsweredRequest {
        // The query of a target contains tokens, and so does the path to an asset or a courier. They are not logged.
        let path = route == nil ? withoutSecrets(request.target.prefix { $0 != "?" }) : ""
        return AnsweredRequest(
            requestID: requestID, method: request.method.rawValue,
            endpoint: route?.path ?? path, isRouted: route != nil, isCallerKnown: details.isCallerKnown,
            container: details.container, environment: details.environment, database: details.database,
            account: details.account,
            summary: details.summaries.isEmpty ? nil : details.summaries.joined(separator: " "),
            status: response.status, failedItems: details.failedItems, errorCode: refused?.code.rawValue,
            reason: refused?.reason, duration: duration,
            answerSize: response.parts.reduce(0) { $0 + $1.buffer.count }, stages: stages)
    }

    /// Masks components of an unrouted path that may be secrets, because the path may be a mistyped URL of a share or
    /// an asset.
    private static func withoutSecrets(_ path: Substring) -> String {
        path.split(separator: "/", omittingEmptySubsequences: false)
            .map { $0.utf8.count < secretSize || $0.contains(".") ? $0 : "…" }.joined(separator: "/")
    }

    /// The minimum size in bytes of a path component that is treated as a secret.
    private static let secretSize = 20

    private func answer(_ work: Work) async -> Result<HTTPResponse, Refusal> {
        do throws(Refusal) {
            // This also answers for unknown paths, because a page's script sees the 404 only after a successful preflight.
            if work.request.method == .options { return .success(CrossOrigin.preflight(work.route)) }
            let (request, target, route) = try checked(work)
            let administrator: Administrator? =
                if let right = route.access.right(container: target.container) {
                    try await administrator(request, target, route, right)
                } else {
                    nil
                }
            if let administrator, access.installation != nil {
                work.details?.account = administrator.actor(address: "").name
            }
            return .success(
                try await route.handler(
                    RoutedRequest(
                        responder: self, administrator: administrator, request: request, target: target,
                        requestID: work.requestID, notesClients: recent.notesClients(at: service.environment.now()),
                        details: work.details)))
        } catch {
            return .failure(error)
        }
    }

    /// Returns the request with its body decoded, its target and its route.
    /// - Throws: if there is no such route, if it does not answer the method, or if the body is too large.
    private func checked(_ work: Work) throws(Refusal) -> (HTTPRequest, RequestTarget, Route) {
        var request = work.request
        // The rate of an admitted request's address was counted at its admission.
        if request.bodyLimit == nil { try access.admit(request) }
        guard let target = work.target else {
            throw Refusal(.badRequest, "the path's percent-encoding is not valid UTF-8")
        }
        guard let route = work.route else { throw try unknownPath(target) }
        guard route.answers(request.method) else { throw .methodNotAllowed(route.allowedMethods) }
        let limit = min(route.bodyLimit, request.bodyLimit ?? .max)
        if request.bodyIsTooLarge { throw .bodyTooLarge(limit: limit) }
        request.signature?.setBody(request.body)
        request = try request.decoded(limit: limit)
        if request.body.count > route.bodyLimit { throw .bodyTooLarge(limit: route.bodyLimit) }
        return (request, target, route)
    }

    /// Refuses web pages of other origins than the server's: the administration answers its own pages, and clients that are
    /// no browser.
    func checkOwnPage(_ request: HTTPRequest) throws(Refusal) {
        if let origin = request.origin {
            if origin == access.baseURL(request) { return }
        } else if request.fetchSite == nil || request.fetchSite == "same-origin" || request.fetchSite == "none" {
            return
        }
        throw Refusal(.accessDenied, "the administration answers no web pages of other origins")
    }

    /// Returns the administrator that calls, if the role allows the route. Audits a route that changes a container.
    private func administrator(
        _ request: HTTPRequest, _ target: RequestTarget, _ route: Route, _ right: AdministrationRight
    ) async throws(Refusal) -> Administrator {
        let container = target.container
        try checkOwnPage(request)
        let administrator = try await administrator(request, target, route, right, container)
        if route.access == .view || route.access == .change { try await access.checkExists(container: container) }
        if route.access == .change {
            let place = try AdministrationPath(target.components)
            try await access.audit(route, of: place, by: administrator, request)
        }
        return administrator
    }

    /// Returns the administrator that calls, if the role allows the request. Notes refusals for the audit.
    func administrator(
        _ request: HTTPRequest, _ target: RequestTarget, _ route: Route, _ right: AdministrationRight,
        _ container: String
    ) async throws(Refusal) -> Administrator {
        var administrator: Administrator?
        do throws(Refusal) {
            let caller = try await access.administrator(request, target, isUsed: true)
            administrator = caller
            do throws(ServiceError) {
                try caller.check(right, at: service.environment.now())
            } catch {
                throw Refusal(error)
            }
            return caller
        } catch {
            access.noteRefusal(route, of: container, by: administrator, request)
            throw error
        }
    }

    /// Returns the refusal of an unrouted path. A defect in the path of a database or container is reported ahead of an
    /// unknown action.
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
}

extension RequestTarget {
    /// The container in the path of a route of a container; empty in a shorter path.
    var container: String { components.count > 2 ? components[2] : "" }

    /// Whether the target belongs to CloudKit Web Services, and not to our own routes.
    var isOfProtocol: Bool {
        components.first == DatabasePath.module || components.first == DatabasePath.deviceModule
    }
}

extension HTTPResponse {
    /// Adds the headers of every answer of a production server: caches keep no answer that a token was needed for.
    fileprivate mutating func addProductionHeaders(_ request: HTTPRequest) {
        var added = [HTTPHeader("X-Content-Type-Options", "nosniff"), HTTPHeader("Cache-Control", "no-store")]
        if request.isSecure { added.append(HTTPHeader("Strict-Transport-Security", "max-age=31536000")) }
        headers += added.filter { new in !headers.contains { $0.name == new.name } }
    }

    /// Removes the keys that Apple's service does not have from a JSON answer, unless the client asks for them. An
    /// answer in another format stays as it is, because the client requested that format.
    func withoutUnwantedAdditions(_ request: HTTPRequest) -> HTTPResponse {
        guard !request.takesAdditions,
            headers.contains(where: { $0.name == "Content-Type" && $0.value.hasPrefix("application/json") })
        else { return self }
        var response = self
        response.parts = AnswerAdditions.removed(from: parts)
        return response
    }
}
