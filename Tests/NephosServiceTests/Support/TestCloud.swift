import Foundation
import NephosPostgresTesting
import NephosSQLite
import NephosStorage
import NephosWire
import Synchronization
import Testing

@testable import NephosService

/// A service in memory with a clock and identifiers of its own, so that every run gives the same.
final class TestCloud: Sendable {
    let service: NephosService
    private let clock: Clock
    var now: Int64 { clock.now }
    /// The number of sleeps of the background so far.
    var sleepCount: Int { clock.sleeps.load(ordering: .relaxed) }
    let log: Log

    /// Sleeps last until the clock is advanced.
    convenience init(isStrict: Bool = false, deletionRetention: Int64? = Limits.deletionRetention) {
        self.init(ServiceConfiguration(isStrict: isStrict, deletionRetention: deletionRetention))
    }

    init(_ configuration: ServiceConfiguration, stores: (any StoreProvider)? = nil, clock: Clock = Clock()) {
        let log = Log()
        self.clock = clock
        self.log = log
        service = NephosService(
            stores: stores ?? TestCluster.stores(or: MemoryStores()),
            environment: ServiceEnvironment(
                now: { clock.now }, makeUUID: { clock.makeUUID() }, log: { log.add($0) },
                sleepUntil: { try await clock.sleep(until: $0) }),
            configuration: configuration)
    }

    final class Clock: Sendable {
        private let state = Mutex((now: Int64(1_700_000_000_000), identifiers: 0))
        var now: Int64 { state.withLock { $0.now } }
        func advance(milliseconds: Int64) {
            let now = state.withLock { state in
                state.now += milliseconds
                return state.now
            }
            let due = sleepers.withLock { sleepers in
                let due = sleepers.filter { $0.value.due <= now }
                for id in due.keys { sleepers[id] = nil }
                return due
            }
            for sleeper in due.values { sleeper.continuation.resume() }
        }

        private let sleepers = Mutex<[UUID: (due: Int64, continuation: CheckedContinuation<Void, Never>)]>([:])

        /// The number of sleeps that wait for the clock.
        var sleeping: Int { sleepers.withLock(\.count) }

        /// The number of sleeps so far.
        let sleeps = Atomic(0)

        func sleep(until due: Int64) async throws {
            sleeps.add(1, ordering: .relaxed)
            let id = UUID()
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    sleepers.withLock { $0[id] = (due, continuation) }
                    // What came before it could be seen here.
                    if Task.isCancelled || due <= now { wake(id) }
                }
            } onCancel: {
                wake(id)
            }
            try Task.checkCancellation()
        }

        private func wake(_ id: UUID) {
            sleepers.withLock { $0.removeValue(forKey: id) }?.continuation.resume()
        }
        func makeUUID() -> String {
            let number = state.withLock { state in
                state.identifiers += 1
                return String(state.identifiers)
            }
            return "00000000-0000-0000-0000-" + String(repeating: "0", count: 12 - number.count) + number
        }
    }

    final class Log: Sendable {
        private let lines = Mutex<[String]>([])
        func add(_ line: String) { lines.withLock { $0.append(line) } }
        var all: [String] { lines.withLock { $0 } }
    }

    /// Runs `body` on the store of the container "iCloud.test", which is opened where it was closed, as stores are that are not in
    /// memory and idle.
    func withStore<T>(_ body: (Store) async throws -> T) async throws -> T {
        try await service.stores.using(StoreID(container: "iCloud.test", environment: "development"), body)
    }

    /// Has the background do what is due, in the store of "iCloud.test" also where it was closed.
    func settle() async throws { try await withStore { _ in await service.settle() } }

    func advance(milliseconds: Int64) { clock.advance(milliseconds: milliseconds) }

    /// Leaves a job, as a server does that ends before its background comes to it: to delete what a record of the default zone
    /// of the first account's private database owns.
    func leaveCascade(from name: String) async throws {
        let engine = service.openStores.first { $0.id.container == "iCloud.test" }?.engine
        try await engine?.write { transaction in
            let zone = try transaction.zones(after: 0, limit: 9).first { $0.key.owner != .everyone }
            guard let zone else { throw StorageError(.other, "there is no private zone") }
            try transaction.insert(
                JobRow(kind: BackgroundJob.cascade.rawValue, zone: zone.key, subject: "\(Int64.max) \(name)"))
        }
    }

    func context(
        _ account: String? = "me", _ scope: DatabaseScope = .private,
        environment: ContainerEnvironment = .development, container: String = "iCloud.test", client: String? = nil
    ) -> RequestContext {
        RequestContext(
            container: container, environment: environment, scope: scope, account: account, clientID: client,
            requestID: "R")
    }
}

