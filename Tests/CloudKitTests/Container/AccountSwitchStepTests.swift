import CloudKitLocal
import Foundation
import NephosCrypto
import Synchronization
import Testing

@testable import CloudKit

/// Operations of one account while another signs in: the switch happens at each of their steps in turn.
@Suite struct AccountSwitchStepTests {
    private static let zoneID = CKRecordZone.ID(zoneName: "Z")

    /// What an app does with a container as mei; what fails is noted.
    private typealias Work = @Sendable (Switching) async throws -> Void

    /// Runs `work` with a switch to tom at its first step, at its second one, and so on, until it has no such step.
    private static func atEveryStep(
        steps: ClosedRange<Int>, prepare: Work = { _ in }, _ work: Work,
        thenAsTom check: @Sendable (Switching, _ tom: CKRecord.ID) async throws -> Void = { _, _ in }
    ) async throws {
        var step = 1
        while true {
            let setting = try Switching()
            try await prepare(setting)
            setting.arm(at: step)
            var failure: CKError?
            do { try await work(setting) } catch { failure = CKError(any: error) }
            guard setting.disarm() else {
                #expect(failure == nil)
                break
            }
            if let failure { #expect(failure.isOfSwitch, "step \(step): \(failure)") }
            #expect(setting.requestsOfTom == [], "step \(step)")
            let session = setting.container.session
            #expect(session.account.knownUserRecordName == nil, "step \(step)")
            let tom = setting.cloud.container(account: "tom")
            let tomID = try await tom.userRecordID()
            try await check(setting, tomID)
            #expect(try await setting.container.userRecordID() == tomID)
            #expect(try await session.keyRing.device().place.owner == tomID.recordName)
            #expect(try await tom.privateCloudDatabase.allRecordZones().map(\.zoneID) == [.default], "step \(step)")
            let changes = try await tom.privateCloudDatabase.databaseChanges(since: nil)
            #expect(changes.modifications.isEmpty && changes.deletions.isEmpty, "step \(step)")
            await setting.cloud.close()
            step += 1
        }
        #expect(steps.contains(step - 1), "\(step - 1) steps")
    }

    /// Mei's zone with three notes, each with a file and an encrypted text.
    @Sendable private static func writeNotes(_ setting: Switching) async throws {
        let database = setting.cloud.container(Switching.identifier, account: "mei").privateCloudDatabase
        try await database.save(CKRecordZone(zoneID: zoneID))
        let results = try await database.modifyRecords(saving: try notes(setting.files), deleting: [])
        for result in results.saveResults.values { _ = try result.get() }
    }

    private static func notes(_ files: TestFiles) throws -> [CKRecord] {
        try ["a", "b", "c"].map { name in
            let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
            note["file"] = CKAsset(fileURL: try files.file("file of \(name)"))
            note.encryptedValues["text"] = "text of \(name)"
            return note
        }
    }

    @Sendable private static func makeZone(_ setting: Switching) async throws {
        try await setting.cloud.container(Switching.identifier, account: "mei").privateCloudDatabase
            .save(CKRecordZone(zoneID: zoneID))
    }

    @Test(.timeLimit(.minutes(15)), arguments: [true, false])
    func `a save with files and encrypted values sends nothing as the next account`(atomically: Bool) async throws {
        try await Self.atEveryStep(steps: 8...30, prepare: Self.makeZone) { setting in
            let results = try await setting.container.privateCloudDatabase.modifyRecords(
                saving: try Self.notes(setting.files), deleting: [], atomically: atomically)
            for result in results.saveResults.values { _ = try result.get() }
        } thenAsTom: { setting, _ in
            // Nor does it go on as the former one.
            let mei = setting.cloud.container(Switching.identifier, account: "mei").privateCloudDatabase
            let notes = try await mei.recordZoneChanges(inZoneWith: Self.zoneID, since: nil).modificationResultsByID
            #expect(notes.count == (setting.requestsUntilSwitch.contains("records/modify") ? 3 : 0))
        }
    }

    @Test(.timeLimit(.minutes(15)))
    func `a fetch with files, of records, changes and a query, requests nothing as the next account`() async throws {
        let recordIDs = ["a", "b", "c"].map { CKRecord.ID(recordName: $0, zoneID: Self.zoneID) }
        let fetches: [@Sendable (CKDatabase) async throws -> [Result<CKRecord, any Error>]] = [
            { Array(try await $0.records(for: recordIDs).values) },
            { database in
                let changes = try await database.recordZoneChanges(inZoneWith: Self.zoneID, since: nil)
                return changes.modificationResultsByID.values.map { $0.map(\.record) }
            },
            { database in
                let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
                return try await database.records(matching: query, inZoneWith: Self.zoneID).matchResults.map(\.1)
            },
        ]
        for fetch in fetches {
            try await Self.atEveryStep(steps: 3...30, prepare: Self.writeNotes) { setting in
                for result in try await fetch(setting.container.privateCloudDatabase) { _ = try result.get() }
            }
        }
    }

    @Test(.timeLimit(.minutes(15))) func `an operation with a dependency works as the account that added it`()
        async throws
    {
        try await Self.atEveryStep(steps: 2...10) { setting in
            let database = setting.container.privateCloudDatabase
            let errors = Box<[CKError]>([])
            let zone = CKModifyRecordZonesOperation(recordZonesToSave: [CKRecordZone(zoneID: Self.zoneID)])
            zone.modifyRecordZonesResultBlock = { result in
                if case .failure(let error) = result { errors.value.append(CKError(any: error)) }
            }
            let save = CKModifyRecordsOperation(recordsToSave: [
                CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "a", zoneID: Self.zoneID))
            ])
            save.addDependency(zone)
            await withCheckedContinuation { continuation in
                save.modifyRecordsResultBlock = { result in
                    if case .failure(let error) = result { errors.value.append(CKError(any: error)) }
                    continuation.resume()
                }
                // The zone's first request may switch accounts: the save is added before it is sent.
                database.add(save)
                database.add(zone)
            }
            if let error = errors.value.last { throw error }
        }
    }

    @Test(.timeLimit(.minutes(15))) func `an acceptance accepts no share as the next account`() async throws {
        try await Self.atEveryStep(
            steps: 2...20,
            prepare: { setting in
                let ann = setting.cloud.container(Switching.identifier, account: "ann").privateCloudDatabase
                try await ann.save(CKRecordZone(zoneID: Self.zoneID))
                let share = CKShare(recordZoneID: Self.zoneID)
                share.publicPermission = .readWrite
                try await ann.save(share)
                let saved = try await ann.record(for: share.recordID) as? CKShare
                let url = try #require(saved?.url)
                let mei = setting.cloud.container(Switching.identifier, account: "mei")
                setting.metadata.value = try await mei.shareMetadata(for: url)
            },
            { setting in
                try await setting.container.accept(try #require(setting.metadata.value))
            }
        ) { (setting: Switching, _: CKRecord.ID) async throws in
            let tom = setting.cloud.container(Switching.identifier, account: "tom")
            #expect(try await tom.sharedCloudDatabase.allRecordZones().isEmpty)
        }
    }

    // MARK: Sync engines

    @Test(.timeLimit(.minutes(15))) func `an engine's next batches are not sent as the next account`() async throws {
        try await Self.atEveryStep(
            steps: 10...60,
            prepare: { setting in
                let device = BatchDevice(setting)
                setting.device.value = device
                let engine = device.start(setting.container.privateCloudDatabase)
                try await engine.fetchChanges()
                engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: Self.zoneID))])
                engine.state.add(
                    pendingRecordZoneChanges: ["a", "b", "c"].map {
                        .saveRecord(CKRecord.ID(recordName: $0, zoneID: Self.zoneID))
                    })
                await engine.handOutState()
            },
            { setting in
                let device = try #require(setting.device.value)
                try await device.engine?.sendChanges()
                #expect(setting.hasSwitched || device.batches == 3)
            }
        ) { setting, tomID in
            let engine = try #require(setting.device.value?.engine)
            try await engine.sendChanges()
            #expect(engine.state.read { $0.userRecordName } == tomID.recordName)
            #expect(engine.state.pendingRecordZoneChanges.isEmpty && engine.state.pendingDatabaseChanges.isEmpty)
            #expect(engine.state.read { $0.sentZoneIDs.isEmpty && $0.sentSince.isEmpty })
        }
    }

    @Test(.timeLimit(.minutes(15))) func `an engine's fetch does not continue as the next account`() async throws {
        try await Self.atEveryStep(
            steps: 10...60, prepare: Self.writeNotes,
            { setting in
                let device = BatchDevice(setting)
                setting.device.value = device
                try await device.start(setting.container.privateCloudDatabase).fetchChanges()
                #expect(setting.hasSwitched || device.fetched.value.count == 3)
            }
        ) { setting, tomID in
            let device = try #require(setting.device.value)
            let engine = try #require(device.engine)
            device.fetched.value = []
            try await engine.fetchChanges()
            #expect(device.fetched.value.isEmpty)
            #expect(engine.state.read { $0.userRecordName } == tomID.recordName)
            #expect(engine.state.read { $0.zoneTokens.isEmpty && $0.unfetchedZoneIDs.isEmpty && $0.sentSince.isEmpty })
        }
    }

    @Test(.timeLimit(.minutes(15))) func `an automatic engine subscribes for the next account again`() async throws {
        var step = 1
        while true {
            let setting = try Switching()
            let tom = setting.cloud.container(Switching.identifier, account: "tom")
            let tomID = try await tom.userRecordID()
            setting.arm(at: step)
            let device = BatchDevice(setting)
            let ends = device.fetchEnds
            device.start(setting.container.privateCloudDatabase, automatically: true)
            for await user in ends {
                if !setting.disarm() || user == tomID.recordName { break }
            }
            let hasSwitched = setting.hasSwitched
            if hasSwitched {
                #expect(try await tom.privateCloudDatabase.allSubscriptions().count == 1, "step \(step)")
                #expect(device.engine?.state.read { $0.userRecordName } == tomID.recordName)
            }
            device.stop()
            await setting.cloud.close()
            if !hasSwitched { break }
            step += 1
        }
        #expect((6...40).contains(step - 1), "\(step - 1) steps")
    }
}

