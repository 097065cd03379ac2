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

    func send<Request, Response>(
        _ endpoint: Endpoint<Request, Response>, _ request: Request, _ call: ServiceCall
    ) async throws(ServiceFailure) -> Response {
        try await pass(endpoint.path) { (to) throws(ServiceFailure) in
            var request = request
            if changingRecords.value != nil, Request.self == RecordZoneChangesRequest.self {
                request = Self.unpacked(request)
            }
            var response = try await to.send(endpoint, request, call)
            change(&response)
            switch (request, response) {
            case (let request as ModifyRecordsRequest, let response as RecordsResponse):
                afterModifyingRecords.value(request, response)
            case (let request as ModifyZonesRequest, let response as ZonesResponse):
                afterModifyingZones.value(request, response)
            default: break
            }
            return response
        }
    }

    private static func unpacked<Request>(_ request: Request) -> Request {
        guard var changes = request as? RecordZoneChangesRequest else { return request }
        for index in changes.zones.indices { changes.zones[index].packed = false }
        return changes as? Request ?? request
    }

    /// Changes a response as a hostile service would.
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
    var mayEscrowKeys: Bool { mayEscrow.value }
    var keyStore: any DeviceKeyStore {
        keysIn.value.map(FileKeyStore.init(directory:)) ?? target.value.keyStore
    }
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
    func nextNotification(_ token: TokenResponse, received: String?, _ call: ServiceCall) async throws(ServiceFailure)
        -> NotificationPayload?
    {
        try await pass("courier") { (to) throws(ServiceFailure) in
            try await to.nextNotification(token, received: received, call)
        }
    }
}
