import Glibc
import NephosService
import NephosWire

/// What a production server answers on a listener of its own, without a sign-in: its metrics and its state. Who reaches the
/// listener reads them, so it is for the network of the monitoring. Web pages read nothing there.
package struct MetricsListener: Sendable {
    private static let paths: Set = ["/metrics", "/status", "/ready", "/health"]

    private let responder: Responder

    /// The options of its HTTP server, which has few clients.
    package static var options: HTTPServer.Options {
        var options = HTTPServer.Options()
        (options.threads, options.connectionLimit) = (2, 64)
        options.unfinished = Responder.unfinished
        return options
    }

    package init(_ responder: Responder) { self.responder = responder }

    package func respond(to request: HTTPRequest) async -> HTTPResponse {
        do throws(Refusal) {
            try Self.check(request)
        } catch {
            return error.response(requestID: RequestIDs().next(), signIn: nil)
        }
        // The administration answers the server's user.
        var own = HTTPRequest(method: request.method, target: request.target, host: "localhost")
        (own.localUser, own.problem, own.isOfMonitoring) = (geteuid(), request.problem, true)
        return await responder.respond(to: own)
    }

    private static func check(_ request: HTTPRequest) throws(Refusal) {
        guard paths.contains(String(request.target.prefix { $0 != "?" })) else { throw .noHandler }
        guard [.get, .head].contains(request.method) else { throw .methodNotAllowed("GET, HEAD") }
        guard request.origin == nil, request.fetchSite == nil || request.fetchSite == "none" else {
            throw Refusal(.accessDenied, "the metrics are for no web page")
        }
        // What says no more than whether the server runs needs no name. Health checks send any `Host`, or none.
        if ["/ready", "/health"].contains(request.target.prefix { $0 != "?" }) { return }
        // A page elsewhere reaches the listener by a domain name that resolves to it (DNS rebinding).
        if let host = request.host, !isLocalName(host) {
            throw Refusal(
                .accessDenied, "the metrics are at the listener's IP address, or at a name without a dot: use that")
        }
    }

    /// Whether an authority is an IP address, or a name that is no domain's.
    private static func isLocalName(_ authority: String) -> Bool {
        if authority.hasPrefix("[") {
            let address = authority.dropFirst().prefix { $0 != "]" }
            return address.contains(":") && IPAddress(address) != nil
        }
        let host = authority.prefix { $0 != ":" }
        return !host.isEmpty && (!host.contains(".") || IPAddress(host) != nil)
    }
}
