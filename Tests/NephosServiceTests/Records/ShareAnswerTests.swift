import NephosWire
import Testing

@testable import NephosService

/// The size of what `records/resolve` and `records/accept` answer.
@Suite struct ShareAnswerTests {
    @Test func `the records of shares count towards the answer of a resolution and of an acceptance`() async throws {
        let cloud = TestCloud()
        let (own, _, guid) = try await cloud.makeSharedList()
        let size = 900_000
        let tag = try #require(try await own.lookup("share")[0].record?.recordChangeTag)
        let share = RecordOperation(
            operationType: .update,
            record: RecordToModify(
                recordName: "share", recordType: "cloudkit.share", recordChangeTag: tag,
                fields: RecordFields([
                    .init(name: "note", field: Field(.string(String(repeating: "x", count: size))))
                ])))
        let saved = try await cloud.service.modifyRecords(
            ModifyRecordsRequest(operations: [share], zoneID: ZoneIDDictionary(zoneName: "Z")), own.context)
        #expect(saved.records.allSatisfy { !$0.isFailure }, "\(saved.records)")
        let request = ShortGUIDsRequest(
            shortGUIDs: Array(repeating: .init(value: guid), count: Limits.lookupSize / size + 9))
        for results in [
            try await cloud.service.resolveShares(request, cloud.context("bob")).results,
            try await cloud.service.acceptShares(request, cloud.context("carol")).results,
        ] {
            var (infos, failures): (Int, [Int?]) = (0, [])
            for result in results {
                switch result {
                case .info: infos += 1
                case .failure(let error): failures.append(error.clientErrorCode)
                }
            }
            #expect(infos == Limits.lookupSize / size + 1)
            #expect(failures.count == 8 && Set(failures) == [27])
        }
        // Everything that was named is accepted, whatever the answer holds.
        #expect(try await cloud.service.listZones(cloud.context("carol", .shared)).zones.count == 1)
    }
}
