package import Foundation
package import NephosWire

/// How CloudKit reaches its service: typed requests about one container, as one account or as none.
///
/// `HTTPService` sends them to a server; `CloudKitLocal` answers them in the caller's process.
package protocol CloudService: AnyObject, Sendable {
    /// Whether requests are made as an account. Without one only the public database can be read.
    var hasAccount: Bool { get }
    /// How to sign in, as part of a sentence: for the error of what needs an account where there is none.
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
    /// What a share's URL has in front of its short GUID.
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
    /// Whether the service may be given the account's keys to keep, where it says that it does: one of this machine's own.
    var mayEscrowKeys: Bool { get }

    /// Where devices keep their keys.
    var keyStore: any DeviceKeyStore { get }

    /// users/current
    func currentUser(_ call: ServiceCall) async throws(ServiceFailure) -> UserDictionary

    /// assets/upload
    func assetUploads(_ request: AssetUploadRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> AssetUploadResponse
    /// Sends the bytes of an asset to an address of `assetUploads`.
    /// - Parameter progress: is called with how many bytes were sent.
    func upload(
        _ content: AssetContent, to address: String, _ call: ServiceCall,
        progress: @escaping @Sendable (Int64) -> Void
    ) async throws(ServiceFailure) -> UploadedFile
    /// Writes the file at a `downloadURL` to `file`, which does not exist yet. A part of it may be left after a failure.
    /// - Parameter progress: is called with how many bytes were received.
    func download(
        _ address: String, to file: URL, _ call: ServiceCall, progress: @escaping @Sendable (Int64) -> Void
    ) async throws(ServiceFailure)
    /// Whether files of assets are sealed, where they can be (`CloudKitEnvironment.sealsAssets`).
    var sealsAssets: Bool { get }
    /// What tells the service from others in the cache of files; nil where caching them would gain nothing.
    var assetCacheName: String? { get }

    /// subscriptions/list
    func listSubscriptions(_ call: ServiceCall) async throws(ServiceFailure) -> SubscriptionsResponse
    /// subscriptions/lookup
    func lookupSubscriptions(_ request: LookupSubscriptionsRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> SubscriptionsResponse
    /// subscriptions/modify
    func modifySubscriptions(_ request: ModifySubscriptionsRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> SubscriptionsResponse
    /// tokens/create. The service knows from which client it is asked, so it does not tell that client of its own
    /// changes, and gives it the same token again. The token is the account's, whatever database the call names.
    func createToken(_ request: TokenRequest, _ call: ServiceCall) async throws(ServiceFailure) -> TokenResponse
    /// tokens/register
    func registerToken(_ request: TokenRequest, _ call: ServiceCall) async throws(ServiceFailure) -> TokenResponse
    /// Waits for a notification: one poll of the token's courier. Ends early when the task is cancelled.
    ///
    /// The service keeps a notification until it learns that it arrived: call again at once, with its identifier.
    /// - Parameters:
    ///   - token: what `createToken` or `registerToken` answered.
    ///   - received: the `notificationID` of the notification that the poll before this one gave; nil if it gave none.
    /// - Returns: nil where none came in the time the service holds a poll, which is under a minute.
    func nextNotification(
        _ token: TokenResponse, received: String?, _ call: ServiceCall
    ) async throws(ServiceFailure) -> NotificationPayload?
}

extension CloudService {
    /// Files in the directory that the process's environment names.
    package var keyStore: any DeviceKeyStore {
        FileKeyStore(directory: FileKeyStore.directory(ProcessInfo.processInfo.environment))
    }
    /// What tells the service from others in the names of the store's items.
    package var keyItemName: String { shareURLRoot }

    package var environmentName: CloudKitEnvironment.Name { .development }

    /// A server's: what the process's environment says.
    package var signInAdvice: String {
        "set NEPHOS_TOKEN to the account's token (dev:NAME for a local service), or CloudKitEnvironment.current in code"
    }
}

/// What goes with every request.
package struct ServiceCall: Sendable {
    /// The database the request is about.
    package var scope: CKDatabase.Scope
    /// Seconds the service may stay silent.
    package var requestTimeout: TimeInterval
    /// Seconds the request may take as a whole; nil is no limit.
    package var resourceTimeout: TimeInterval?

    package init(scope: CKDatabase.Scope, requestTimeout: TimeInterval = 60, resourceTimeout: TimeInterval? = nil) {
        self.scope = scope
        self.requestTimeout = requestTimeout
        self.resourceTimeout = resourceTimeout
    }
}

/// Why a request as a whole got no result.
package enum ServiceFailure: Error, Hashable, Sendable {
    /// The service refused it.
    case refused(ErrorDictionary)
    /// It did not get through, or what came back is no answer of the service's: the code a client reports, what
    /// happened in words, and after how many seconds to try again.
    case transport(CKError.Code, String, retryAfter: Double? = nil)
    /// The caller gave it up.
    case cancelled
}
