import CloudKit
import NephosWire
import Synchronization

/// A service that records what it is asked and answers as a test says; without a script everything succeeds.
final class ScriptedService: PartialService {
    enum Request: Sendable {
        case modifyRecords(ModifyRecordsRequest)
        case lookupRecords(LookupRecordsRequest)
        case queryRecords(QueryRecordsRequest)
        case listZones
        case lookupZones(LookupZonesRequest)
        case modifyZones(ModifyZonesRequest)
        case currentUser
    }

    struct Script: Sendable {
        /// The result for one operation of records/modify; nil is success.
        var modify: (@Sendable (RecordOperation, ZoneIDDictionary) -> RecordResult?)?
        /// The result for one item of records/lookup; nil is a record of type Artwork without fields.
        var lookup: (@Sendable (LookupRecordsRequest.Item, ZoneIDDictionary) -> RecordResult?)?
        var zones: [ZoneResult] = []
        /// The result for one zone of zones/lookup and zones/modify; nil is success.
        var zone: (@Sendable (ZoneIDDictionary) -> ZoneResult?)?
        /// What every request fails with.
        var failure: ServiceFailure?
        /// What a request waits for before it is answered.
        var gate: Gate?
    }

    static let userRecordName = "_0123456789abcdef0123456789abcdef"

    let hasAccount: Bool
    private let script: Script
    private let log = Mutex<[(request: Request, call: ServiceCall)]>([])

    init(hasAccount: Bool = true, _ script: Script = Script()) {
        self.hasAccount = hasAccount
        self.script = script
    }

    /// A container whose requests this service answers.
    var container: CKContainer { CKContainer(identifier: "iCloud.org.example.Gallery", service: self) }
    var database: CKDatabase { container.privateCloudDatabase }

    var requests: [Request] { log.withLock { $0.map(\.request) } }
    var calls: [ServiceCall] { log.withLock { $0.map(\.call) } }

    var modifications: [ModifyRecordsRequest] {
        requests.compactMap { if case .modifyRecords(let request) = $0 { request } else { nil } }
    }
    var lookups: [LookupRecordsRequest] {
        requests.compactMap { if case .lookupRecords(let request) = $0 { request } else { nil } }
    }
    var zoneModifications: [ModifyZonesRequest] {
        requests.compactMap { if case .modifyZones(let request) = $0 { request } else { nil } }
    }

    private func note(_ request: Request, _ call: ServiceCall) async throws(ServiceFailure) {
        log.withLock { $0.append((request, call)) }
        await script.gate?.pass()
        if let failure = script.failure { throw failure }
    }

    func answer(_ request: any Sendable, _ path: String, _ call: ServiceCall) async throws(ServiceFailure)
        -> (any Sendable)?
    {
        switch request {
        case let request as ModifyRecordsRequest:
            try await note(.modifyRecords(request), call)
            return answer(request)
        case let request as LookupRecordsRequest:
            try await note(.lookupRecords(request), call)
            return RecordsResponse(
                records: request.records.map { item in
                    script.lookup?(item, item.zoneID ?? request.zoneID ?? .defaultZone)
                        ?? .record(.saved(item.recordName))
                })
        case let request as QueryRecordsRequest:
            try await note(.queryRecords(request), call)
            return QueryRecordsResponse(records: [])
        case let request as LookupZonesRequest:
            try await note(.lookupZones(request), call)
            return ZonesResponse(
                zones: request.zones.map { script.zone?($0) ?? .zone(ZoneDictionary(zoneID: $0, atomic: true)) })
        case let request as ModifyZonesRequest:
            try await note(.modifyZones(request), call)
            return answer(request)
        case is EmptyRequest where path == "zones/list":
            try await note(.listZones, call)
            return ZonesResponse(zones: script.zones)
        case is EmptyRequest where path == "users/current":
            try await note(.currentUser, call)
            return UserDictionary(userRecordName: Self.userRecordName)
        default: return nil
        }
    }

    private func answer(_ request: ModifyRecordsRequest) -> RecordsResponse {
        RecordsResponse(
            records: request.operations.map { operation in
                let zoneID = operation.record.zoneID ?? request.zoneID ?? .defaultZone
                if let result = script.modify?(operation, zoneID) { return result }
                let name = operation.record.recordName ?? ""
                switch operation.operationType {
                case .delete, .forceDelete: return .deleted(DeletedRecord(recordName: name))
                default: return .record(.saved(name, type: operation.record.recordType ?? "Artwork"))
                }
            })
    }

    private func answer(_ request: ModifyZonesRequest) -> ZonesResponse {
        ZonesResponse(
            zones: request.operations.map { operation in
                script.zone?(operation.zoneID)
                    ?? .zone(
                        ZoneDictionary(
                            zoneID: operation.zoneID, atomic: true, deleted: operation.operationType == .delete))
            })
    }
}

extension RecordDictionary {
    /// A record as the service has it after the account saved it.
    static func saved(
        _ name: String, type: String = "Artwork", tag: String = "t1", fields: RecordFields = RecordFields(),
        by user: String = ScriptedService.userRecordName
    ) -> RecordDictionary {
        let time = TimestampDictionary(timestamp: 1_760_001_000_000, userRecordName: user)
        return RecordDictionary(
            recordName: name, recordType: type, recordChangeTag: tag, fields: fields.encoded(), created: time,
            modified: time)
    }
}

extension ErrorDictionary {
    static func scripted(_ code: ServerErrorCode, _ reason: String = "as the test says") -> ErrorDictionary {
        ErrorDictionary(uuid: "6b1c0c5e", serverErrorCode: code, reason: reason)
    }
}

/// A gate that blocks its callers until it is opened, and notifies of an arrival.
final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var arrivals = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
        var watchers: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    func pass() async {
        await withCheckedContinuation { continuation in
            let (watchers, isOpen) = state.withLock { state in
                state.arrivals += 1
                if !state.isOpen { state.waiting.append(continuation) }
                defer { state.watchers = [] }
                return (state.watchers, state.isOpen)
            }
            for watcher in watchers { watcher.resume() }
            if isOpen { continuation.resume() }
        }
    }

    /// Returns once a caller arrived.
    func arrival() async {
        await withCheckedContinuation { continuation in
            let arrived = state.withLock { state in
                if state.arrivals == 0 { state.watchers.append(continuation) }
                return state.arrivals > 0
            }
            if arrived { continuation.resume() }
        }
    }

    func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}

/// What happened, in its order, from any thread.
final class Events: Sendable {
    private let events = Mutex<[String]>([])
    var all: [String] { events.withLock { $0 } }
    func note(_ event: String) { events.withLock { $0.append(event) } }
}

extension Operation {
    /// Has `start` start the operation and returns after its `completionBlock` was called.
    func finish(_ start: () -> Void) async {
        await withCheckedContinuation { continuation in
            completionBlock = { continuation.resume() }
            start()
        }
    }
}
