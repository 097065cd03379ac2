import NephosWire

/// Stands where the process's environment does not say where the service is: every request fails and says why.
final class MisconfiguredService: CloudService {
    private let failure: ServiceFailure

    init(_ reason: CloudKitEnvironment.Invalid) {
        failure = .transport(.badContainer, reason.description)
    }

    /// Of a database or container that was not made for one.
    init(noContainerFor what: String) {
        failure = .transport(.badContainer, "This \(what) belongs to no container.")
    }

    var hasAccount: Bool { true }

    func modifyRecords(_: ModifyRecordsRequest, _: ServiceCall) async throws(ServiceFailure) -> RecordsResponse {
        throw failure
    }
    func lookupRecords(_: LookupRecordsRequest, _: ServiceCall) async throws(ServiceFailure) -> RecordsResponse {
        throw failure
    }
    func queryRecords(_: QueryRecordsRequest, _: ServiceCall) async throws(ServiceFailure) -> QueryRecordsResponse {
        throw failure
    }
    func listZones(_: ServiceCall) async throws(ServiceFailure) -> ZonesResponse { throw failure }
    func lookupZones(_: LookupZonesRequest, _: ServiceCall) async throws(ServiceFailure) -> ZonesResponse {
        throw failure
    }
    func modifyZones(_: ModifyZonesRequest, _: ServiceCall) async throws(ServiceFailure) -> ZonesResponse {
        throw failure
    }
    func recordZoneChanges(_: RecordZoneChangesRequest, _: ServiceCall) async throws(ServiceFailure)
        -> RecordZoneChangesResponse
    { throw failure }
    func databaseChanges(_: DatabaseChangesRequest, _: ServiceCall) async throws(ServiceFailure)
        -> DatabaseChangesResponse
    { throw failure }
    func currentUser(_: ServiceCall) async throws(ServiceFailure) -> UserDictionary { throw failure }
    func listSubscriptions(_: ServiceCall) async throws(ServiceFailure) -> SubscriptionsResponse { throw failure }
    func lookupSubscriptions(_: LookupSubscriptionsRequest, _: ServiceCall) async throws(ServiceFailure)
        -> SubscriptionsResponse
    { throw failure }
    func modifySubscriptions(_: ModifySubscriptionsRequest, _: ServiceCall) async throws(ServiceFailure)
        -> SubscriptionsResponse
    { throw failure }
    func createToken(_: TokenRequest, _: ServiceCall) async throws(ServiceFailure) -> TokenResponse { throw failure }
    func registerToken(_: TokenRequest, _: ServiceCall) async throws(ServiceFailure) -> TokenResponse { throw failure }
    func nextNotification(_: TokenResponse, received: String?, _: ServiceCall) async throws(ServiceFailure)
        -> NotificationPayload?
    { throw failure }
}
