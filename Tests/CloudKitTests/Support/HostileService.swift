import Foundation
import NephosWire
import Synchronization

@testable import CloudKit

/// A service that passes requests on to another one, and lies where a test wants it to: in what it answers, about keys and in
/// the files that it sends. For failures of an honest service tests have `LocalCloud.fail`, and for what happens meanwhile `hold`.
final class HostileService: CloudService {
    /// The service behind.
    private let target: any CloudService
    private let identifier: String
    /// Called before every request, with its path.
    private let observer: @Sendable (String) -> Void
    /// Called with what the service answered.
    let afterModifyingRecords = Box<@Sendable (ModifyRecordsRequest, RecordsResponse) -> Void>({ _, _ in })

    /// What it makes of the fields of the records that it answers with; nil leaves them as they are.
    let changingRecords = Box<(@Sendable (String, inout RecordFields) -> Void)?>(nil)
    /// What it makes of its answers about keys.
    let changingAccountKeys = Box<@Sendable (AccountKeysResponse) -> AccountKeysResponse>({ $0 })
    let changingKeys = Box<@Sendable (KeysResponse) -> KeysResponse>({ $0 })
    /// What it makes of the files that it sends.
    let changingFiles = Box<(@Sendable (URL) throws -> Void)?>(nil)
    /// Whether clients seal assets.
    let seals = Box(true)
    let mayEscrowKeys: Bool
    let keyStore: any DeviceKeyStore

    /// - Parameters:
    ///   - mayEscrow: whether it may be given keys to keep.
    ///   - keys: the directory of the device's own keys; nil for those of the service behind.
    init(
        _ container: CKContainer, mayEscrow: Bool = true, keysIn keys: String? = nil,
        observer: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        let service = container.session.service
        target = service
        identifier = container.session.identifier
        mayEscrowKeys = mayEscrow
        keyStore = keys.map(FileKeyStore.init(directory:)) ?? service.keyStore
        self.observer = observer
    }

    /// A device's container of that name, on this service.
    var container: CKContainer {
        CKContainer(identifier: identifier, service: self, environment: SyncEngineEnvironment(sleep: { _ in }))
    }
    /// The devices of the account, of which it is one.
    var devices: AccountDevices { AccountDevices(self, container: identifier) }
    var hasAccount: Bool { target.hasAccount }

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

    func send<Request, Response>(
        _ endpoint: Endpoint<Request, Response>, _ request: Request, _ call: ServiceCall
    ) async throws(ServiceFailure) -> Response {
        observer(endpoint.path)
        var request = request
        if changingRecords.value != nil { request = Self.unpacked(request) }
        var response = try await target.send(endpoint, request, call)
        change(&response)
        if let request = request as? ModifyRecordsRequest, let response = response as? RecordsResponse {
            afterModifyingRecords.value(request, response)
        }
        return response
    }

    private static func unpacked<Request>(_ request: Request) -> Request {
        guard var changes = request as? RecordZoneChangesRequest else { return request }
        for index in changes.zones.indices { changes.zones[index].packed = false }
        return changes as? Request ?? request
    }

    /// Lies in a response.
    private func change<Response>(_ response: inout Response) {
        func set(_ changed: some Sendable) { if let changed = changed as? Response { response = changed } }
        switch response {
        case var records as RecordsResponse:
            records.records = changed(records.records)
            set(records)
        case var page as QueryRecordsResponse:
            page.records = changed(page.records)
            set(page)
        case var feed as RecordZoneChangesResponse where changingRecords.value != nil:
            feed.zones = feed.zones.map { zone in
                guard case .changes(var changes) = zone else { return zone }
                changes.records = changed(changes.records)
                return .changes(changes)
            }
            set(feed)
        case let keys as AccountKeysResponse: set(changingAccountKeys.value(keys))
        case let keys as KeysResponse: set(changingKeys.value(keys))
        default: break
        }
    }

    var shareURLRoot: String { "https://localhost/share/" }
    func upload(
        _ content: AssetContent, to address: String, _ call: ServiceCall,
        progress: @escaping @Sendable (Int64) -> Void
    ) async throws(ServiceFailure) -> UploadedFile {
        observer("upload")
        return try await target.upload(content, to: address, call, progress: progress)
    }
    func download(
        _ address: String, to file: URL, _ call: ServiceCall, progress: @escaping @Sendable (Int64) -> Void
    ) async throws(ServiceFailure) {
        observer("download")
        try await target.download(address, to: file, call, progress: progress)
        try? changingFiles.value?(file)
    }
    var sealsAssets: Bool { seals.value }
    var assetCacheName: String? { target.assetCacheName }
    func nextNotification(_ token: TokenResponse, received: String?, _ call: ServiceCall) async throws(ServiceFailure)
        -> NotificationPayload?
    {
        observer("courier")
        return try await target.nextNotification(token, received: received, call)
    }
}
