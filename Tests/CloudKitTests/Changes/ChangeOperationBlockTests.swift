import CloudKit
import CloudKitLocal
import Testing

/// The blocks and properties of the operations on changes that apps seldom use.
@Suite struct ChangeOperationBlockTests {
    private let cloud: LocalCloud
    private let database: CKDatabase
    private let a = CKRecordZone.ID(zoneName: "A")
    private let b = CKRecordZone.ID(zoneName: "B")

    init() throws {
        cloud = try LocalCloud()
        database = cloud.container().privateCloudDatabase
    }

    private static func code(_ error: (any Error)?) -> String {
        (error as? CKError).map { "!\($0.code.rawValue)" } ?? ""
    }

    // MARK: Changes of zones

    @Test func `a new operation has no options, and keeps those that are set`() async throws {
        try await database.makeZones("A")
        let token = try await database.recordZoneChanges(inZoneWith: a, since: nil).changeToken
        let fetch = CKFetchRecordZoneChangesOperation()
        #expect(fetch.recordZoneIDs == nil && fetch.configurationsByRecordZoneID == nil && fetch.fetchAllChanges)
        let configuration = CKFetchRecordZoneChangesOperation.ZoneConfiguration()
        #expect(configuration.previousServerChangeToken == nil && configuration.desiredKeys == nil)
        #expect(configuration.resultsLimit == 0)
        configuration.previousServerChangeToken = token
        configuration.resultsLimit = 3
        configuration.desiredKeys = ["text"]
        fetch.configurationsByRecordZoneID = [a: configuration]
        fetch.recordZoneIDs = [a, b]
        fetch.fetchAllChanges = false
        #expect(fetch.recordZoneIDs == [a, b] && !fetch.fetchAllChanges)
        let kept = try #require(fetch.configurationsByRecordZoneID?[a])
        #expect(kept.previousServerChangeToken == token && kept.resultsLimit == 3 && kept.desiredKeys == ["text"])

        let zones = CKFetchDatabaseChangesOperation()
        #expect(zones.previousServerChangeToken == nil && zones.resultsLimit == 0 && zones.fetchAllChanges)
        let databaseToken = try await database.databaseChanges(since: nil).changeToken
        zones.previousServerChangeToken = databaseToken
        zones.resultsLimit = 7
        zones.fetchAllChanges = false
        #expect(zones.previousServerChangeToken == databaseToken && zones.resultsLimit == 7 && !zones.fetchAllChanges)
    }

    @Test func `without zone IDs the configured zones are fetched, without zones none`() async throws {
        try await database.makeZones("A", "B")
        try await database.put("x", zone: "A", text: "1")
        try await database.put("y", zone: "B", text: "2")
        let log = CallLog()
        let fetch = CKFetchRecordZoneChangesOperation()
        fetch.configurationsByRecordZoneID = [b: .init()]
        fetch.note(in: log)
        await fetch.finish(in: database)
        #expect(log.lines == ["y=2", "zone B", "end"])
        let nothing = CallLog()
        let none = CKFetchRecordZoneChangesOperation(recordZoneIDs: [])
        none.note(in: nothing)
        await none.finish(in: database)
        #expect(nothing.lines == ["end"])
    }

