import NephosService
import NephosWire
import Synchronization

/// The routes of what the server does, which the dashboard shows: `/status`, the content, and `/status/requests`, the last
/// requests. They are not part of CloudKit Web Services.
enum StatusRoutes {
    private static let (statusPath, requestsPath) = ("/status", "/status/requests")

    /// Whether a route reads the recent requests. Its own requests are not recorded.
    static func isStatus(_ route: Route) -> Bool { route.path == statusPath || route.path == requestsPath }

    static let table: [Route] = [
        Route([.get], statusPath, access: .viewInstallation) { routed throws(Refusal) in
            routed.recent.watch(at: routed.service.environment.now())
            let overview: ServiceOverview
            do throws(ServiceError) {
                overview = try await routed.service.overview()
            } catch {
                throw Refusal(error)
            }
            var writer = JSONWriter(reserving: 4096)
            writer.beginObject()
            overview.writeMembers(to: &writer)
            let recent = routed.recent.last
            writer.key("answered")
            writer.int64(Int64(recent.count))
            writer.key("requests")
            writer.beginArray()
            for answered in recent.requests { answered.request.write(to: &writer, time: LogTime.text(answered.time)) }
            writer.endArray()
            writer.endObject()
            return .json(writer.finish())
        },
        Route([.get], requestsPath, access: .viewInstallation) { routed throws(Refusal) in
            routed.recent.watch(at: routed.service.environment.now())
            let text = routed.target.parameter("after")?.readings.first ?? "0"
            guard let position = Int(text), position >= 0 else {
                throw Refusal(.badRequest, "'after' is the number of a request", clientCode: .invalidArguments)
            }
            let (requests, next, missed) = routed.recent.requests(after: position)
            var writer = JSONWriter(reserving: 256 + 512 * requests.count)
            writer.beginObject()
            writer.key("requests")
            writer.beginArray()
            for (position, answered) in requests {
                answered.request.write(to: &writer, time: LogTime.text(answered.time), position: position)
            }
            writer.endArray()
            writer.key("next")
            writer.int64(Int64(next))
            writer.key("missed")
            writer.int64(Int64(missed))
            writer.endObject()
            return .json(writer.finish())
        },
    ]
}
