import NephosWire
import Testing

@testable import NephosService

extension TestCloud {
    /// A list of alice's in the zone "Z", the record "root", which everybody may write in and bob does.
    /// - Returns: alice's zone, the zone as bob names it, and what the share's URL ends in.
    func makeSharedList() async throws -> (own: TestDatabase, zone: ZoneIDDictionary, guid: String) {
        let own = try await TestDatabase(self, "alice").making(zone: "Z")
        let body = """
            {"zoneID":{"zoneName":"Z"},"operations":[
            {"operationType":"create","record":{"recordName":"root","recordType":"List"}},
            {"operationType":"create","record":{"recordName":"share","recordType":"cloudkit.share",
            "forRecord":{"recordName":"root"},"publicPermission":"READ_WRITE"}}]}
            """
        let saved = try await service.modifyRecords(
            ModifyRecordsRequest(decoding: Array(body.utf8)), own.context
        ).records
        let guid = try #require(saved[1].record?.shareDetails?.shortGUID, "\(saved)")
        _ = try await service.acceptShares(
            ShortGUIDsRequest(shortGUIDs: [.init(value: guid)]), context("bob"))
        let owner = try await service.currentUser(context("alice")).userRecordName
        return (own, ZoneIDDictionary(zoneName: "Z", ownerRecordName: owner), guid)
    }
}
