package import Foundation
package import NephosWire

/// CloudKit's interface to its service: typed requests about one container, as one account or as none.
///
/// `HTTPService` sends them to a server; `CloudKitLocal` answers them in the caller's process.
package protocol CloudService: AnyObject, Sendable {
    /// Whether requests are made as an account. Without one only the public database can be read.
    var hasAccount: Bool { get }
    /// How to sign in, as part of a sentence in the error for requests that need an account.
    var signInAdvice: String { get }
    /// The container's environment.
    var environmentName: CloudKitEnvironment.Name { get }

    /// records/modify
    func modifyRecords(_ request: ModifyRecordsRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> RecordsResponse
    /// records/lookup
    func lookupRecords(_ request: LookupRecordsRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> RecordsResponse
    /// records/query
    func queryRecords(_ request: QueryRecordsRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> QueryRecordsResponse
    /// zones/list
    func listZones(_ call: ServiceCall) async throws(ServiceFailure) -> ZonesResponse
    /// zones/lookup
    func lookupZones(_ request: LookupZonesRequest, _ call: ServiceCall) async throws(ServiceFailure) -> ZonesResponse
    /// zones/modify
    func modifyZones(_ request: ModifyZonesRequest, _ call: ServiceCall) async throws(ServiceFailure) -> ZonesResponse
    /// changes/zone
    func recordZoneChanges(_ request: RecordZoneChangesRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> RecordZoneChangesResponse
    /// changes/database
    func databaseChanges(_ request: DatabaseChangesRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> DatabaseChangesResponse
    /// records/resolve
    func resolveShares(_ request: ShortGUIDsRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> RecordInfosResponse
    /// records/accept
    func acceptShares(_ request: ShortGUIDsRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> RecordInfosResponse
    /// records/requestAccess
    func requestShareAccess(_ request: ShortGUIDsRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> AccessRequestsResponse
    /// users/participants
    func lookUpParticipants(_ request: UserLookupRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> ParticipantLookupResponse
    /// The part of a share's URL before its short GUID.
    var shareURLRoot: String { get }
    /// keys/account
    func accountKeys(_ call: ServiceCall) async throws(ServiceFailure) -> AccountKeysResponse
    /// keys/enroll
    func enroll(_ request: EnrollRequest, _ call: ServiceCall) async throws(ServiceFailure) -> AccountKeysResponse
    /// keys/reset
    func resetKeys(_ call: ServiceCall) async throws(ServiceFailure) -> AccountKeysResponse
    /// keys/lookup
    func lookupKeys(_ request: LookupKeysRequest, _ call: ServiceCall) async throws(ServiceFailure) -> KeysResponse
    /// keys/group
    func putGroupKey(_ request: PutGroupKeyRequest, _ call: ServiceCall) async throws(ServiceFailure) -> KeysResponse
    /// Whether a service that offers to escrow the account's keys may have them: only a service on this machine may.
    var mayEscrowKeys: Bool { get }

    /// The key store of the devices.
    var keyStore: any DeviceKeyStore { get }

    /// users/current
    func currentUser(_ call: ServiceCall) async throws(ServiceFailure) -> UserDictionary

    /// assets/upload
    func assetUploads(_ request: AssetUploadRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> AssetUploadResponse
    /// Sends the bytes of an asset to an address of `assetUploads`.
    /// - Parameter progress: called with the number of bytes sent.
    func upload(
        _ content: AssetContent, to address: String, _ call: ServiceCall,
        progress: @escaping @Sendable (Int64) -> Void
    ) async throws(ServiceFailure) -> UploadedFile
    /// Downloads the file at a `downloadURL` to `file`, which must not exist yet. A failure may leave a partial file.
    /// - Parameter progress: called with the number of bytes received.
    func download(
        _ address: String, to file: URL, _ call: ServiceCall, progress: @escaping @Sendable (Int64) -> Void
    ) async throws(ServiceFailure)
    /// Whether asset files are sealed, if possible (`CloudKitEnvironment.sealsAssets`).
    var sealsAssets: Bool { get }
    /// A name that distinguishes the service in the file cache; nil if caching has no benefit.
    var assetCacheName: String? { get }

    /// subscriptions/list
    func listSubscriptions(_ call: ServiceCall) async throws(ServiceFailure) -> SubscriptionsResponse
    /// subscriptions/lookup
    func lookupSubscriptions(_ request: LookupSubscriptionsRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> SubscriptionsResponse
    /// subscriptions/modify
    func modifySubscriptions(_ request: ModifySubscriptionsRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> SubscriptionsResponse
    /// tokens/create. The service identifies the calling client, so it does not notify that client of its own changes,
    /// and returns the same token again. The token belongs to the account, whatever database the call names.
    func createToken(_ request: TokenRequest, _ call: ServiceCall) async throws(ServiceFailure) -> TokenResponse
    /// tokens/register
    func registerToken(_ request: TokenRequest, _ call: ServiceCall) async throws(ServiceFailure) -> TokenResponse
    /// Waits for a notification: one poll of the token's courier. Returns early if the task is cancelled.
    ///
    /// The service keeps a notification until it is acknowledged: call again at once, with its identifier.
    /// - Parameters:
    ///   - token: the response of `createToken` or `registerToken`.
    ///   - received: the `notificationID` that the previous poll returned; nil if it returned none.
    /// - Returns: nil if none arrived while the service held the poll, which is under a minute.
    func nextNotification(
        _ token: TokenResponse, received: String?, _ call: ServiceCall
    ) async throws(ServiceFailure) -> NotificationPayload?
}

extension CloudService {
    /// Files in the directory given by the process's environment.
    package var keyStore: any DeviceKeyStore {
        FileKeyStore(directory: FileKeyStore.directory(ProcessInfo.processInfo.environment))
    }
    /// Distinguishes the service in the names of the store's items.
    package var keyItemName: String { shareURLRoot }

    package var environmentName: CloudKitEnvironment.Name { .development }

    /// The advice for a server: the settings of the process's environment.
    package var signInAdvice: String {
        "set NEPHOS_TOKEN to the account's token (dev:NAME for a local service), or CloudKitEnvironment.current in code"
    }
}

/// The parameters of every request.
package struct ServiceCall: Sendable {
    /// The database the request is about.
    package var scope: CKDatabase.Scope
    /// Seconds for which the service may stay silent.
    package var requestTimeout: TimeInterval
    /// Seconds for the whole request; nil means no limit.
    package var resourceTimeout: TimeInterval?

    package init(scope: CKDatabase.Scope, requestTimeout: TimeInterval = 60, resourceTimeout: TimeInterval? = nil) {
        self.scope = scope
        self.requestTimeout = requestTimeout
        self.resourceTimeout = resourceTimeout
    }
}

/// The reason a whole request failed.
package enum ServiceFailure: Error, Hashable, Sendable {
    /// The service refused the request.
    case refused(ErrorDictionary)
    /// The request did not get through, or the response is not the service's: the client's error code, a description,
    /// and the seconds after which to retry.
    case transport(CKError.Code, String, retryAfter: Double? = nil)
    /// The caller cancelled the request.
    case cancelled
}
