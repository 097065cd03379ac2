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

    /// What a hostile service makes of the fields of the records that it answers with; nil leaves them as they are.
    let changingRecords = Box<(@Sendable (String, inout RecordFields) -> Void)?>(nil)
    /// What it makes of its answers about keys.
    let changingAccountKeys = Box<@Sendable (AccountKeysResponse) -> AccountKeysResponse>({ $0 })
    let changingKeys = Box<@Sendable (KeysResponse) -> KeysResponse>({ $0 })
    /// What it makes of the files that it sends.
    let changingFiles = Box<(@Sendable (URL) throws -> Void)?>(nil)
    /// Whether clients seal assets.
    let seals = Box(true)
    /// Whether it may be given keys to keep, and the directory of the device's own.
    let mayEscrow = Box(true)
    let keysIn = Box<String?>(nil)

    init(_ container: CKContainer, fate: @escaping @Sendable (String) async -> Fate = { _ in .passes }) {
        target = Box(container.session.service)
        self.fate = Box(fate)
    }

    var container: CKContainer {
        CKContainer(identifier: "iCloud.test", service: self, environment: SyncEngineEnvironment(sleep: { _ in }))
    }
    var hasAccount: Bool { target.value.hasAccount }

    /// A container of that name, where it matters which it is.
    func container(named name: String) -> CKContainer {
        CKContainer(identifier: name, service: self, environment: SyncEngineEnvironment(sleep: { _ in }))
    }

    private func changed(_ results: [RecordResult]) -> [RecordResult] {
        guard let change = changingRecords.value else { return results }
        func changed(_ record: RecordDictionary) -> RecordDictionary {
            guard var fields = try? record.fields.decoded() else { return record }
            change(record.recordName, &fields)
            var record = record
            record.fields = fields.encoded()
            return record
        }
        return results.map { result in
            switch result {
            case .record(let record): return .record(changed(record))
            case .deleted: return result
            case .failure(var error):
                error.serverRecord = error.serverRecord.map(changed)
                return .failure(error)
            }
        }
    }

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
            var response = try await to.modifyRecords(request, call)
            response.records = changed(response.records)
            afterModifyingRecords.value(request, response)
            return response
        }
    }
    func lookupRecords(_ request: LookupRecordsRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> RecordsResponse
    {
        try await pass("records/lookup") { (to) throws(ServiceFailure) in
            var response = try await to.lookupRecords(request, call)
            response.records = changed(response.records)
            return response
        }
    }
    func queryRecords(_ request: QueryRecordsRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> QueryRecordsResponse
    {
        try await pass("records/query") { (to) throws(ServiceFailure) in
            var response = try await to.queryRecords(request, call)
            response.records = changed(response.records)
            return response
        }
    }
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
    {
        try await pass("changes/zone") { (to) throws(ServiceFailure) in
            guard changingRecords.value != nil else { return try await to.recordZoneChanges(request, call) }
            var request = request
            for index in request.zones.indices { request.zones[index].packed = false }
            var response = try await to.recordZoneChanges(request, call)
            response.zones = response.zones.map { zone in
                guard case .changes(var changes) = zone else { return zone }
                changes.records = changed(changes.records)
                return .changes(changes)
            }
            return response
        }
    }
    func databaseChanges(_ request: DatabaseChangesRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> DatabaseChangesResponse
    {
        try await pass("changes/database") { (to) throws(ServiceFailure) in try await to.databaseChanges(request, call)
        }
    }
    func accountKeys(_ call: ServiceCall) async throws(ServiceFailure) -> AccountKeysResponse {
        try await pass("keys/account") { (to) throws(ServiceFailure) in
            changingAccountKeys.value(try await to.accountKeys(call))
        }
    }
    func enroll(_ request: EnrollRequest, _ call: ServiceCall) async throws(ServiceFailure) -> AccountKeysResponse {
        try await pass("keys/enroll") { (to) throws(ServiceFailure) in
            changingAccountKeys.value(try await to.enroll(request, call))
        }
    }
    func resetKeys(_ call: ServiceCall) async throws(ServiceFailure) -> AccountKeysResponse {
        try await pass("keys/reset") { (to) throws(ServiceFailure) in try await to.resetKeys(call) }
    }
    func lookupKeys(_ request: LookupKeysRequest, _ call: ServiceCall) async throws(ServiceFailure) -> KeysResponse {
        try await pass("keys/lookup") { (to) throws(ServiceFailure) in
            changingKeys.value(try await to.lookupKeys(request, call))
        }
    }
    func putGroupKey(_ request: PutGroupKeyRequest, _ call: ServiceCall) async throws(ServiceFailure) -> KeysResponse {
        try await pass("keys/group") { (to) throws(ServiceFailure) in
            changingKeys.value(try await to.putGroupKey(request, call))
        }
    }
    var mayEscrowKeys: Bool { mayEscrow.value }
    var keyStore: any DeviceKeyStore {
        keysIn.value.map(FileKeyStore.init(directory:)) ?? target.value.keyStore
    }
    func currentUser(_ call: ServiceCall) async throws(ServiceFailure) -> UserDictionary {
        try await pass("users/current") { (to) throws(ServiceFailure) in try await to.currentUser(call) }
    }
    func assetUploads(_ request: AssetUploadRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> AssetUploadResponse
    { try await pass("assets/upload") { (to) throws(ServiceFailure) in try await to.assetUploads(request, call) } }
    func upload(
        _ content: AssetContent, to address: String, _ call: ServiceCall,
        progress: @escaping @Sendable (Int64) -> Void
    ) async throws(ServiceFailure) -> UploadedFile {
        try await pass("upload") { (to) throws(ServiceFailure) in
            try await to.upload(content, to: address, call, progress: progress)
        }
    }
    func download(
        _ address: String, to file: URL, _ call: ServiceCall, progress: @escaping @Sendable (Int64) -> Void
    ) async throws(ServiceFailure) {
        try await pass("download") { (to) throws(ServiceFailure) in
            try await to.download(address, to: file, call, progress: progress)
            try? changingFiles.value?(file)
        }
    }
    var sealsAssets: Bool { seals.value }
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
