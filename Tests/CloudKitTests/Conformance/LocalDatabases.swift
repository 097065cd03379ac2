import CloudKit
import CloudKitLocal
import Testing

/// A cloud in memory and what the tests of the documentation's sentences do with it all the time.
struct Conformance {
    let cloud: LocalCloud
    let container: CKContainer

    init(account: String? = "me") throws {
        cloud = try LocalCloud()
        container = cloud.container(account: account)
    }

    var database: CKDatabase { container.privateCloudDatabase }

    /// A custom zone that is saved.
    func makeZone(_ name: String = "Zone") async throws -> CKRecordZone.ID {
        try await database.save(CKRecordZone(zoneName: name)).zoneID
    }
}

extension CKDatabase {
    /// The names of those records that exist.
    func existing(_ ids: [CKRecord.ID]) async throws -> [String] {
        let results = try await records(for: ids)
        return ids.filter { (try? results[$0]?.get()) != nil }.map(\.recordName)
    }

    /// Saves records that must all be saved.
    func saveAll(_ records: [CKRecord]) async throws {
        let results = try await modifyRecords(saving: records, deleting: []).saveResults
        for record in records { _ = try #require(results[record.recordID]).get() }
    }
}

extension CKRecord {
    convenience init(_ name: String, in zoneID: CKRecordZone.ID = .default, type: String = "Item") {
        self.init(recordType: type, recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
    }
}

/// The code of the error that `body` throws; nil if it throws none.
func code(_ body: () async throws -> Void) async -> CKError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? CKError)?.code
    }
}
