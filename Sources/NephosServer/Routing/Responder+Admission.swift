import NephosService
import NephosWire

extension Responder {
    /// Decides about a request whose body is long, or of unknown length, before the body is read: a production server does
    /// not keep the bodies of callers whom the route refuses, and short ones of callers without an account. A request of a
    /// long body counts twice for its account's rate.
    package func admission(_ request: HTTPRequest) async -> Admission {
        let requestID = requestIDs.next()
        do throws(Refusal) {
            try access.check(request)
            try access.admit(request)
            let limit = await RequestTiming(client: request.client, requestID: requestID).measure {
                await limitOfBody(request)
            }
            return .body(limit: try limit.get())
        } catch {
            return .refused(await respond(to: request, error, requestID: requestID))
        }
    }

    private func limitOfBody(_ request: HTTPRequest) async -> Result<Int, Refusal> {
        do throws(Refusal) { return .success(try await bodyLimit(request)) } catch { return .failure(error) }
    }

    /// Returns the maximum size in bytes of a request's body.
    /// - Throws: the refusal of the caller.
    private func bodyLimit(_ request: HTTPRequest) async throws(Refusal) -> Int {
        // Without its body the route refuses such a request.
        guard let target = RequestTarget(request.target), let route = router.route(target),
            route.answers(request.method)
        else { return 0 }
        if let right = route.access.right(container: target.container) {
            try checkOwnPage(request)
            _ = try await administrator(request, target, route, right, target.container)
        }
        guard route.access == .container else { return route.bodyLimit }
        let path = try DatabasePath(target.components)
        guard try await access.hasAccount(request, target, path) else {
            return min(route.bodyLimit, Limits.anonymousBodySize)
        }
        return route.bodyLimit
    }
}
