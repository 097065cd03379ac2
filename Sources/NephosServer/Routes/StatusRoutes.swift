import NephosService
import NephosWire

/// The routes of what the server does, which the dashboard shows: `/status`, the content, and `/status/requests`, the last
/// requests, at once, one of them, or as a stream; and `/status/rights`, which of it the caller may use. They are not part
/// of CloudKit Web Services.
enum StatusRoutes {
    static let statusPath = "/status"
    private static let requestsPath = "/status/requests"
    private static let (requestPath, streamPath) = ("/status/requests/show", "/status/requests/stream")
    private static let rightsPath = "/status/rights"

    /// Whether a request's header `Last-Event-ID` is read.
    static func isStream(target: String) -> Bool { target.hasPrefix(streamPath) }

    static let table: [Route] = [
        Route([.get], statusPath, access: .viewInstallation) { routed throws(Refusal) in try await status(routed) },
        Route([.get], requestsPath, access: .viewInstallation) { routed throws(Refusal) in try requests(routed) },
        Route([.get], requestPath, access: .viewInstallation) { routed throws(Refusal) in try request(routed) },
        Route([.get], streamPath, access: .viewInstallation) { routed throws(Refusal) in try stream(routed) },
        Route([.get], rightsPath, access: .viewOwnRights) { routed in rights(routed) },
    ]

    private static func status(_ routed: RoutedRequest) async throws(Refusal) -> HTTPResponse {
        if !routed.request.isOfMonitoring { routed.recent.watch(at: routed.service.environment.now()) }
        let overview: ServiceOverview
        do throws(ServiceError) {
            overview = try await routed.service.overview(made: routed.access.installation?.containers() ?? [])
        } catch {
            throw Refusal(error)
        }
        var writer = JSONWriter(reserving: 4096)
        writer.beginObject()
        overview.writeMembers(to: &writer)
        if routed.request.isOfMonitoring {
            writer.endObject()
            return .json(writer.finish())
        }
        let recent = routed.recent.last
        writer.key("answered")
        writer.int64(Int64(recent.count))
        writer.key("requests")
        writer.beginArray()
        for answered in recent.requests { answered.request.write(to: &writer, time: LogTime.text(answered.time)) }
        writer.endArray()
        writer.endObject()
        return .json(writer.finish())
    }

    private static func requests(_ routed: RoutedRequest) throws(Refusal) -> HTTPResponse {
        routed.recent.watch(at: routed.service.environment.now())
        let position = try position(routed.target.parameter("after")?.readings.first).map(routed.recent.number)
        let (requests, next, missed) = routed.recent.requests(after: position ?? 0)
        var writer = JSONWriter(reserving: 256 + 512 * requests.count)
        writer.beginObject()
        writer.key("requests")
        writer.requests(requests)
        writer.member("ring", routed.recent.id)
        writer.key("next")
        writer.int64(Int64(next))
        writer.key("missed")
        writer.int64(Int64(missed))
        writer.endObject()
        return .json(writer.finish())
    }

    /// Answers one of the last requests, with what is known of it besides.
    private static func request(_ routed: RoutedRequest) throws(Refusal) -> HTTPResponse {
        routed.recent.watch(at: routed.service.environment.now())
        let id = routed.target.parameter("id")?.readings.first ?? ""
        guard let (answered, recording) = routed.recent.request(id: id) else {
            throw Refusal(
                .notFound,
                "the request is not among the last \(RecentRequests.limit) of this server, of which those that succeed are kept while "
                    + "a dashboard is open: the log has it under its uuid")
        }
        var writer = JSONWriter(reserving: 4096)
        answered.request.write(to: &writer, time: LogTime.text(answered.time), position: answered.position) { writer in
            if let code = answered.request.errorCode.flatMap(ServerErrorCode.init) {
                writer.member("remedy", Remedy.text(code, answered.request.reason ?? ""))
            }
            recording?.write(to: &writer)
            let notifications = routed.recent.notifications(after: answered)
            if !notifications.isEmpty {
                writer.key("notifications")
                writer.requests(notifications)
            }
        }
        return .json(writer.finish())
    }

