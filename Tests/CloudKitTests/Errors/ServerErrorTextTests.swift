import CloudKit
import CloudKitTesting
import Foundation
import Testing

/// Apps compare these texts of Apple's service (`ServerErrorDescription`).
@Suite(.cloud) struct ServerErrorTextTests {
    private let container = CKContainer.default()
    private let everything = NSPredicate(value: true)

    private func expect(
        _ code: CKError.Code, _ text: String, sourceLocation: SourceLocation = #_sourceLocation,
        of body: () async throws -> Void
    ) async throws {
        var failure: CKError?
        do { try await body() } catch { failure = error as? CKError }
        let error = try #require(failure, sourceLocation: sourceLocation)
        #expect(error.code == code, sourceLocation: sourceLocation)
        let description = error.userInfo["ServerErrorDescription"] as? String ?? ""
        #expect(description.hasPrefix(text), sourceLocation: sourceLocation)
        #expect(error.localizedDescription.contains(text), sourceLocation: sourceLocation)
    }

    @Test func `user records and all shared zones cannot be queried`() async throws {
        try await expect(.invalidArguments, "Can't query system types") {
            _ = try await container.publicCloudDatabase.records(
                matching: CKQuery(recordType: "Users", predicate: everything))
        }
        try await expect(.invalidArguments, "SharedDB does not support Zone Wide queries") {
            _ = try await container.sharedCloudDatabase.records(
                matching: CKQuery(recordType: "Note", predicate: everything))
        }
    }

    @Test func `a zone that its user purged has Apple's text alone, from a fault and from the service`() async throws {
        let database = container.privateCloudDatabase
        let zone = try await database.save(CKRecordZone(zoneName: "Notes"))
        try LocalCloud.current.fail(.fetch, zone: "Notes", with: .userDeletedZone)
        for _ in 0..<2 {
            var failure: CKError?
            do {
                _ = try await database.record(for: CKRecord.ID(recordName: "a", zoneID: zone.zoneID))
            } catch { failure = error as? CKError }
            #expect(failure?.code == .userDeletedZone)
            #expect(failure?.userInfo["ServerErrorDescription"] as? String == "Zone was purged by user")
        }
    }

    @Test func `a notification of a zone's or database's subscription has no fields`() async throws {
        let database = container.privateCloudDatabase
        let zone = try await database.save(CKRecordZone(zoneName: "Notes"))
        let subscriptions = [
            CKRecordZoneSubscription(zoneID: zone.zoneID, subscriptionID: "zone"),
            CKDatabaseSubscription(subscriptionID: "database"),
        ]
        for subscription in subscriptions {
            subscription.notificationInfo = CKSubscription.NotificationInfo(desiredKeys: ["title"])
            try await expect(.invalidArguments, "cannot add additionalFields to this subscription type") {
                _ = try await database.save(subscription)
            }
        }
        #expect(try await database.allSubscriptions().isEmpty)
    }
}