/// A device that begins as mei's and becomes tom's at a step that a test names: a request, or a call of an engine's delegate.
private final class Switching: Sendable {
    static let identifier = LocalCloud.defaultContainerIdentifier

    private struct State: Sendable {
        var steps = 0
        /// The step at which tom signs in; nil before and after the work.
        var switchAt: Int?
        var hasSwitched = false
        var requestsUntilSwitch: [String] = []
        var requestsOfTom: [String] = []
    }

    let cloud: LocalCloud
    let files: TestFiles
    let metadata = Box<CKShare.Metadata?>(nil)
    let device = Box<BatchDevice?>(nil)
    private let directory = ServiceDirectory()
    private let registration = Mutex<UUID?>(nil)
    private let state = Mutex(State())

    init() throws {
        cloud = try LocalCloud()
        files = try TestFiles()
        let id = directory.add(account: "mei") { [self] in
            HostileService(cloud.container($0, account: "mei")) { path in
                if path != "courier" { self.step(path) }
            }
        }
        registration.withLock { $0 = id }
    }

    var container: CKContainer { directory.container(Self.identifier) }
    var requestsOfTom: [String] { state.withLock { $0.requestsOfTom } }
    /// What mei's device asked until tom came.
    var requestsUntilSwitch: [String] { state.withLock { $0.requestsUntilSwitch } }
    var hasSwitched: Bool { state.withLock { $0.hasSwitched } }

