import Foundation
import NephosSQLite
import NephosServer
import NephosService
import Testing

@testable import CloudKit

/// The change feeds of a server, as a program reads them.
@Suite struct ChangesOverHTTPTests {
    @Test func `two devices see each other's changes through a server`() async throws {
        let service = NephosService(stores: MemoryStores())
        let responder = Responder(service)
        let server = try HTTPServer(ListeningSocket.loopback(port: 0)) { await responder.respond(to: $0) }
        let environment = CloudKitEnvironment(
            url: try #require(URL(string: "http://127.0.0.1:\(server.port)")), account: .token("dev:mei"))
        func device() -> CKDatabase {
            CKContainer(identifier: "iCloud.test", service: environment.service(of: "iCloud.test"))
                .privateCloudDatabase
        }
        let (one, two) = (device(), device())
        let zoneID = CKRecordZone.ID(zoneName: "Z")
        try await one.save(CKRecordZone(zoneID: zoneID))
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "a", zoneID: zoneID))
        record["text"] = "hello"
        _ = try await one.save(record)

        let zones = try await two.databaseChanges(since: nil)
        #expect(zones.modifications.map(\.zoneID) == [zoneID])
        let changes = try await two.recordZoneChanges(inZoneWith: zoneID, since: nil)
        let copy = try #require(try changes.modificationResultsByID[record.recordID]?.get().record)
        #expect(copy["text"] as? String == "hello" && copy.recordChangeTag == record.recordChangeTag)
        #expect(copy.creatorUserRecordID?.recordName == CKCurrentUserDefaultName)

        try await one.deleteRecord(withID: record.recordID)
        let next = try await two.recordZoneChanges(inZoneWith: zoneID, since: changes.changeToken)
        #expect(next.deletions.map(\.recordID) == [record.recordID])
        try await one.deleteRecordZone(withID: zoneID)
        #expect(try await two.databaseChanges(since: zones.changeToken).deletions.map(\.zoneID) == [zoneID])
        try await one.save(CKRecordZone(zoneID: zoneID))
        await #expect { _ = try await two.recordZoneChanges(inZoneWith: zoneID, since: next.changeToken) } throws: {
            ($0 as? CKError)?.code == .changeTokenExpired
        }
        await server.stop()
        await service.close()
    }
}