    /// Answers a stream of the requests after a position; by default of those that come from now on.
    private static func stream(_ routed: RoutedRequest) throws(Refusal) -> HTTPResponse {
        let environment = routed.service.environment
        routed.recent.watch(at: environment.now())
        let last = try position(routed.request.transfer.lastEventID)
        let after = try position(routed.target.parameter("after")?.readings.first)
        let filter = RequestFilter(
            container: routed.target.parameter("container")?.readings.first,
            isFailed: routed.target.parameter("failed")?.readings.first == "1")
        let stream = RequestStream(
            after: (last ?? after).map(routed.recent.number) ?? routed.recent.next, filter,
            reader: routed.administrator?.accountID,
            at: environment.now(), isAllowed: routed.mayStillView)
        guard routed.streams.add(stream) else {
            var refusal = Refusal(
                .tryAgainLater,
                "the server has \(RequestStreams.limit) streams of requests, or the account"
                    + " \(RequestStreams.accountLimit): poll \(requestsPath)")
            refusal.retryAfter = 60
            throw refusal
        }
        var response = HTTPResponse(
            status: 200,
            headers: [
                HTTPHeader("Content-Type", "text/event-stream"), HTTPHeader("Cache-Control", "no-store"),
                // Proxies that gather an answer would delay its events.
                HTTPHeader("X-Accel-Buffering", "no"),
            ])
        response.stream = ResponseStream(stream, offset: 0, length: nil)
        response.whenSent = { [streams = routed.streams] _ in streams.remove(stream) }
        return response
    }

    /// Answers what the caller's roles allow, also in a container, and the containers of single roles. The dashboard has no
    /// controls for anything else.
    private static func rights(_ routed: RoutedRequest) -> HTTPResponse {
        let container = routed.target.parameter("container")?.readings.first ?? ""
        let rights: [(name: String, right: AdministrationRight)] = [
            ("viewInstallation", .viewInstallation), ("change", .change(container: container)),
            ("readPrivateRecords", .readPrivateRecords(container: container)),
        ]
        var writer = JSONWriter(reserving: 128)
        writer.beginObject()
        for (name, right) in rights {
            writer.key(name)
            writer.bool(routed.administrator?.hasRole(for: right) == true)
        }
        writer.key("faults")
        writer.bool(routed.access.hasFaults)
        writer.member("containers", routed.administrator?.containers ?? [])
        writer.endObject()
        return .json(writer.finish())
    }

    private static func position(_ text: String?) throws(Refusal) -> RecentRequests.Position? {
        guard let text else { return nil }
        guard let position = RecentRequests.Position(text) else {
            throw Refusal(
                .badRequest, "'after' is the number of a request, or the ring, '-' and the number",
                clientCode: .invalidArguments)
        }
        return position
    }
}

extension RoutedRequest {
    /// Returns whether the caller of a route of the installation still has the right to see it.
    fileprivate var mayStillView: @Sendable () async -> Bool {
        { [access, request, target, service] in
            do {
                let caller = try await access.administrator(request, target, isUsed: false)
                try caller.check(.viewInstallation, at: service.environment.now())
                return true
            } catch {
                return false
            }
        }
    }
}

extension RequestRecording {
    /// Writes the members of a recording: the errors of the request's items, and the bodies.
    fileprivate func write(to writer: inout JSONWriter) {
        writer.key("failures")
        writer.beginArray()
        for failure in failures {
            writer.beginObject()
            writer.member("name", failure.name)
            writer.member("serverErrorCode", failure.code.rawValue)
            writer.member("reason", failure.reason)
            writer.member("remedy", Remedy.text(failure.code, failure.reason))
            writer.endObject()
        }
        writer.endArray()
        if let request {
            writer.member("requestBody", String(decoding: request.start, as: UTF8.self))
            writer.key("requestBodySize")
            writer.int64(Int64(request.size))
        }
        if let answer {
            writer.member("answerBody", String(decoding: answer.start, as: UTF8.self))
            writer.key("answerBodySize")
            writer.int64(Int64(answer.size))
        }
    }
}
