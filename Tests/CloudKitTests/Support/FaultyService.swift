import Foundation
import NephosWire
import Synchronization

@testable import CloudKit

/// Passes requests on to another service, except where a test wants something to go wrong.
final class FaultyService: CloudService {
    /// What happens to one request.
    enum Fate: Sendable {
        case passes
        /// It does not get there.
        case fails(ServiceFailure)
        /// It gets there, but its answer does not come back.
        case losesAnswer(ServiceFailure)
    }

    /// The service behind; another account's after a switch.
    let target: Box<any CloudService>
    /// Asked before every request, with its path.
    let fate: Box<@Sendable (String) async -> Fate>
    /// Called with what the service answered, whether or not the answer gets back.
    let afterModifyingRecords = Box<@Sendable (ModifyRecordsRequest, RecordsResponse) -> Void>({ _, _ in })
    let afterModifyingZones = Box<@Sendable (ModifyZonesRequest, ZonesResponse) -> Void>({ _, _ in })

    init(_ container: CKContainer, fate: @escaping @Sendable (String) async -> Fate = { _ in .passes }) {
        target = Box(container.session.service)
        self.fate = Box(fate)
    }

    var container: CKContainer {
        CKContainer(identifier: "iCloud.test", service: self, environment: SyncEngineEnvironment(sleep: { _ in }))
    }
    var hasAccount: Bool { target.value.hasAccount }

    private func pass<Answer>(
        _ path: String, _ request: (any CloudService) async throws(ServiceFailure) -> Answer
    ) async throws(ServiceFailure) -> Answer {
        switch await fate.value(path) {
        case .passes: return try await request(target.value)
        case .fails(let failure): throw failure
        case .losesAnswer(let failure):
            _ = try await request(target.value)
            throw failure
        }
    }

    func modifyRecords(_ request: ModifyRecordsRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> RecordsResponse
    {
        try await pass("records/modify") { (to) throws(ServiceFailure) in
            let response = try await to.modifyRecords(request, call)
            afterModifyingRecords.value(request, response)
            return response
        }
    }
    func lookupRecords(_ request: LookupRecordsRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> RecordsResponse
    { try await pass("records/lookup") { (to) throws(ServiceFailure) in try await to.lookupRecords(request, call) } }
    func queryRecords(_ request: QueryRecordsRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> QueryRecordsResponse
    { try await pass("records/query") { (to) throws(ServiceFailure) in try await to.queryRecords(request, call) } }
    func resolveShares(_ request: ShortGUIDsRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> RecordInfosResponse
    { try await pass("records/resolve") { (to) throws(ServiceFailure) in try await to.resolveShares(request, call) } }
    func acceptShares(_ request: ShortGUIDsRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> RecordInfosResponse
    { try await pass("records/accept") { (to) throws(ServiceFailure) in try await to.acceptShares(request, call) } }
    func requestShareAccess(_ request: ShortGUIDsRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> AccessRequestsResponse
    {
        try await pass("records/requestAccess") { (to) throws(ServiceFailure) in
            try await to.requestShareAccess(request, call)
        }
    }
    func lookUpParticipants(_ request: UserLookupRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> ParticipantLookupResponse
    {
        try await pass("users/participants") { (to) throws(ServiceFailure) in
            try await to.lookUpParticipants(request, call)
        }
    }
    var shareURLRoot: String { "https://localhost/share/" }
    func listZones(_ call: ServiceCall) async throws(ServiceFailure) -> ZonesResponse {
        try await pass("zones/list") { (to) throws(ServiceFailure) in try await to.listZones(call) }
    }
    func lookupZones(_ request: LookupZonesRequest, _ call: ServiceCall) async throws(ServiceFailure) -> ZonesResponse {
        try await pass("zones/lookup") { (to) throws(ServiceFailure) in try await to.lookupZones(request, call) }
    }
    func modifyZones(_ request: ModifyZonesRequest, _ call: ServiceCall) async throws(ServiceFailure) -> ZonesResponse {
        try await pass("zones/modify") { (to) throws(ServiceFailure) in
            let response = try await to.modifyZones(request, call)
            afterModifyingZones.value(request, response)
            return response
        }
    }
    func recordZoneChanges(_ request: RecordZoneChangesRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> RecordZoneChangesResponse
    { try await pass("changes/zone") { (to) throws(ServiceFailure) in try await to.recordZoneChanges(request, call) } }
    func databaseChanges(_ request: DatabaseChangesRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> DatabaseChangesResponse
    {
        try await pass("changes/database") { (to) throws(ServiceFailure) in try await to.databaseChanges(request, call)
        }
    }
    func currentUser(_ call: ServiceCall) async throws(ServiceFailure) -> UserDictionary {
        try await pass("users/current") { (to) throws(ServiceFailure) in try await to.currentUser(call) }
    }
    func assetUploads(_ request: AssetUploadRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> AssetUploadResponse
    { try await pass("assets/upload") { (to) throws(ServiceFailure) in try await to.assetUploads(request, call) } }
    func upload(
        _ file: URL, size: Int64, to address: String, _ call: ServiceCall,
        progress: @escaping @Sendable (Int64) -> Void
    ) async throws(ServiceFailure) -> UploadedFile {
        try await pass("upload") { (to) throws(ServiceFailure) in
            try await to.upload(file, size: size, to: address, call, progress: progress)
        }
    }
    func download(
        _ address: String, to file: URL, _ call: ServiceCall, progress: @escaping @Sendable (Int64) -> Void
    ) async throws(ServiceFailure) {
        try await pass("download") { (to) throws(ServiceFailure) in
            try await to.download(address, to: file, call, progress: progress)
        }
    }
    var assetCacheName: String? { target.value.assetCacheName }
    func listSubscriptions(_ call: ServiceCall) async throws(ServiceFailure) -> SubscriptionsResponse {
        try await pass("subscriptions/list") { (to) throws(ServiceFailure) in try await to.listSubscriptions(call) }
    }
    func lookupSubscriptions(_ request: LookupSubscriptionsRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> SubscriptionsResponse
    {
        try await pass("subscriptions/lookup") { (to) throws(ServiceFailure) in
            try await to.lookupSubscriptions(request, call)
        }
    }
    func modifySubscriptions(_ request: ModifySubscriptionsRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> SubscriptionsResponse
    {
        try await pass("subscriptions/modify") { (to) throws(ServiceFailure) in
            try await to.modifySubscriptions(request, call)
        }
    }
    func createToken(_ request: TokenRequest, _ call: ServiceCall) async throws(ServiceFailure) -> TokenResponse {
        try await pass("tokens/create") { (to) throws(ServiceFailure) in try await to.createToken(request, call) }
    }
    func registerToken(_ request: TokenRequest, _ call: ServiceCall) async throws(ServiceFailure) -> TokenResponse {
        try await pass("tokens/register") { (to) throws(ServiceFailure) in try await to.registerToken(request, call) }
    }
    func nextNotification(_ token: TokenResponse, received: String?, _ call: ServiceCall) async throws(ServiceFailure)
        -> NotificationPayload?
    {
        try await pass("courier") { (to) throws(ServiceFailure) in
            try await to.nextNotification(token, received: received, call)
        }
    }
}
