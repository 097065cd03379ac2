import Foundation
import Synchronization
import Testing

@testable import CloudKit

/// A device's files in a fixture, `clients/NAME`, and what the device finds with them.
struct FixtureClient: Codable {
    /// The names of the files.
    enum File: String {
        case keys, record, share, zoneToken, databaseToken, engine
    }

    var name: String
    var token: String
    var apiToken: String
    var container: String
    var zone: String
    /// The owner's user record name, for a zone of the shared database; nil for the private database.
    var zoneOwner: String?
    /// The encrypted texts that the device can open, by record.
    var secrets: [String: String]
    /// The names of the records that changed after the token, in order, and of the zones.
    var changed: [String]
    var changedZones: [String]
    /// The names of the records that the engine's state has as pending, in order.
    var pending: [String]
    /// The name of the archived record, which has the newest change tag.
    var archived: String

    func database(_ url: String, files: URL) throws -> CKDatabase {
        let environment = CloudKitEnvironment(
            url: try #require(URL(string: url)), account: .token(token), apiToken: apiToken,
            keyDirectory: file(.keys, in: files))
        let container = CKContainer(identifier: container, service: environment.service(of: container))
        return zoneOwner == nil ? container.privateCloudDatabase : container.sharedCloudDatabase
    }

    func file(_ file: File, in files: URL) -> URL {
        files.appendingPathComponent("clients/\(name)/\(file.rawValue)")
    }

    var zoneID: CKRecordZone.ID {
        CKRecordZone.ID(zoneName: zone, ownerName: zoneOwner ?? CKCurrentUserDefaultName)
    }

    /// What an archive holds.
    func unarchived<T: NSObject & NSSecureCoding>(_ type: T.Type, _ file: File, in files: URL) throws -> T {
        let data = try Data(contentsOf: self.file(file, in: files))
        return try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: type, from: data))
    }

    /// Checks that the device's keys, archives and tokens go on.
    /// - Parameter tokensExpire: whether the store is one of which the device may have seen a later state: a loaded dump.
    func expectContinuity(_ url: String, files: URL, tokensExpire: Bool) async throws {
        let database = try database(url, files: files)
        try await expectSecrets(database)
        if tokensExpire {
            try await expectExpiredTokens(database, files)
        } else {
            try await expectTokens(database, files)
        }
        try await expectEngine(database, files, fetchesAll: tokensExpire)
        try await expectArchives(database, files)
    }

    private func expectSecrets(_ database: CKDatabase) async throws {
        for (name, secret) in secrets {
            let record = try await database.record(for: CKRecord.ID(recordName: name, zoneID: zoneID))
            #expect(record.encryptedValues["secret"] == secret)
            // Sealed files open, too.
            if let file = record["file"] as? CKAsset {
                #expect(try Data(contentsOf: try #require(file.fileURL)) == Data("the file of \(name)".utf8))
            }
        }
    }

    private func expectTokens(_ database: CKDatabase, _ files: URL) async throws {
        let zoneToken = try unarchived(CKServerChangeToken.self, .zoneToken, in: files)
        let changes = try await database.recordZoneChanges(inZoneWith: zoneID, since: zoneToken)
        #expect(Self.names(changes.modificationResultsByID.keys, changes.deletions.map(\.recordID)) == changed)
        let databaseToken = try unarchived(CKServerChangeToken.self, .databaseToken, in: files)
        let zones = try await database.databaseChanges(since: databaseToken)
        #expect(
            (zones.modifications.map(\.zoneID) + zones.deletions.map(\.zoneID)).map(\.zoneName).sorted() == changedZones
        )
    }

    private func expectExpiredTokens(_ database: CKDatabase, _ files: URL) async throws {
        let zoneToken = try unarchived(CKServerChangeToken.self, .zoneToken, in: files)
        let zone = await #expect(throws: CKError.self) {
            try await database.recordZoneChanges(inZoneWith: zoneID, since: zoneToken)
        }
        let databaseToken = try unarchived(CKServerChangeToken.self, .databaseToken, in: files)
        let zones = await #expect(throws: CKError.self) { try await database.databaseChanges(since: databaseToken) }
        #expect([zone?.code, zones?.code] == [.changeTokenExpired, .changeTokenExpired])
    }

    private func expectEngine(_ database: CKDatabase, _ files: URL, fetchesAll: Bool) async throws {
        let state = try JSONDecoder().decode(
            CKSyncEngine.State.Serialization.self, from: try Data(contentsOf: file(.engine, in: files)))
        let device = FixtureDevice()
        let engine = device.engine(database, state)
        let waiting = engine.state.pendingRecordZoneChanges.compactMap { change in
            if case .saveRecord(let id) = change { id.recordName } else { nil }
        }
        #expect(waiting == pending)
        try await engine.fetchChanges()
        let fetched = device.fetched.withLock { $0.sorted() }
        #expect(fetchesAll ? Set(fetched).isStrictSuperset(of: changed) : fetched == changed)
        try await engine.sendChanges()
        #expect(device.sent.withLock { $0.sorted() } == pending)
    }

    /// The archived record has the newest tag, so saving it is no conflict; that of the share is as it was.
    private func expectArchives(_ database: CKDatabase, _ files: URL) async throws {
        let record = try unarchived(CKRecord.self, .record, in: files)
        #expect(record.recordID.recordName == archived)
        record["saved"] = "by a later build"
        let saved = try await database.save(record)
        #expect(saved.encryptedValues["secret"] == secrets[archived])
        guard FileManager.default.fileExists(atPath: file(.share, in: files).path) else { return }
        let share = try unarchived(CKShare.self, .share, in: files)
        let current = try #require(try await database.record(for: share.recordID) as? CKShare)
        #expect(current.recordChangeTag == share.recordChangeTag)
        #expect(current.participants.count == share.participants.count && share.participants.count > 1)
        #expect(current.url?.path == share.url?.path)
    }

    static func names(_ saved: some Collection<CKRecord.ID>, _ deleted: [CKRecord.ID]) -> [String] {
        (Array(saved) + deleted).map(\.recordName).sorted()
    }
}

/// An app with a sync engine. It saves a record of each name that is pending.
final class FixtureDevice: CKSyncEngineDelegate {
    let fetched = Mutex<[String]>([])
    let sent = Mutex<[String]>([])
    let state = Mutex<CKSyncEngine.State.Serialization?>(nil)

    func engine(_ database: CKDatabase, _ state: CKSyncEngine.State.Serialization?) -> CKSyncEngine {
        var configuration = CKSyncEngine.Configuration(database: database, stateSerialization: state, delegate: self)
        configuration.automaticallySync = false
        return CKSyncEngine(configuration)
    }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        switch event {
        case .stateUpdate(let update): state.withLock { $0 = update.stateSerialization }
        case .fetchedRecordZoneChanges(let changes):
            let names = FixtureClient.names(
                changes.modifications.map(\.record.recordID), changes.deletions.map(\.recordID))
            fetched.withLock { $0 += names }
        case .sentRecordZoneChanges(let changes):
            sent.withLock { $0 += changes.savedRecords.map(\.recordID.recordName) }
            for failure in changes.failedRecordSaves { Issue.record(failure.error) }
        default: break
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: syncEngine.state.pendingRecordZoneChanges) { id in
            let record = CKRecord(recordType: "Item", recordID: id)
            // A participant's record belongs to a hierarchy.
            if syncEngine.database.databaseScope == .shared {
                record.parent = CKRecord.Reference(
                    recordID: CKRecord.ID(recordName: "list", zoneID: id.zoneID), action: .none)
            }
            return record
        }
    }
}