    func arm(at step: Int) {
        state.withLock { state in
            state.switchAt = step
            state.steps = 0
            state.requestsUntilSwitch = []
        }
    }

    /// Ends the work; says whether the switch came.
    func disarm() -> Bool {
        state.withLock { state in
            state.switchAt = nil
            return state.hasSwitched
        }
    }

    func step(_ path: String? = nil) {
        let switches = state.withLock { state in
            state.steps += 1
            if let path, !state.hasSwitched { state.requestsUntilSwitch.append(path) }
            guard let step = state.switchAt, state.steps == step else { return false }
            state.hasSwitched = true
            return true
        }
        guard switches, let id = registration.withLock({ $0 }) else { return }
        directory.switchAccount(of: id, to: "tom") { [self] in
            HostileService(cloud.container($0, account: "tom")) { path in
                self.state.withLock { $0.requestsOfTom.append(path) }
            }
        }
    }
}

/// Gives an engine one record at a time.
private final class BatchDevice: CKSyncEngineDelegate {
    private let setting: Switching
    private let running = Mutex<CKSyncEngine?>(nil)
    private let sent = Mutex(0)
    let users = Box<[String]>([])
    let fetched = Box<[String]>([])
    /// The user record names of the accounts whose fetches ended.
    let fetchEnds: AsyncStream<String>
    private let ended: AsyncStream<String>.Continuation

    init(_ setting: Switching) {
        self.setting = setting
        (fetchEnds, ended) = AsyncStream.makeStream()
    }

    var engine: CKSyncEngine? { running.withLock { $0 } }
    var batches: Int { sent.withLock { $0 } }

    @discardableResult
    func start(_ database: CKDatabase, automatically: Bool = false) -> CKSyncEngine {
        var configuration = CKSyncEngine.Configuration(database: database, stateSerialization: nil, delegate: self)
        configuration.automaticallySync = automatically
        let engine = CKSyncEngine(configuration, environment: SyncEngineEnvironment(sleep: { _ in }))
        running.withLock { $0 = engine }
        return engine
    }

    func stop() { running.withLock { $0 = nil } }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        setting.step()
        switch event {
        case .accountChange(let event):
            switch event.changeType {
            case .signIn(let user), .switchAccounts(_, let user): users.value.append(user.recordName)
            case .signOut: break
            }
        case .fetchedRecordZoneChanges(let event):
            fetched.value += event.modifications.map(\.record.recordID.recordName)
        case .didFetchChanges: ended.yield(users.value.last ?? "")
        default: break
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        setting.step()
        guard case .saveRecord(let recordID)? = syncEngine.state.pendingRecordZoneChanges.first else { return nil }
        sent.withLock { $0 += 1 }
        let note = CKRecord(recordType: "Note", recordID: recordID)
        note["text"] = recordID.recordName
        return CKSyncEngine.RecordZoneChangeBatch(recordsToSave: [note])
    }
}

extension CKError {
    /// Whether it says that another account was signed in, alone or of some items.
    fileprivate var isOfSwitch: Bool {
        if code == .partialFailure {
            let errors = (partialErrorsByItemID ?? [:]).values.map { CKError(any: $0) }
            return errors.contains(where: \.isOfSwitch)
                && errors.allSatisfy { $0.isOfSwitch || $0.code == .batchRequestFailed }
        }
        return code == .operationCancelled || code == .batchRequestFailed
    }
}
