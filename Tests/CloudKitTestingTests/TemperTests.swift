import CloudKit
import CloudKitTesting
import Foundation
import Testing

@Suite struct TemperTests {
    private let zoneID = CKRecordZone.ID(zoneName: "Notes")

    private func notes(_ count: Int) -> [CKRecord] {
        (0..<count).map {
            CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "\($0)", zoneID: zoneID))
        }
    }

    private var database: CKDatabase { CKContainer.default().privateCloudDatabase }

    @Test(.cloud(limits: .tight)) func `tight limits refuse a sixth record and one of more than 2 KB`() async throws {
        try await database.save(CKRecordZone(zoneID: zoneID))
        let error = await #expect(throws: CKError.self) {
            try await database.modifyRecords(saving: notes(6), deleting: [])
        }
        #expect(error?.code == .limitExceeded)
        _ = try await database.modifyRecords(saving: notes(5), deleting: [])
        let large = notes(1)[0]
        large["text"] = String(repeating: "a", count: 2049)
        let tooLarge = await #expect(throws: CKError.self) { try await database.save(large) }
        #expect(tooLarge?.code == .limitExceeded)
    }

    @Test(.cloud(limits: .tight)) func `tight limits page answers by three`() async throws {
        try await database.save(CKRecordZone(zoneID: zoneID))
        _ = try await database.modifyRecords(saving: notes(5), deleting: [])
        let changes = try await database.recordZoneChanges(inZoneWith: zoneID, since: nil)
        #expect(changes.modificationResultsByID.count == 3)
        #expect(changes.moreComing)
        let rest = try await database.recordZoneChanges(inZoneWith: zoneID, since: changes.changeToken)
        #expect(rest.modificationResultsByID.count == 2)
        #expect(!rest.moreComing)
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
        let (found, cursor) = try await database.records(matching: query, inZoneWith: zoneID)
        #expect(found.count == 3)
        #expect(try await database.records(continuingMatchFrom: #require(cursor)).matchResults.count == 2)
    }

    @Test(.cloud(limits: .tight)) func `tight limits expire a change token after a minute`() async throws {
        let clock = try LocalCloud.current.clock
        try await database.save(CKRecordZone(zoneID: zoneID))
        let token = try await database.recordZoneChanges(inZoneWith: zoneID, since: nil).changeToken
        clock.advance(by: .seconds(59))
        _ = try await database.recordZoneChanges(inZoneWith: zoneID, since: token)
        clock.advance(by: .seconds(61))
        let error = await #expect(throws: CKError.self) {
            try await database.recordZoneChanges(inZoneWith: zoneID, since: token)
        }
        #expect(error?.code == .changeTokenExpired)
    }

    /// Fetches all changes as an app does that copes with an unfriendly service.
    private func allNames() async throws -> (names: Set<String>, emptyPages: Int, twice: Int) {
        var (names, empty, twice) = (Set<String>(), 0, 0)
        var token: CKServerChangeToken?
        while true {
            let page = try await database.recordZoneChanges(inZoneWith: zoneID, since: token, resultsLimit: 2)
            if page.modificationResultsByID.isEmpty, page.moreComing { empty += 1 }
            for recordID in page.modificationResultsByID.keys where !names.insert(recordID.recordName).inserted {
                twice += 1
            }
            token = page.changeToken
            if !page.moreComing { return (names, empty, twice) }
        }
    }

    @Test(.cloud(isUnfriendly: true, seed: 1)) func `an unfriendly service gives all records, and empty pages`()
        async throws
    {
        try await database.save(CKRecordZone(zoneID: zoneID))
        _ = try await database.modifyRecords(saving: notes(20), deleting: [])
        let (names, empty, _) = try await allNames()
        #expect(names.count == 20)
        #expect(empty > 0)
    }

    @Test(.cloud(isUnfriendly: true, seed: 1))
    func `an unfriendly service gives an empty first page, and all zones after it`()
        async throws
    {
        try await database.save(CKRecordZone(zoneID: zoneID))
        var empty = 0
        for _ in 0..<30 {
            var (token, zones, more): (CKServerChangeToken?, [CKRecordZone.ID], Bool) = (nil, [], true)
            while more {
                let page = try await database.databaseChanges(since: token)
                if token == nil, page.modifications.isEmpty, page.moreComing { empty += 1 }
                zones += page.modifications.map(\.zoneID)
                (token, more) = (page.changeToken, page.moreComing)
            }
            #expect(zones == [zoneID])
        }
        #expect(empty > 0)
    }

    @Test(arguments: [CloudLimits.apple, .tight], 1...20 as ClosedRange<UInt64>)
    func `operations fetch all changes of an unfriendly service`(limits: CloudLimits, seed: UInt64) async throws {
        try await withCloud(limits: limits, isUnfriendly: true, seed: seed) { cloud in
            try await database.save(CKRecordZone(zoneID: zoneID))
            var (zoneToken, databaseToken): (CKServerChangeToken?, CKServerChangeToken?)
            for round in 0..<4 {
                let note = CKRecord(
                    recordType: "Note", recordID: CKRecord.ID(recordName: "\(round)", zoneID: zoneID))
                try await database.save(note)
                let zones = CKFetchDatabaseChangesOperation(previousServerChangeToken: databaseToken)
                let changed = Box<[CKRecordZone.ID]>([])
                zones.recordZoneWithIDChangedBlock = { changed.value.append($0) }
                databaseToken = try await withCheckedThrowingContinuation { continuation in
                    zones.fetchDatabaseChangesResultBlock = { continuation.resume(with: $0.map(\.serverChangeToken)) }
                    database.add(zones)
                }
                #expect(changed.value == [zoneID])
                let records = CKFetchRecordZoneChangesOperation(
                    recordZoneIDs: [zoneID],
                    configurationsByRecordZoneID: [zoneID: .init(previousServerChangeToken: zoneToken)])
                let names = Box<Set<String>>([])
                let token = Box<CKServerChangeToken?>(nil)
                records.recordWasChangedBlock = { recordID, _ in names.value.insert(recordID.recordName) }
                records.recordZoneFetchResultBlock = { token.value = try? $1.get().serverChangeToken }
                try await withCheckedThrowingContinuation { continuation in
                    records.fetchRecordZoneChangesResultBlock = { continuation.resume(with: $0) }
                    database.add(records)
                }
                zoneToken = token.value
                #expect(zoneToken != nil && names.value == ["\(round)"])
            }
        }
    }

    @Test(.cloud(isUnfriendly: true, seed: 1)) func `the queries of an unfriendly service lag behind`() async throws {
        try await database.save(CKRecordZone(zoneID: zoneID))
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
        var lagged = false
        for (number, note) in notes(20).enumerated() {
            try await database.save(note)
            var (found, cursor) = try await database.records(matching: query, inZoneWith: zoneID)
            while let next = cursor {
                let page = try await database.records(continuingMatchFrom: next)
                found += page.matchResults
                cursor = page.queryCursor
            }
            if found.count < number + 1 { lagged = true }
        }
        #expect(lagged)
    }

    @Test(.cloud(isUnfriendly: true), arguments: 0..<5)
    func `a sync engine copes with an unfriendly service`(number: Int) async throws {
        try await database.save(CKRecordZone(zoneID: zoneID))
        _ = try await database.modifyRecords(saving: notes(30), deleting: [])
        let copy = Copy()
        var configuration = CKSyncEngine.Configuration(database: database, stateSerialization: nil, delegate: copy)
        configuration.automaticallySync = false
        let engine = CKSyncEngine(configuration)
        try await engine.fetchChanges()
        #expect(copy.names.value.count == 30)
    }
}

/// An app's copy of what an engine fetches.
private final class Copy: CKSyncEngineDelegate {
    let names = Box<Set<String>>([])

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        guard case .fetchedRecordZoneChanges(let changes) = event else { return }
        for modification in changes.modifications { names.value.insert(modification.record.recordID.recordName) }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? { nil }
}
