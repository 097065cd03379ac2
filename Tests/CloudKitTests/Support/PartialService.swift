import CloudKit
import Foundation
import NephosWire

/// A stand-in for the service that knows only some requests: the others fail.
protocol PartialService: CloudService {}

extension PartialService {
    private var unknown: ServiceFailure { .transport(.internalError, "The stand-in does not know this request.") }

    var hasAccount: Bool { true }

    func modifyRecords(_: ModifyRecordsRequest, _: ServiceCall) async throws(ServiceFailure) -> RecordsResponse {
        throw unknown
    }
    func lookupRecords(_: LookupRecordsRequest, _: ServiceCall) async throws(ServiceFailure) -> RecordsResponse {
        throw unknown
    }
    func queryRecords(_: QueryRecordsRequest, _: ServiceCall) async throws(ServiceFailure) -> QueryRecordsResponse {
        throw unknown
    }
    func listZones(_: ServiceCall) async throws(ServiceFailure) -> ZonesResponse { throw unknown }
    func lookupZones(_: LookupZonesRequest, _: ServiceCall) async throws(ServiceFailure) -> ZonesResponse {
        throw unknown
    }
    func modifyZones(_: ModifyZonesRequest, _: ServiceCall) async throws(ServiceFailure) -> ZonesResponse {
        throw unknown
    }
    func resolveShares(_: ShortGUIDsRequest, _: ServiceCall) async throws(ServiceFailure) -> RecordInfosResponse {
        throw unknown
    }
    func acceptShares(_: ShortGUIDsRequest, _: ServiceCall) async throws(ServiceFailure) -> RecordInfosResponse {
        throw unknown
    }
    func requestShareAccess(_: ShortGUIDsRequest, _: ServiceCall) async throws(ServiceFailure)
        -> AccessRequestsResponse
    { throw unknown }
    func lookUpParticipants(_: UserLookupRequest, _: ServiceCall) async throws(ServiceFailure)
        -> ParticipantLookupResponse
    { throw unknown }
    var shareURLRoot: String { "https://localhost/share/" }
    func accountKeys(_: ServiceCall) async throws(ServiceFailure) -> AccountKeysResponse { throw unknown }
    func enroll(_: EnrollRequest, _: ServiceCall) async throws(ServiceFailure) -> AccountKeysResponse { throw unknown }
    func resetKeys(_: ServiceCall) async throws(ServiceFailure) -> AccountKeysResponse { throw unknown }
    func lookupKeys(_: LookupKeysRequest, _: ServiceCall) async throws(ServiceFailure) -> KeysResponse { throw unknown }
    func putGroupKey(_: PutGroupKeyRequest, _: ServiceCall) async throws(ServiceFailure) -> KeysResponse {
        throw unknown
    }
    var mayEscrowKeys: Bool { false }
    func currentUser(_: ServiceCall) async throws(ServiceFailure) -> UserDictionary { throw unknown }
    func assetUploads(_: AssetUploadRequest, _: ServiceCall) async throws(ServiceFailure) -> AssetUploadResponse {
        throw unknown
    }
    func upload(
        _: AssetContent, to _: String, _: ServiceCall, progress: @escaping @Sendable (Int64) -> Void
    ) async throws(ServiceFailure) -> UploadedFile { throw unknown }
    func download(
        _: String, to _: URL, _: ServiceCall, progress: @escaping @Sendable (Int64) -> Void
    ) async throws(ServiceFailure) { throw unknown }
    var sealsAssets: Bool { false }
    var assetCacheName: String? { nil }
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
