import NephosService
import NephosWire

/// The route by which an administrator of a production server saves public records, as its own account. The grants of the
/// schema hold for it as for every account. Nobody acts as another account.
enum OwnRecordRoutes {
    static let table: [Route] = [
        Route([.post], "/nephos/records/modify", bodyLimit: Limits.requestBodySize, access: .change) {
            routed throws(Refusal) in
            guard case .account(let account, _, _)? = routed.administrator else {
                throw Refusal(
                    .badRequest,
                    "the route saves as the administrator's own account: sign in as one, or save by "
                        + "the database's endpoint", clientCode: .invalidArguments)
            }
            let place = try AdministrationPath(routed.target.components)
            var context = RequestContext(
                container: place.container, environment: place.environment, scope: .public, account: account,
                requestID: routed.requestID)
            context.baseURL = routed.access.baseURL(routed.request)
            context.takesEncodedRecords = true
            let message = try await routed.decodedBody(of: account) { body throws(WireError) in
                try ModifyRecordsRequest(decoding: body)
            }
            routed.details?.note(message)
            do throws(ServiceError) {
                return routed.answer(try await routed.service.modifyRecords(message, context))
            } catch {
                throw Refusal(error)
            }
        }
    ]
}
