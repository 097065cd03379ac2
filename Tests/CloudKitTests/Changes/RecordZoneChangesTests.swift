import CloudKit
import CloudKitLocal
import Testing

@Suite struct RecordZoneChangesTests {
    private let zoneID = CKRecordZone.ID(zoneName: "Z")

    private func database(zones: Bool = true) async throws -> CKDatabase {
        let database = try CKContainer.local().privateCloudDatabase
        if zones { try await database.makeZones("Z") }
        return database
    }

    private func operation(
        _ zoneIDs: [CKRecordZone.ID], limit: Int = 0,
        tokens: [CKRecordZone.ID: CKServerChangeToken] = [:]
    ) -> CKFetchRecordZoneChangesOperation {
        CKFetchRecordZoneChangesOperation(
            recordZoneIDs: zoneIDs,
            configurationsByRecordZoneID: Dictionary(
                uniqueKeysWithValues: zoneIDs.map {
                    ($0, .init(previousServerChangeToken: tokens[$0], resultsLimit: limit))
                }))
    }

    @Test func `changes come first, then the zone, then the end`() async throws {
        let database = try await database()
        try await database.put("a", "b", zone: "Z", text: "1")
        let (log, tokens) = (CallLog(), Box<[CKRecordZone.ID: CKServerChangeToken]>([:]))
        let first = operation([zoneID])
        first.note(in: log, tokens: tokens)
        await first.finish(in: database)
        #expect(log.lines == ["a=1", "b=1", "zone Z", "end"])

        try await database.put("a", zone: "Z", text: "2")
        try await database.remove("b", zone: "Z")
        let since = CallLog()
        let second = operation([zoneID], tokens: tokens.value)
        second.note(in: since, tokens: tokens)
        await second.finish(in: database)
        #expect(since.lines == ["a=2", "-b:Note", "zone Z", "end"])
    }

    @Test func `batches end with a token, the last one with the zone's result`() async throws {
        let database = try await database()
        try await database.put("a", "b", "c", zone: "Z")
        let log = CallLog()
        let all = operation([zoneID], limit: 1)
        all.note(in: log)
        await all.finish(in: database)
        #expect(log.lines == ["a=", "tokens Z", "b=", "tokens Z", "c=", "zone Z", "end"])

        let (one, tokens) = (CallLog(), Box<[CKRecordZone.ID: CKServerChangeToken]>([:]))
        for _ in 1...3 {
            let batch = operation([zoneID], limit: 1, tokens: tokens.value)
            batch.fetchAllChanges = false
            batch.note(in: one, tokens: tokens)
            await batch.finish(in: database)
        }
        #expect(one.lines == ["a=", "zone Z more", "end", "b=", "zone Z more", "end", "c=", "zone Z", "end"])
    }

