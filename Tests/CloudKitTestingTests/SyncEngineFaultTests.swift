import CloudKit
import CloudKitTesting
import Foundation
import Synchronization
import Testing

/// What a sync engine does with limits and with faults of single zones.
@Suite struct SyncEngineFaultTests {
    private let a = CKRecordZone.ID(zoneName: "A")
    private let b = CKRecordZone.ID(zoneName: "B")

    private func database(_ device: String = "phone") throws -> CKDatabase {
        try LocalCloud.current.device(device).container.privateCloudDatabase
    }

    private func note(_ name: String, in zoneID: CKRecordZone.ID) -> CKRecord {
        CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
    }

    private func makeZones() async throws {
        _ = try await database("other").modifyRecordZones(
            saving: [CKRecordZone(zoneID: a), CKRecordZone(zoneID: b)], deleting: [])
    }

    private func code(_ body: () async throws -> Void) async -> CKError.Code? {
        await #expect(throws: CKError.self) { try await body() }?.code
    }

    // MARK: Limits

    @Test(.cloud(limits: .tight)) func `an engine's own batches fit the service's limits`() async throws {
        try await makeZones()
        let app = try EngineLog(database())
        app.add((0..<12).map { note("\($0)", in: a) })
        try await app.engine.sendChanges()
        #expect(app.engine.state.pendingRecordZoneChanges.isEmpty)
        #expect(Set(app.sent) == Set((0..<12).map(String.init)) && app.sent.count == 12)
        #expect(app.failed == [])
    }

    @Test(.cloud(limits: .tight)) func `the changes of a hand-built batch that is too large stay pending`() async throws
    {
        try await makeZones()
        let app = try EngineLog(database())
        app.add((0..<6).map { note("\($0)", in: a) })
        app.builds = .byHand(6)
        #expect(await code { try await app.engine.sendChanges() } == .limitExceeded)
        #expect(app.failed.count == 6 && app.engine.state.pendingRecordZoneChanges.count == 6)
        app.builds = .byHand(3)
        try await app.engine.sendChanges()
        #expect(app.sent.count == 6 && app.engine.state.pendingRecordZoneChanges.isEmpty)
    }

    // MARK: The engine's own requests

    @Test(.cloud) func `zones that an engine looks up for itself are none of the app's requests`() async throws {
        try await makeZones()
        let cloud = try LocalCloud.current
        let (zones, all, saves) = (cloud.requests(.zones), cloud.requests(), cloud.requests(.save))
        let fault = cloud.fail(.zones, with: .networkFailure)
        let app = try EngineLog(database())
        app.add([note("1", in: a)])
        try await app.engine.sendChanges()
        #expect(app.sent == ["1"] && zones.count == 0 && fault.count == 0)
        #expect(all.count > saves.count, "the look-up is one of any")
        #expect(await code { _ = try await database().recordZone(for: a) } == .networkFailure)
        #expect(zones.count == 1)
    }

    // MARK: Busy zones

    @Test(.cloud, arguments: [Fault.Level.item, .request], [EngineLog.Building.inScope, .byZone])
    fileprivate func `a busy zone delays no changes to others`(
        level: Fault.Level, builds: EngineLog.Building
    ) async throws {
        try await makeZones()
        let fault = try LocalCloud.current.fail(.save, zone: "A", .all, level: level, with: .zoneBusy)
        let app = try EngineLog(database())
        app.builds = builds
        app.add([note("a", in: a), note("b", in: b)])
        #expect(await code { try await app.engine.sendChanges() } == .zoneBusy)
        #expect(app.sent == ["b"])
        #expect(app.engine.state.pendingRecordZoneChanges == [.saveRecord(note("a", in: a).recordID)])
        fault.cancel()
        try await app.engine.sendChanges()
        #expect(app.sent == ["b", "a"])
    }

    @Test(.cloud(limits: .tight))
    func `a busy zone delays no changes of a delegate that ignores the scope`() async throws {
        try await makeZones()
        try LocalCloud.current.fail(.save, zone: "A", .all, level: .item, with: .zoneBusy)
        let app = try EngineLog(database())
        app.builds = .ignoringScope
        app.add((0..<5).map { note("\($0)", in: a) } + [note("b", in: b)])
        #expect(await code { try await app.engine.sendChanges() } == .zoneBusy)
        #expect(app.sent == ["b"] && app.failed == ["0", "1", "2"])
    }

