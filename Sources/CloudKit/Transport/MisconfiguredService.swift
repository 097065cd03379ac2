import Foundation
import NephosWire

/// A placeholder for an invalid service address in the process's environment: every request fails with the reason.
final class MisconfiguredService: CloudService {
    private let failure: ServiceFailure

    init(_ reason: CloudKitEnvironment.Invalid) {
        failure = .transport(.badContainer, reason.description)
    }

    /// For a database or container object created without a container.
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
    func resolveShares(_: ShortGUIDsRequest, _: ServiceCall) async throws(ServiceFailure) -> RecordInfosResponse {
        throw failure
    }
    func acceptShares(_: ShortGUIDsRequest, _: ServiceCall) async throws(ServiceFailure) -> RecordInfosResponse {
        throw failure
    }
    func requestShareAccess(_: ShortGUIDsRequest, _: ServiceCall) async throws(ServiceFailure)
        -> AccessRequestsResponse
    { throw failure }
    func lookUpParticipants(_: UserLookupRequest, _: ServiceCall) async throws(ServiceFailure)
        -> ParticipantLookupResponse
    { throw failure }
    var shareURLRoot: String { "" }
    func accountKeys(_: ServiceCall) async throws(ServiceFailure) -> AccountKeysResponse { throw failure }
    func enroll(_: EnrollRequest, _: ServiceCall) async throws(ServiceFailure) -> AccountKeysResponse { throw failure }
    func resetKeys(_: ServiceCall) async throws(ServiceFailure) -> AccountKeysResponse { throw failure }
    func lookupKeys(_: LookupKeysRequest, _: ServiceCall) async throws(ServiceFailure) -> KeysResponse { throw failure }
    func putGroupKey(_: PutGroupKeyRequest, _: ServiceCall) async throws(ServiceFailure) -> KeysResponse {
        throw failure
    }
    var mayEscrowKeys: Bool { false }
    func currentUser(_: ServiceCall) async throws(ServiceFailure) -> UserDictionary { throw failure }
    func assetUploads(_: AssetUploadRequest, _: ServiceCall) async throws(ServiceFailure) -> AssetUploadResponse {
        throw failure
    }
    func upload(
        _: AssetContent, to _: String, _: ServiceCall, progress: @escaping @Sendable (Int64) -> Void
    ) async throws(ServiceFailure) -> UploadedFile { throw failure }
    func download(
        _: String, to _: URL, _: ServiceCall, progress: @escaping @Sendable (Int64) -> Void
    ) async throws(ServiceFailure) { throw failure }
    var sealsAssets: Bool { false }
    var assetCacheName: String? { nil }
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
