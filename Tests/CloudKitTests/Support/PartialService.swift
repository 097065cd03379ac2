import CloudKit
import NephosWire

/// A stand-in for the service that knows only some requests: the others fail.
protocol PartialService: CloudService {}

extension PartialService {
    private var unknown: ServiceFailure { .transport(.internalError, "The stand-in does not know this request.") }

    func recordZoneChanges(_: RecordZoneChangesRequest, _: ServiceCall) async throws(ServiceFailure)
        -> RecordZoneChangesResponse
    { throw unknown }
    func databaseChanges(_: DatabaseChangesRequest, _: ServiceCall) async throws(ServiceFailure)
        -> DatabaseChangesResponse
    { throw unknown }
    func listSubscriptions(_: ServiceCall) async throws(ServiceFailure) -> SubscriptionsResponse { throw unknown }
    func lookupSubscriptions(_: LookupSubscriptionsRequest, _: ServiceCall) async throws(ServiceFailure)
        -> SubscriptionsResponse
    { throw unknown }
    func modifySubscriptions(_: ModifySubscriptionsRequest, _: ServiceCall) async throws(ServiceFailure)
        -> SubscriptionsResponse
    { throw unknown }
    func createToken(_: TokenRequest, _: ServiceCall) async throws(ServiceFailure) -> TokenResponse { throw unknown }
    func registerToken(_: TokenRequest, _: ServiceCall) async throws(ServiceFailure) -> TokenResponse { throw unknown }
    func nextNotification(_: TokenResponse, received: String?, _: ServiceCall) async throws(ServiceFailure)
        -> NotificationPayload?
    { throw unknown }
}
