import NephosService
import NephosWire
import Synchronization

/// The routes for the server's operator: `/`, a page for a browser, and `/status`, the same content in JSON. They are
/// not part of CloudKit Web Services.
enum StatusRoutes {
    static let statusPath = "/status"

    static let table: [Route] = [
        Route([.get], "/", access: .viewInstallation) { _ in
            HTTPResponse(
                status: 200,
                headers: [
                    HTTPHeader("Content-Type", "text/html; charset=UTF-8"),
                    // The page loads nothing from elsewhere and cannot be framed.
                    HTTPHeader(
                        "Content-Security-Policy",
                        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; "
                            + "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"),
                    HTTPHeader("X-Content-Type-Options", "nosniff"), HTTPHeader("Referrer-Policy", "no-referrer"),
                ], body: Array(StatusPage.html.utf8))
        },
        Route([.get], statusPath, access: .viewInstallation) { routed throws(Refusal) in
            routed.recent.isWatched.store(true, ordering: .relaxed)
            let overview: ServiceOverview
            do throws(ServiceError) {
                overview = try await routed.service.overview()
            } catch {
                throw Refusal(error)
            }
            var writer = JSONWriter(reserving: 4096)
            writer.beginObject()
            overview.writeMembers(to: &writer)
            let recent = routed.recent.all
            writer.key("answered")
            writer.int64(Int64(recent.count))
            writer.key("requests")
            writer.beginArray()
            for answered in recent.last { answered.request.write(to: &writer, time: LogTime.text(answered.time)) }
            writer.endArray()
            writer.endObject()
            return .json(writer.finish())
        },
    ]
}
