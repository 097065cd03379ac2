import CloudKit
import CloudKitLocal
import Testing

@Suite struct DatabaseChangesTests {
    private func fetch(
        _ database: CKDatabase, since token: CKServerChangeToken?, limit: Int = 0, all: Bool = true
    ) async -> (lines: [String], token: CKServerChangeToken?) {
        let (log, end) = (CallLog(), Box<CKServerChangeToken?>(nil))
        let operation = CKFetchDatabaseChangesOperation(previousServerChangeToken: token)
        operation.resultsLimit = limit
        operation.fetchAllChanges = all
        operation.recordZoneWithIDChangedBlock = { log.note($0.zoneName) }
        operation.recordZoneWithIDWasDeletedBlock = { log.note("-" + $0.zoneName) }
        operation.changeTokenUpdatedBlock = { _ in log.note("token") }
        operation.fetchDatabaseChangesResultBlock = { result in
            switch result {
            case .success(let success):
                log.note(success.moreComing ? "more" : "end")
                end.value = success.serverChangeToken
            case .failure(let error): log.note("end!\((error as? CKError)?.code.rawValue ?? 0)")
            }
        }
        await operation.finish(in: database)
        return (log.lines, end.value)
    }

    @Test func `changed zones come oldest change first, then the end`() async throws {
        let database = try CKContainer.local().privateCloudDatabase
        try await database.makeZones("A", "B", "C")
        try await database.put("a", zone: "A")
        let first = await fetch(database, since: nil)
        #expect(first.lines == ["B", "C", "A", "end"])
        #expect(await fetch(database, since: first.token).lines == ["end"])
        try await database.put("b", zone: "B")
        try await database.deleteRecordZone(withID: CKRecordZone.ID(zoneName: "C"))
        #expect(await fetch(database, since: first.token).lines == ["B", "-C", "end"])
    }

    @Test func `batches end with a token, the last one with the result`() async throws {
        let database = try CKContainer.local().privateCloudDatabase
        try await database.makeZones("A", "B", "C")
        #expect(await fetch(database, since: nil, limit: 2).lines == ["A", "B", "token", "C", "end"])
        let first = await fetch(database, since: nil, limit: 2, all: false)
        #expect(first.lines == ["A", "B", "more"])
        #expect(await fetch(database, since: first.token, limit: 2, all: false).lines == ["C", "end"])
    }

    @Test func `the async form returns changed and deleted zones`() async throws {
        let database = try CKContainer.local().privateCloudDatabase
        try await database.makeZones("A", "B")
        let first = try await database.databaseChanges(since: nil, resultsLimit: 1)
        #expect(first.modifications.map(\.zoneID) == [CKRecordZone.ID(zoneName: "A")] && first.moreComing)
        try await database.deleteRecordZone(withID: CKRecordZone.ID(zoneName: "A"))
        let second = try await database.databaseChanges(since: first.changeToken)
        #expect(second.modifications.map(\.zoneID) == [CKRecordZone.ID(zoneName: "B")])
        #expect(second.deletions.map(\.zoneID.zoneName) == ["A"] && second.deletions.map(\.reason) == [.deleted])
        #expect(!second.moreComing)
    }

    @Test func `a zone's token, or another account's, is not valid for the database`() async throws {
        let cloud = try LocalCloud()
        let mine = cloud.container(account: "mei").privateCloudDatabase
        let theirs = cloud.container(account: "tom").privateCloudDatabase
        try await mine.makeZones("A")
        let zoneToken = try await mine.recordZoneChanges(
            inZoneWith: CKRecordZone.ID(zoneName: "A"), since: nil
        ).changeToken
        let expired = ["end!\(CKError.Code.changeTokenExpired.rawValue)"]
        #expect(await fetch(mine, since: zoneToken).lines == expired)
        let token = try await mine.databaseChanges(since: nil).changeToken
        #expect(await fetch(theirs, since: token).lines == expired)
    }

    @Test @available(*, deprecated) func `the single-zone operation fetches one batch`() async throws {
        let database = try CKContainer.local().privateCloudDatabase
        let zoneID = CKRecordZone.ID(zoneName: "A")
        try await database.makeZones("A")
        try await database.put("a", "b", zone: "A")
        let (log, end) = (CallLog(), Box<CKServerChangeToken?>(nil))
        func operation(since token: CKServerChangeToken?) -> CKFetchRecordChangesOperation {
            let operation = CKFetchRecordChangesOperation(recordZoneID: zoneID, previousServerChangeToken: token)
            operation.recordChangedBlock = { log.note($0.recordID.recordName) }
            operation.recordWithIDWasDeletedBlock = { log.note("-" + $0.recordName) }
            operation.fetchRecordChangesCompletionBlock = { token, _, error in
                log.note(error.map { "\($0)" } ?? "end")
                end.value = token
            }
            return operation
        }
        let first = operation(since: nil)
        first.resultsLimit = 1
        await first.finish(in: database)
        #expect(first.moreComing)
        try await database.remove("b", zone: "A")
        let second = operation(since: end.value)
        await second.finish(in: database)
        #expect(!second.moreComing)
        #expect(log.lines == ["a", "end", "-b", "end"])
    }
}