    @Test func `zones come one after another, each with its own end`() async throws {
        let database = try await database()
        try await database.makeZones("Y")
        try await database.put("a", "b", zone: "Z")
        try await database.put("c", zone: "Y")
        let log = CallLog()
        let all = operation(
            [zoneID, CKRecordZone.ID(zoneName: "Gone"), CKRecordZone.ID(zoneName: "Y"), .default], limit: 1)
        all.note(in: log)
        await all.finish(in: database)
        #expect(
            log.lines == [
                "a=", "tokens Z", "b=", "zone Z", "zone Gone!26", "c=", "zone Y", "zone _defaultZone!12",
                "end!\(CKError.Code.partialFailure.rawValue)",
            ])
    }

    @Test func `a zone that was made again refuses the old zone's tokens`() async throws {
        let database = try await database()
        try await database.put("a", zone: "Z")
        let token = try await database.recordZoneChanges(inZoneWith: zoneID, since: nil).changeToken
        try await database.deleteRecordZone(withID: zoneID)
        try await database.makeZones("Z")
        let log = CallLog()
        let fetch = operation([zoneID], tokens: [zoneID: token])
        fetch.note(in: log)
        await fetch.finish(in: database)
        #expect(
            log.lines == [
                "zone Z!\(CKError.Code.changeTokenExpired.rawValue)", "end!\(CKError.Code.partialFailure.rawValue)",
            ])
        await #expect { _ = try await database.recordZoneChanges(inZoneWith: zoneID, since: token) } throws: {
            ($0 as? CKError)?.code == .changeTokenExpired
        }
    }

    @Test func `the older completion blocks report zones as a partial failure`() async throws {
        let database = try await database()
        try await database.put("a", zone: "Z")
        let log = CallLog()
        let fetch = operation([zoneID, CKRecordZone.ID(zoneName: "Gone")])
        let older: any OlderZoneBlocks = fetch
        older.setOlderBlocks(
            record: { log.note($0.recordID.recordName) },
            zone: { zoneID, token, _, more, error in
                log.note("\(zoneID.zoneName) \(token != nil) \(more) \((error as? CKError)?.code.rawValue ?? 0)")
            },
            end: { error in
                let failed = (error as? CKError)?.partialErrorsByItemID?.keys.compactMap { $0.base as? CKRecordZone.ID }
                log.note("end \(failed?.map(\.zoneName) ?? [])")
            })
        await fetch.finish(in: database)
        #expect(log.lines == ["a", "Z true false 0", "Gone false false 26", "end [\"Gone\"]"])
    }

    @Test func `neither the public database nor a missing account has changes`() async throws {
        let cloud = try LocalCloud()
        for (database, code) in [
            (cloud.container().publicCloudDatabase, CKError.Code.badDatabase),
            (cloud.container(account: nil).privateCloudDatabase, .notAuthenticated),
        ] {
            let log = CallLog()
            let fetch = operation([zoneID])
            fetch.note(in: log)
            await fetch.finish(in: database)
            #expect(log.lines == ["end!\(code.rawValue)"])
            await #expect { _ = try await database.databaseChanges(since: nil) } throws: {
                ($0 as? CKError)?.code == code
            }
        }
    }

    @Test func `the client's data of a change comes back until the next change`() async throws {
        let database = try await database()
        try await database.makeZones("Y")
        func save(_ name: String, _ data: String?) async {
            let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(name, "Z"))
            let operation = CKModifyRecordsOperation(recordsToSave: [record])
            operation.clientChangeTokenData = data.map { Data($0.utf8) }
            await operation.finish(in: database)
        }
        func zoneEnds() async -> [String] {
            let log = CallLog()
            let fetch = operation([zoneID, CKRecordZone.ID(zoneName: "Y")])
            fetch.note(in: log)
            await fetch.finish(in: database)
            return log.lines.filter { $0.hasPrefix("zone") }
        }
        #expect(await zoneEnds() == ["zone Z", "zone Y"])
        await save("a", "mine 1")
        #expect(await zoneEnds() == ["zone Z mine 1", "zone Y"])
        await save("a", "refused, so not kept")
        #expect(await zoneEnds() == ["zone Z mine 1", "zone Y"])
        await save("b", nil)
        #expect(await zoneEnds() == ["zone Z", "zone Y"])
    }

    @Test func `async functions take desired keys and fetch one batch at a time`() async throws {
        let database = try await database()
        try await database.put("a", "b", zone: "Z", text: "1")
        let first = try await database.recordZoneChanges(
            inZoneWith: zoneID, since: nil, desiredKeys: [], resultsLimit: 1)
        #expect(first.moreComing && first.deletions.isEmpty)
        let record = try #require(try first.modificationResultsByID[CKRecord.ID("a", "Z")]?.get().record)
        #expect(record["text"] == nil && record.recordType == "Note" && record.recordChangeTag != nil)
        try await database.remove("b", zone: "Z")
        let second = try await database.recordZoneChanges(inZoneWith: zoneID, since: first.changeToken)
        #expect(
            second.deletions.map(\.recordID) == [CKRecord.ID("b", "Z")]
                && second.deletions.map(\.recordType) == ["Note"])
        #expect(second.modificationResultsByID.isEmpty && !second.moreComing)
    }

    @Test func `under concurrent writes no record is missed or repeated`() async throws {
        let database = try await database()
        let writer = Task {
            for number in 0..<60 { try await database.put("n\(number)", "m\(number)", zone: "Z") }
        }
        var (names, token): ([String], CKServerChangeToken?) = ([], nil)
        func drain() async throws {
            var more = true
            while more {
                let batch = try await database.recordZoneChanges(inZoneWith: zoneID, since: token, resultsLimit: 7)
                names += batch.modificationResultsByID.keys.map(\.recordName)
                (token, more) = (batch.changeToken, batch.moreComing)
            }
        }
        for _ in 1...5 { try await drain() }
        try await writer.value
        try await drain()
        #expect(names.count == 120 && Set(names).count == 120)
    }

    @Test func `cancelling ends the fetch, and no block is called afterwards`() async throws {
        let database = try await database()
        try await database.put("a", "b", "c", zone: "Z")
        let log = CallLog()
        let fetch = operation([zoneID], limit: 1)
        fetch.note(in: log)
        let block = fetch.recordWasChangedBlock
        fetch.recordWasChangedBlock = { [weak fetch] recordID, result in
            block?(recordID, result)
            fetch?.cancel()
        }
        await fetch.finish(in: database)
        #expect(log.lines == ["a=", "end!\(CKError.Code.operationCancelled.rawValue)"])
    }

    @Test func `a token survives its archive`() async throws {
        let database = try await database()
        try await database.put("a", zone: "Z")
        let token = try await database.recordZoneChanges(inZoneWith: zoneID, since: nil).changeToken
        let data = try NSKeyedArchiver.archivedData(withRootObject: token, requiringSecureCoding: true)
        let restored = try #require(
            try NSKeyedUnarchiver.unarchivedObject(ofClass: CKServerChangeToken.self, from: data))
        #expect(restored == token && restored.hash == token.hash)
        #expect(data.range(of: Data("CKServerChangeToken".utf8)) != nil)
        #expect(data.range(of: Data("ChangeTokenData".utf8)) != nil)
        try await database.put("b", zone: "Z")
        let changes = try await database.recordZoneChanges(inZoneWith: zoneID, since: restored)
        #expect(changes.modificationResultsByID.keys.map(\.recordName) == ["b"])
    }

    @Test func `a zone configuration is copied and archived whole`() throws {
        let configuration = CKFetchRecordZoneChangesOperation.ZoneConfiguration(resultsLimit: 3, desiredKeys: ["a"])
        let data = try NSKeyedArchiver.archivedData(withRootObject: configuration, requiringSecureCoding: true)
        let restored = try #require(
            try NSKeyedUnarchiver.unarchivedObject(
                ofClass: CKFetchRecordZoneChangesOperation.ZoneConfiguration.self, from: data))
        let copy = try #require(configuration.copy() as? CKFetchRecordZoneChangesOperation.ZoneConfiguration)
        configuration.resultsLimit = 9
        for other in [restored, copy] {
            #expect(other.resultsLimit == 3 && other.desiredKeys == ["a"] && other.previousServerChangeToken == nil)
        }
    }
}

/// The older blocks are deprecated; called through a protocol they give no warning.
protocol OlderZoneBlocks {
    func setOlderBlocks(
        record: @escaping (CKRecord) -> Void,
        zone: @escaping (CKRecordZone.ID, CKServerChangeToken?, Data?, Bool, (any Error)?) -> Void,
        end: @escaping ((any Error)?) -> Void)
}

extension CKFetchRecordZoneChangesOperation: OlderZoneBlocks {
    @available(*, deprecated)
    func setOlderBlocks(
        record: @escaping (CKRecord) -> Void,
        zone: @escaping (CKRecordZone.ID, CKServerChangeToken?, Data?, Bool, (any Error)?) -> Void,
        end: @escaping ((any Error)?) -> Void
    ) {
        recordChangedBlock = record
        recordZoneFetchCompletionBlock = zone
        fetchRecordZoneChangesCompletionBlock = end
    }
}