    @Test func `each zone is fetched with its own token, limit and keys`() async throws {
        try await database.makeZones("A", "B")
        try await database.put("a1", "a2", zone: "A", text: "1")
        let token = try await database.recordZoneChanges(inZoneWith: a, since: nil).changeToken
        try await database.put("a3", zone: "A", text: "1")
        try await database.put("b1", "b2", zone: "B", text: "2")
        let log = CallLog()
        let fetch = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: [a, b],
            configurationsByRecordZoneID: [
                a: .init(previousServerChangeToken: token), b: .init(resultsLimit: 1, desiredKeys: []),
            ])
        fetch.note(in: log)
        await fetch.finish(in: database)
        #expect(log.lines == ["a3=1", "zone A", "b1=-", "tokens B", "b2=-", "zone B", "end"])
    }

    @Test func `the client's data comes with the tokens of every batch`() async throws {
        try await database.makeZones("A")
        let records = ["a1", "a2"].map { CKRecord(recordType: "Note", recordID: CKRecord.ID($0, "A")) }
        let save = CKModifyRecordsOperation(recordsToSave: records)
        save.clientChangeTokenData = Data("mine".utf8)
        await save.finish(in: database)
        let log = CallLog()
        let fetch = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: [a], configurationsByRecordZoneID: [a: .init(resultsLimit: 1)])
        fetch.recordZoneChangeTokensUpdatedBlock = { zoneID, token, data in
            log.note("\(zoneID.zoneName) \(token != nil) \(data.map { String(decoding: $0, as: UTF8.self) } ?? "-")")
        }
        await fetch.finish(in: database)
        #expect(log.lines == ["A true mine"])
    }

    @Test func `zones that the user deleted fail with the reason`() async throws {
        try await database.makeZones("A", "B")
        try await cloud.removeZones([a], reason: .purged)
        try await cloud.removeZones([b], reason: .encryptedDataReset)
        let log = CallLog()
        let fetch = CKFetchRecordZoneChangesOperation(recordZoneIDs: [a, b])
        fetch.recordZoneFetchResultBlock = { zoneID, result in
            guard case .failure(let error as CKError) = result else { return log.note("found") }
            let wasReset = error.userInfo[CKErrorUserDidResetEncryptedDataKey] as? Bool ?? false
            log.note("\(zoneID.zoneName)\(Self.code(error)) \(wasReset)")
        }
        fetch.fetchRecordZoneChangesResultBlock = { log.note("end \((try? $0.get()) != nil)") }
        await fetch.finish(in: database)
        #expect(
            log.lines == [
                "A!\(CKError.Code.userDeletedZone.rawValue) false", "B!\(CKError.Code.zoneNotFound.rawValue) true",
                "end false",
            ])
    }

    @Test @available(*, deprecated) func `older options map to a configuration, and newer blocks replace older ones`()
        async throws
    {
        try await database.makeZones("A")
        try await database.put("a1", "a2", zone: "A", text: "1")
        let options = CKFetchRecordZoneChangesOperation.ZoneOptions()
        options.resultsLimit = 1
        options.desiredKeys = []
        let log = CallLog()
        let fetch = CKFetchRecordZoneChangesOperation(recordZoneIDs: [a], optionsByRecordZoneID: [a: options])
        #expect(
            fetch.optionsByRecordZoneID?[a] === options && fetch.configurationsByRecordZoneID?[a]?.resultsLimit == 1)
        fetch.note(in: log)
        fetch.recordChangedBlock = { log.note("older \($0.recordID.recordName)") }
        fetch.recordZoneFetchCompletionBlock = { zoneID, _, _, _, _ in log.note("older \(zoneID.zoneName)") }
        fetch.fetchRecordZoneChangesCompletionBlock = { log.note("older end\(Self.code($0))") }
        await fetch.finish(in: database)
        #expect(log.lines == ["a1=-", "tokens A", "a2=-", "zone A", "end", "older end"])
        let later = CKFetchRecordZoneChangesOperation()
        later.optionsByRecordZoneID = [a: options]
        #expect(later.configurationsByRecordZoneID?.keys.map(\.zoneName) == ["A"])
    }

    @Test @available(*, deprecated) func `an operation's failure goes to both generations of its last block`()
        async throws
    {
        let nobody = cloud.container(account: nil).privateCloudDatabase
        let expected = "!\(CKError.Code.notAuthenticated.rawValue)"
        let log = CallLog()
        let fetch = CKFetchRecordZoneChangesOperation(recordZoneIDs: [a])
        fetch.note(in: log)
        fetch.fetchRecordZoneChangesCompletionBlock = { log.note("older end\(Self.code($0))") }
        await fetch.finish(in: nobody)
        let zones = CKFetchDatabaseChangesOperation(previousServerChangeToken: nil)
        zones.fetchDatabaseChangesResultBlock = { result in
            if case .failure(let error) = result { log.note("zones\(Self.code(error))") }
        }
        zones.fetchDatabaseChangesCompletionBlock = { token, more, error in
            log.note("older zones \(token == nil) \(more)\(Self.code(error))")
        }
        await zones.finish(in: nobody)
        #expect(
            log.lines == [
                "end\(expected)", "older end\(expected)", "zones\(expected)", "older zones true false\(expected)",
            ])
    }

    // MARK: Changes of a database

    @Test @available(*, deprecated) func `zones that the user deleted have their own blocks, or count as deleted`()
        async throws
    {
        try await database.makeZones("A", "B", "C")
        let token = try await database.databaseChanges(since: nil).changeToken
        try await cloud.removeZones([a], reason: .purged)
        try await cloud.removeZones([b], reason: .encryptedDataReset)
        try await database.deleteRecordZone(withID: CKRecordZone.ID(zoneName: "C"))
        for hasBlocks in [true, false] {
            let log = CallLog()
            let fetch = CKFetchDatabaseChangesOperation()
            fetch.previousServerChangeToken = token
            fetch.recordZoneWithIDWasDeletedBlock = { log.note("deleted \($0.zoneName)") }
            if hasBlocks {
                fetch.recordZoneWithIDWasPurgedBlock = { log.note("purged \($0.zoneName)") }
                fetch.recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock = { log.note("reset \($0.zoneName)") }
            }
            fetch.fetchDatabaseChangesCompletionBlock = { token, more, error in
                log.note("\(token != nil) \(more)\(Self.code(error))")
            }
            await fetch.finish(in: database)
            let expected = hasBlocks ? ["purged A", "reset B", "deleted C"] : ["deleted A", "deleted B", "deleted C"]
            #expect(log.lines == expected + ["true false"])
        }
        let deletions = try await database.databaseChanges(since: token).deletions
        #expect(deletions.map(\.reason) == [.purged, .encryptedDataReset, .deleted])
        #expect(deletions.map(\.purged) == [true, false, false])
    }

    @Test func `the token of every batch but the last can be continued from`() async throws {
        try await database.makeZones("A", "B", "C")
        let token = Box<CKServerChangeToken?>(nil)
        let fetch = CKFetchDatabaseChangesOperation(previousServerChangeToken: nil)
        fetch.resultsLimit = 2
        fetch.changeTokenUpdatedBlock = { token.value = $0 }
        await fetch.finish(in: database)
        let known: CKServerChangeToken = try #require(token.value)
        let rest = try await database.databaseChanges(since: known)
        #expect(rest.modifications.map(\.zoneID.zoneName) == ["C"])
    }

    // MARK: Changes of one zone, the oldest operation

    @Test @available(*, deprecated) func `the single-zone operation's tokens are valid for the newer operation`()
        async throws
    {
        try await database.makeZones("A")
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID("a1", "A"))
        (record["text"], record["other"]) = ("1", "2")
        let save = CKModifyRecordsOperation(recordsToSave: [record])
        save.clientChangeTokenData = Data("mine".utf8)
        await save.finish(in: database)
        let (log, token) = (CallLog(), Box<CKServerChangeToken?>(nil))
        let fetch = CKFetchRecordChangesOperation()
        #expect(fetch.recordZoneID == nil && fetch.previousServerChangeToken == nil && fetch.desiredKeys == nil)
        #expect(fetch.resultsLimit == 0 && !fetch.moreComing)
        fetch.recordZoneID = a
        fetch.desiredKeys = ["other"]
        fetch.recordChangedBlock = { log.note("\($0.allKeys())") }
        fetch.fetchRecordChangesCompletionBlock = { end, data, error in
            token.value = end
            log.note("\(data.map { String(decoding: $0, as: UTF8.self) } ?? "-")\(Self.code(error))")
        }
        await fetch.finish(in: database)
        #expect(log.lines == ["[\"other\"]", "mine"] && !fetch.moreComing)
        try await database.remove("a1", zone: "A")
        let known: CKServerChangeToken = try #require(token.value)
        let since = try await database.recordZoneChanges(inZoneWith: a, since: known)
        #expect(since.deletions.map(\.recordID.recordName) == ["a1"] && since.modificationResultsByID.isEmpty)
    }

    @Test @available(*, deprecated) func `the single-zone operation fails with its zone's error`() async throws {
        try await database.makeZones("A")
        let databaseToken = try await database.databaseChanges(since: nil).changeToken
        let cases: [(CKRecordZone.ID?, CKServerChangeToken?, CKError.Code)] = [
            (nil, nil, .invalidArguments), (b, nil, .zoneNotFound), (.default, nil, .invalidArguments),
            (a, databaseToken, .changeTokenExpired),
        ]
        for (zoneID, token, code) in cases {
            let log = CallLog()
            let fetch = CKFetchRecordChangesOperation()
            fetch.recordZoneID = zoneID
            fetch.previousServerChangeToken = token
            fetch.fetchRecordChangesCompletionBlock = { token, data, error in
                log.note("\(token == nil) \(data == nil)\(Self.code(error))")
            }
            await fetch.finish(in: database)
            #expect(log.lines == ["true true!\(code.rawValue)"])
        }
    }
}