    @Test(.cloud) func `a zone whose key has not arrived delays no changes to others`() async throws {
        let cloud = try LocalCloud.current
        let guest = cloud.device("tom", account: "tom").container
        var zoneIDs: [CKRecordZone.ID] = []
        for owner in ["mei", "ann"] {
            let container = cloud.device(owner, account: owner).container
            zoneIDs.append(CKRecordZone.ID(zoneName: "A", ownerName: try await container.userRecordID().recordName))
            let database = container.privateCloudDatabase
            try await database.save(CKRecordZone(zoneID: a))
            let secret = note("secret", in: a)
            secret.encryptedValues["text"] = "secret"
            try await database.save(secret)
            let share = CKShare(recordZoneID: a)
            share.publicPermission = .readWrite
            try await database.save(share)
            // The key is in the fragment of the share's URL, which the first owner leaves out.
            var url = try #require(share.url)
            if owner == "mei" { url = try #require(URL(string: "\(url.absoluteString.prefix { $0 != "#" })")) }
            _ = try await guest.accept(guest.shareMetadata(for: url))
        }
        let app = EngineLog(guest.sharedCloudDatabase)
        app.builds = .byZone
        try? await app.engine.fetchChanges()
        let records = zoneIDs.map { zoneID in
            let record = note("in \(zoneID.ownerName)", in: zoneID)
            record.encryptedValues["text"] = "secret"
            return record
        }
        app.add(records)
        #expect(await code { try await app.engine.sendChanges() } == .zoneBusy)
        #expect(app.failed == ["in \(zoneIDs[0].ownerName)"] && app.sent == ["in \(zoneIDs[1].ownerName)"])
    }

    @Test(.cloud) func `a zone that is busy when it is saved delays no other`() async throws {
        try LocalCloud.current.fail(.zones, zone: "A", .all, level: .item, with: .zoneBusy)
        let app = try EngineLog(database())
        app.engine.state.add(pendingDatabaseChanges: [a, b].map { .saveZone(CKRecordZone(zoneID: $0)) })
        app.add([note("a", in: a), note("b", in: b)])
        #expect(await code { try await app.engine.sendChanges() } == .zoneBusy)
        #expect(app.sent == ["b"] && app.failed == [])
        #expect(app.engine.state.pendingDatabaseChanges == [.saveZone(CKRecordZone(zoneID: a))])
    }

    @Test(.cloud) func `a busy zone delays no fetch of others`() async throws {
        try await makeZones()
        _ = try await database("other").modifyRecords(saving: [note("a", in: a), note("b", in: b)], deleting: [])
        let fault = try LocalCloud.current.fail(.changes, zone: "A", .all, with: .zoneBusy)
        let app = try EngineLog(database())
        #expect(await code { try await app.engine.fetchChanges() } == .zoneBusy)
        #expect(app.fetched == ["b"] && app.engine.state.zoneIDsWithUnfetchedServerChanges == [a])
        fault.cancel()
        try await app.engine.fetchChanges()
        #expect(app.fetched == ["b", "a"])
    }

    @Test(.cloud, arguments: [CKError.Code.networkFailure, .serviceUnavailable])
    func `files that are unavailable delay no fetch of other zones`(code fault: CKError.Code) async throws {
        try await makeZones()
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try Data([1]).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let withFile = note("a", in: a)
        withFile["file"] = CKAsset(fileURL: file)
        _ = try await database("other").modifyRecords(saving: [withFile, note("b", in: b)], deleting: [])
        try LocalCloud.current.fail(.assets, .all, with: fault)
        let app = try EngineLog(database())
        #expect(await code { try await app.engine.fetchChanges() } == fault)
        #expect(app.fetched == ["b"] && app.engine.state.zoneIDsWithUnfetchedServerChanges == [a])
    }

    @Test(.cloud, .timeLimit(.minutes(10)))
    func `while a busy zone waits for its retry, everything else is exchanged`() async throws {
        let cloud = try LocalCloud.current
        try await makeZones()
        let app = try EngineLog(database(), automatically: true)
        await app.wait { $0.contains("did fetch") }
        let fault = cloud.fail(.save, zone: "A", .all, level: .item, with: .zoneBusy)
        cloud.clock.pause()
        app.add([note("a", in: a)])
        await app.wait { $0.contains("failed a") }
        // No retry comes, as the clock stands.
        _ = try await database("other").save(note("theirs", in: b))
        await app.wait { $0.contains("fetched theirs") }
        app.add([note("own", in: b)])
        await app.wait { $0.contains("sent own") }
        #expect(fault.count == 1, "the service is not asked again before the delay")
        fault.cancel()
        cloud.clock.resume()
        cloud.clock.advance(by: .seconds(600))
        await app.wait { $0.contains("sent a") }
    }

    // MARK: Refusals

    @Test(.cloud, .timeLimit(.minutes(10)))
    func `an automatic engine goes on after a request that was refused as a whole`() async throws {
        let cloud = try LocalCloud.current
        try await makeZones()
        cloud.fail(.zones, zone: "New", level: .request, with: .badDatabase)
        cloud.clock.pause()
        let app = try EngineLog(database(), automatically: true)
        app.engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneName: "New"))])
        app.add([note("a", in: a)])
        await app.wait { $0.contains("sent a") }
        #expect(app.engine.state.pendingDatabaseChanges.isEmpty)
    }

    @Test(.cloud) func `a send with a scope leaves the untracked changes announced`() async throws {
        try await makeZones()
        let app = try EngineLog(database())
        app.engine.state.hasPendingUntrackedChanges = true
        try await app.engine.sendChanges(.init(scope: .zoneIDs([a])))
        #expect(app.engine.state.hasPendingUntrackedChanges)
        try await app.engine.sendChanges()
        #expect(!app.engine.state.hasPendingUntrackedChanges)
    }
}

