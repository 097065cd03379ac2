import Foundation
import NephosWire
import Synchronization

/// A service bound to one account: forwards requests until the account changes, and refuses them from then on. Every
/// request of an account passes through this gate, so no work started as one account sends anything after the switch.
///
/// A request in flight at the switch is still answered, because the service may have carried it out; file transfers are
/// cancelled.
final class AccountService: CloudService {
    private struct State: Sendable {
        var hasEnded = false
        /// The file transfers in progress.
        var transfers: [UUID: @Sendable () -> Void] = [:]
    }

    private let service: any CloudService
    private let state = Locked(State())

    init(_ service: any CloudService) { self.service = service }

    /// The failure of work that started as another account. Not `notAuthenticated`, which asks a person to sign in, nor
    /// `accountTemporarilyUnavailable`, after which an app retries: the retry would write into the next account's
    /// database.
    static let accountChanged = ServiceFailure.transport(
        .operationCancelled,
        "Another account was signed in meanwhile, or none: what began as one account does not go on as another.")

    var hasEnded: Bool { state.hasEnded }

    /// Refuses requests from now on, and cancels file transfers.
    func end() {
        let transfers = state.withLock { state in
            state.hasEnded = true
            return Array(state.transfers.values)
        }
        for cancel in transfers { cancel() }
    }

    private func pass<Answer>(
        _ request: (any CloudService) async throws(ServiceFailure) -> Answer
    ) async throws(ServiceFailure) -> Answer {
        if hasEnded { throw Self.accountChanged }
        return try await request(service)
    }

    /// Forwards a long request, and cancels it when the account changes.
    private func transfer<Answer: Sendable>(
        _ request: @escaping @Sendable (any CloudService) async throws(ServiceFailure) -> Answer
    ) async throws(ServiceFailure) -> Answer {
        let id = UUID()
        let begun = state.withLock { state -> Task<Result<Answer, ServiceFailure>, Never>? in
            if state.hasEnded { return nil }
            let task = Task(executorPreference: LibraryExecutor.shared) {
                [service] () -> Result<Answer, ServiceFailure> in
                do throws(ServiceFailure) {
                    return .success(try await request(service))
                } catch {
                    return .failure(error)
                }
            }
            state.transfers[id] = { task.cancel() }
            return task
        }
        guard let task = begun else { throw Self.accountChanged }
        let result = await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        let hasEnded = state.withLock { state in
            state.transfers[id] = nil
            return state.hasEnded
        }
        if case .failure = result, hasEnded { throw Self.accountChanged }
        return try result.get()
    }

    var hasAccount: Bool { service.hasAccount }
    var signInAdvice: String { service.signInAdvice }
    var environmentName: CloudKitEnvironment.Name { service.environmentName }
    var shareURLRoot: String { service.shareURLRoot }
    var mayEscrowKeys: Bool { service.mayEscrowKeys }
    var keyStore: any DeviceKeyStore { service.keyStore }
    var sealsAssets: Bool { service.sealsAssets }
    var assetCacheName: String? { service.assetCacheName }

