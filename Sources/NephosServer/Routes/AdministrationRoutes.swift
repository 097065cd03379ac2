import NephosService
import NephosWire

/// The routes of an administrator, `/nephos/1/{container}/{environment}/{entity}/{action}`. They are not part of
/// CloudKit Web Services.
enum AdministrationRoutes {
    static let table: [Route] = [
        .administration("/nephos/accounts/list", .view, NephosService.listAccounts),
        .administration("/nephos/accounts/delete", .change, NephosService.deleteAccount),
        .administration("/nephos/zones/list", .view, NephosService.listAccountZones),
        .administration("/nephos/zones/remove", .change, NephosService.removeZones(_:_:)),
        .administration("/nephos/deletions/forget", .change, NephosService.forgetDeletions(_:_:)),
        .administration("/nephos/records/list", .view, NephosService.listRecords),
        .administration("/nephos/records/show", .view, NephosService.showRecord),
        .administration("/nephos/records/find", .view, NephosService.findRecords),
        .administration("/nephos/queries/explain", .view, NephosService.explainQuery),
        .administration("/nephos/shares/list", .view, NephosService.listShares),
        .administration("/nephos/access/explain", .view, NephosService.explainAccess),
        .administration("/nephos/roles/list", .view, NephosService.listRoles),
        .administration("/nephos/roles/assign", .change, NephosService.assignRole),
        .administration("/nephos/roles/revoke", .change, NephosService.revokeRole),
    ]
}

extension Route {
    static func administration<Request: WireMessage & Sendable, Response: WireMessage & Sendable>(
        _ path: String, _ access: RouteAccess,
        _ call: @escaping @Sendable (NephosService) -> (Request, RequestContext) async throws(ServiceError) -> Response
    ) -> Route {
        Route([.post], path, access: access) { routed throws(Refusal) in
            let place = try AdministrationPath(routed.target.components)
            var context = RequestContext(
                container: place.container, environment: place.environment, scope: .public, account: nil,
                requestID: routed.requestID)
            context.baseURL = routed.access.baseURL(routed.request)
            context.isContainerKnown = routed.access.installation != nil
            let message: Request
            do throws(WireError) {
                message = try Request(decoding: routed.request.body)
            } catch {
                throw Refusal(error)
            }
            do throws(ServiceError) {
                return try await routed.withResolvedAccounts(message, of: context.container) {
                    [context] (message) async throws(ServiceError) in
                    try await routed.checkReads(message, of: place, route: path)
                    let answer = try await routed.withSignInNames(try await call(routed.service)(message, context))
                    return .json(
                        try await routed.withVisibleShares(answer, in: place, route: path).encoded())
                }
            } catch {
                throw Refusal(error)
            }
        }
    }
}