extension CKSyncEngine.PendingRecordZoneChange {
    fileprivate var zoneID: CKRecordZone.ID {
        switch self {
        case .saveRecord(let recordID), .deleteRecord(let recordID): recordID.zoneID
        }
    }
}

/// An app that saves records, and what its engine reported.
private final class EngineLog: CKSyncEngineDelegate, Sendable {
    /// How the delegate makes its batches.
    enum Building: Sendable {
        case inScope, ignoringScope
        /// Of the changes to one zone.
        case byZone
        /// Of so many records, without the engine's initializer.
        case byHand(Int)
    }

    private struct State {
        var engine: CKSyncEngine?
        var builds = Building.inScope
        var records: [CKRecord.ID: CKRecord] = [:]
        var log: [String] = []
        var waiting: [(matches: @Sendable ([String]) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    init(_ database: CKDatabase, automatically: Bool = false) {
        var configuration = CKSyncEngine.Configuration(database: database, stateSerialization: nil, delegate: self)
        configuration.automaticallySync = automatically
        let engine = CKSyncEngine(configuration)
        state.withLock { $0.engine = engine }
    }

    var engine: CKSyncEngine {
        guard let engine = state.withLock({ $0.engine }) else { preconditionFailure("The engine was not made.") }
        return engine
    }
    var builds: Building {
        get { state.withLock { $0.builds } }
        set { state.withLock { $0.builds = newValue } }
    }
    var sent: [String] { names("sent") }
    var failed: [String] { names("failed") }
    var fetched: [String] { names("fetched") }

    private func names(_ word: String) -> [String] {
        state.withLock { $0.log }.filter { $0.hasPrefix(word + " ") }.map { String($0.dropFirst(word.count + 1)) }
    }

    func add(_ records: [CKRecord]) {
        state.withLock { state in
            for record in records { state.records[record.recordID] = record }
        }
        engine.state.add(pendingRecordZoneChanges: records.map { .saveRecord($0.recordID) })
    }

    /// Waits until the log has what `matches` looks for.
    func wait(until matches: @escaping @Sendable ([String]) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if matches(state.log) { return true }
                state.waiting.append((matches, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        var lines: [String] = []
        switch event {
        case .sentRecordZoneChanges(let event):
            lines = event.savedRecords.map { "sent \($0.recordID.recordName)" }
            lines += event.failedRecordSaves.map { "failed \($0.record.recordID.recordName)" }
        case .fetchedRecordZoneChanges(let event):
            lines = event.modifications.map { "fetched \($0.record.recordID.recordName)" }
        case .didFetchChanges: lines = ["did fetch"]
        default: break
        }
        let ready = state.withLock { state in
            state.log += lines
            let log = state.log
            let ready = state.waiting.filter { $0.matches(log) }
            state.waiting.removeAll { $0.matches(log) }
            return ready
        }
        for waiter in ready { waiter.continuation.resume() }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let pending = syncEngine.state.pendingRecordZoneChanges
        let (builds, records) = state.withLock { ($0.builds, $0.records) }
        switch builds {
        case .inScope:
            return await .init(pendingChanges: pending.filter { context.options.scope.contains($0) }) { records[$0] }
        case .byZone:
            let changes = pending.filter { context.options.scope.contains($0) }
            return await .init(pendingChanges: changes.filter { $0.zoneID == changes[0].zoneID }) { records[$0] }
        case .ignoringScope: return await .init(pendingChanges: pending) { records[$0] }
        case .byHand(let count):
            let recordIDs = pending.prefix(count).compactMap { change -> CKRecord.ID? in
                if case .saveRecord(let recordID) = change { recordID } else { nil }
            }
            return recordIDs.isEmpty ? nil : .init(recordsToSave: recordIDs.compactMap { records[$0] })
        }
    }
}
