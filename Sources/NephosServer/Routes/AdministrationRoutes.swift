import NephosService
import NephosWire

/// The routes of an administrator, `/nephos/1/{container}/{environment}/{entity}/{action}`. They are not part of
/// CloudKit Web Services.
enum AdministrationRoutes {
    static let table: [Route] = [
        .administration("/nephos/accounts/list", NephosService.listAccounts),
        .administration("/nephos/accounts/delete", NephosService.deleteAccount),
        .administration("/nephos/zones/list", NephosService.listAccountZones),
        .administration("/nephos/zones/remove", NephosService.removeZones(_:_:)),
        .administration("/nephos/deletions/forget", NephosService.forgetDeletions(_:_:)),
        .administration("/nephos/shares/list", NephosService.listShares),
        .administration("/nephos/access/explain", NephosService.explainAccess),
        .administration("/nephos/roles/list", NephosService.listRoles),
        .administration("/nephos/roles/assign", NephosService.assignRole),
        .administration("/nephos/roles/revoke", NephosService.revokeRole),
    ]
}

extension Route {
    fileprivate static func administration<Request: WireMessage & Sendable, Response: WireMessage & Sendable>(
        _ path: String,
        _ call: @escaping @Sendable (NephosService) -> (Request, RequestContext) async throws(ServiceError) -> Response
    ) -> Route {
        Route([.post], path) { routed throws(Refusal) in
            let path = try AdministrationPath(routed.target.components)
            let context = RequestContext(
                container: path.container, environment: path.environment, scope: .public, account: nil,
                requestID: routed.requestID)
            let message: Request
            do throws(WireError) {
                message = try Request(decoding: routed.request.body)
            } catch {
                throw Refusal(error)
            }
            do throws(ServiceError) {
                return .json(try await call(routed.service)(message, context).encoded())
            } catch {
                throw Refusal(error)
            }
        }
    }
}