    func modifyRecords(_ request: ModifyRecordsRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> RecordsResponse
    {
        try await pass { (to) throws(ServiceFailure) in try await to.modifyRecords(request, call) }
    }
    func lookupRecords(_ request: LookupRecordsRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> RecordsResponse
    {
        try await pass { (to) throws(ServiceFailure) in try await to.lookupRecords(request, call) }
    }
    func queryRecords(_ request: QueryRecordsRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> QueryRecordsResponse
    {
        try await pass { (to) throws(ServiceFailure) in try await to.queryRecords(request, call) }
    }
    func listZones(_ call: ServiceCall) async throws(ServiceFailure) -> ZonesResponse {
        try await pass { (to) throws(ServiceFailure) in try await to.listZones(call) }
    }
    func lookupZones(_ request: LookupZonesRequest, _ call: ServiceCall) async throws(ServiceFailure) -> ZonesResponse {
        try await pass { (to) throws(ServiceFailure) in try await to.lookupZones(request, call) }
    }
    func modifyZones(_ request: ModifyZonesRequest, _ call: ServiceCall) async throws(ServiceFailure) -> ZonesResponse {
        try await pass { (to) throws(ServiceFailure) in try await to.modifyZones(request, call) }
    }
    func recordZoneChanges(_ request: RecordZoneChangesRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> RecordZoneChangesResponse
    {
        try await pass { (to) throws(ServiceFailure) in try await to.recordZoneChanges(request, call) }
    }
    func databaseChanges(_ request: DatabaseChangesRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> DatabaseChangesResponse
    {
        try await pass { (to) throws(ServiceFailure) in try await to.databaseChanges(request, call) }
    }
    func resolveShares(_ request: ShortGUIDsRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> RecordInfosResponse
    {
        try await pass { (to) throws(ServiceFailure) in try await to.resolveShares(request, call) }
    }
    func acceptShares(_ request: ShortGUIDsRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> RecordInfosResponse
    {
        try await pass { (to) throws(ServiceFailure) in try await to.acceptShares(request, call) }
    }
    func requestShareAccess(_ request: ShortGUIDsRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> AccessRequestsResponse
    {
        try await pass { (to) throws(ServiceFailure) in try await to.requestShareAccess(request, call) }
    }
    func lookUpParticipants(_ request: UserLookupRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> ParticipantLookupResponse
    {
        try await pass { (to) throws(ServiceFailure) in try await to.lookUpParticipants(request, call) }
    }
    func accountKeys(_ call: ServiceCall) async throws(ServiceFailure) -> AccountKeysResponse {
        try await pass { (to) throws(ServiceFailure) in try await to.accountKeys(call) }
    }
    func enroll(_ request: EnrollRequest, _ call: ServiceCall) async throws(ServiceFailure) -> AccountKeysResponse {
        try await pass { (to) throws(ServiceFailure) in try await to.enroll(request, call) }
    }
    func resetKeys(_ call: ServiceCall) async throws(ServiceFailure) -> AccountKeysResponse {
        try await pass { (to) throws(ServiceFailure) in try await to.resetKeys(call) }
    }
    func lookupKeys(_ request: LookupKeysRequest, _ call: ServiceCall) async throws(ServiceFailure) -> KeysResponse {
        try await pass { (to) throws(ServiceFailure) in try await to.lookupKeys(request, call) }
    }
    func putGroupKey(_ request: PutGroupKeyRequest, _ call: ServiceCall) async throws(ServiceFailure) -> KeysResponse {
        try await pass { (to) throws(ServiceFailure) in try await to.putGroupKey(request, call) }
    }
    func currentUser(_ call: ServiceCall) async throws(ServiceFailure) -> UserDictionary {
        try await pass { (to) throws(ServiceFailure) in try await to.currentUser(call) }
    }
    func assetUploads(_ request: AssetUploadRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> AssetUploadResponse
    {
        try await pass { (to) throws(ServiceFailure) in try await to.assetUploads(request, call) }
    }
    func listSubscriptions(_ call: ServiceCall) async throws(ServiceFailure) -> SubscriptionsResponse {
        try await pass { (to) throws(ServiceFailure) in try await to.listSubscriptions(call) }
    }
    func lookupSubscriptions(_ request: LookupSubscriptionsRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> SubscriptionsResponse
    {
        try await pass { (to) throws(ServiceFailure) in try await to.lookupSubscriptions(request, call) }
    }
    func modifySubscriptions(_ request: ModifySubscriptionsRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> SubscriptionsResponse
    {
        try await pass { (to) throws(ServiceFailure) in try await to.modifySubscriptions(request, call) }
    }
    func createToken(_ request: TokenRequest, _ call: ServiceCall) async throws(ServiceFailure) -> TokenResponse {
        try await pass { (to) throws(ServiceFailure) in try await to.createToken(request, call) }
    }
    func registerToken(_ request: TokenRequest, _ call: ServiceCall) async throws(ServiceFailure) -> TokenResponse {
        try await pass { (to) throws(ServiceFailure) in try await to.registerToken(request, call) }
    }
    func nextNotification(
        _ token: TokenResponse, received: String?, _ call: ServiceCall
    ) async throws(ServiceFailure) -> NotificationPayload? {
        try await pass { (to) throws(ServiceFailure) in
            try await to.nextNotification(token, received: received, call)
        }
    }
    func upload(
        _ content: AssetContent, to address: String, _ call: ServiceCall,
        progress: @escaping @Sendable (Int64) -> Void
    ) async throws(ServiceFailure) -> UploadedFile {
        try await transfer { (to) throws(ServiceFailure) in
            try await to.upload(content, to: address, call, progress: progress)
        }
    }
    func download(
        _ address: String, to file: URL, _ call: ServiceCall, progress: @escaping @Sendable (Int64) -> Void
    ) async throws(ServiceFailure) {
        try await transfer { (to) throws(ServiceFailure) in
            try await to.download(address, to: file, call, progress: progress)
        }
    }
}
