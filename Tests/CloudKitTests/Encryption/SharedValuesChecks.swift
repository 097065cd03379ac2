import Testing

@testable import CloudKit

/// What suites over a `SharedValuesTests.Cloud` look at.
protocol SharedValuesChecks {}

extension SharedValuesChecks {
    func id(_ name: String, _ zoneID: CKRecordZone.ID = SharedValuesTests.Cloud.zoneID) -> CKRecord.ID {
        CKRecord.ID(recordName: name, zoneID: zoneID)
    }

    func text(_ database: CKDatabase, _ name: String, in zoneID: CKRecordZone.ID) async throws -> String? {
        try await database.record(for: id(name, zoneID)).encryptedValues["text"] as? String
    }

    /// The first zone that is shared with an account.
    func sharedZone(_ container: CKContainer) async throws -> CKRecordZone.ID {
        try #require(try await container.sharedCloudDatabase.allRecordZones().first).zoneID
    }
}