/// What a request gets about a zone that is not there.
func missingZone(_ name: String, _ remedy: String) -> ServiceError {
    var error = ServiceError.zoneNotFound(name)
    error.reason += ": \(remedy)"
    return error
}

/// A database of a test cloud as one account, with short names for what tests do all the time.
struct TestDatabase {
    let cloud: TestCloud
    let context: RequestContext
    /// The zone of operations that name none.
    var zone: String?

    init(
        _ cloud: TestCloud, _ account: String? = "me", _ scope: DatabaseScope = .private, zone: String? = nil,
        client: String? = nil
    ) {
        self.cloud = cloud
        context = cloud.context(account, scope, client: client)
        self.zone = zone
    }

    var zoneID: ZoneIDDictionary? { zone.map { ZoneIDDictionary(zoneName: $0) } }

    /// Makes the zone and gives a database whose operations go there.
    func making(zone: String) async throws -> TestDatabase {
        let request = ModifyZonesRequest(operations: [
            ZoneOperation(operationType: .create, zoneID: ZoneIDDictionary(zoneName: zone))
        ])
        _ = try await cloud.service.modifyZones(request, context)
        var database = self
        database.zone = zone
        return database
    }

    /// Sends the operations as our own library does: refusals come at their items.
    func modify(_ operations: [RecordOperation], atomic: Bool? = nil) async throws(ServiceError) -> [RecordResult] {
        let request = ModifyRecordsRequest(
            operations: operations, zoneID: zoneID, atomic: atomic, wantsServerRecord: true)
        return try await cloud.service.modifyRecords(request, context).records
    }

    func lookup(_ names: String...) async throws(ServiceError) -> [RecordResult] {
        let request = LookupRecordsRequest(records: names.map { .init(recordName: $0) }, zoneID: zoneID)
        return try await cloud.service.lookupRecords(request, context).records
    }

    /// The names of those that exist.
    func existing(_ names: String...) async throws(ServiceError) -> [String] {
        let request = LookupRecordsRequest(records: names.map { .init(recordName: $0) }, zoneID: zoneID)
        return try await cloud.service.lookupRecords(request, context).records.compactMap { $0.record?.recordName }
    }
}

extension RecordResult {
    var record: RecordDictionary? { if case .record(let record) = self { record } else { nil } }
    var error: ErrorDictionary? { if case .failure(let error) = self { error } else { nil } }
    var isDeleted: Bool { if case .deleted = self { true } else { false } }
    /// `saved`, `deleted`, or the raw value of the client's error code.
    var summary: String {
        switch self {
        case .record: "saved"
        case .deleted: "deleted"
        case .failure(let error): "error \(error.clientErrorCode ?? 0)"
        }
    }
}

extension RecordOperation {
    static func create(
        _ name: String?, _ fields: [String: FieldValue] = [:], type: String = "Note", parent: String? = nil
    ) -> RecordOperation {
        make(.create, name, fields, type: type, parent: parent)
    }

    static func force(
        _ name: String, _ fields: [String: FieldValue?] = [:], type: String = "Note", parent: String? = nil
    ) -> RecordOperation {
        make(.forceUpdate, name, fields, type: type, parent: parent)
    }

    static func update(_ record: RecordDictionary, _ fields: [String: FieldValue?] = [:]) -> RecordOperation {
        make(.update, record.recordName, fields, type: record.recordType, tag: record.recordChangeTag)
    }

    static func delete(_ name: String) -> RecordOperation { make(.forceDelete, name, [:], type: nil) }

    static func make(
        _ operationType: OperationType, _ name: String?, _ fields: [String: FieldValue?], type: String?,
        tag: String? = nil, parent: String? = nil
    ) -> RecordOperation {
        RecordOperation(
            operationType: operationType,
            record: RecordToModify(
                recordName: name, recordType: type, recordChangeTag: tag,
                fields: RecordFields(fields.map { .init(name: $0.key, field: Field($0.value)) }),
                parent: parent.map { .set(ReferenceValue(recordName: $0)) } ?? .keep))
    }
}

extension FieldValue {
    static func owner(_ name: String) -> FieldValue {
        .reference(ReferenceValue(recordName: name, action: .deleteSelf))
    }

    static func link(_ name: String) -> FieldValue { .reference(ReferenceValue(recordName: name, action: .none)) }
}
