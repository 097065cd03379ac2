import Foundation
import Testing

@testable import NephosService
@testable import NephosWire

@Suite struct AnswersInMemoryTests {
    /// In a process of its own: what is counted is the process's.
    @Test func `a large answer is refused while unsent ones use up the budget, and a small one is not`() async {
        await #expect(processExitsWith: .success) {
            let database = try await TestDatabase(TestCloud()).making(zone: "Z")
            _ = try await database.modify([
                .create("small"), .create("large", ["text": .string(String(repeating: "x", count: 100_000))]),
            ])
            let size = 2 * Limits.heldBytes
            let start = try #require(malloc(size)).assumingMemoryBound(to: UInt8.self)
            var unsent: JSONBytes? = JSONBytes(owning: start, count: 0, capacity: size)
            var context = database.context
            context.takesEncodedRecords = true
            let large = LookupRecordsRequest(records: [.init(recordName: "large")], zoneID: database.zoneID)
            let small = LookupRecordsRequest(records: [.init(recordName: "small")], zoneID: database.zoneID)
            let changes = RecordZoneChangesRequest(zones: [.init(zoneID: try #require(database.zoneID))])
            let service = database.cloud.service
            let lookup = await #expect(throws: ServiceError.self) { try await service.lookupRecords(large, context) }
            #expect(lookup?.code == .tryAgainLater && lookup?.retryAfter == 2)
            #expect(try await service.lookupRecords(small, context).encodedRecords != nil)
            guard case .failure(let error) = try await service.recordZoneChanges(changes, context).zones[0] else {
                Issue.record("the feed has room")
                return
            }
            #expect(error.serverErrorCode == .tryAgainLater)
            unsent = nil
            #expect(unsent == nil)
            #expect(try await service.lookupRecords(large, context).encodedRecords != nil)
        }
    }
}
