import NephosWire
import Testing

@testable import NephosService

/// The quotas of the records of databases.
@Suite struct RecordQuotaTests {
    private let cloud: TestCloud
    private static let value = String(repeating: "x", count: 1000)

    /// A database has room for some twenty records of a test.
    init() {
        var configuration = ServiceConfiguration()
        configuration.recordBytesPerAccount = 24_000
        configuration.recordBytesPerContainer = 48_000
        cloud = TestCloud(configuration)
    }

    private func records(_ names: [String], _ value: String = value) -> [RecordOperation] {
        names.map { .force($0, ["text": .string(value)]) }
    }

    /// Saves records until the database is full.
    /// - Returns: the names of the saved records.
    private func fill(_ database: TestDatabase) async throws -> [String] {
        var saved: [String] = []
        for number in 0..<100 {
            let name = "record \(number)"
            let result = try #require(try await database.modify(records([name])).first)
            try await cloud.settle()
            if result.summary == "saved" { saved.append(name) } else { break }
        }
        return saved
    }

    @Test func `a full database refuses what makes it larger, and takes the rest`() async throws {
        let full = try await TestDatabase(cloud, "ada").making(zone: "notes")
        let saved = try await fill(full)
        #expect(21...24 ~= saved.count, "\(saved.count)")
        let results = try await full.modify(
            records(["new"]) + records([saved[0]], "less") + records([saved[1]], Self.value + "more")
                + [.delete(saved[2])], atomic: false)
        #expect(results.map(\.summary) == ["error 25", "saved", "error 25", "deleted"])
        #expect(results[0].error?.serverErrorCode == .quotaExceeded)
        let batch = try await full.modify(records(["new"]) + records([saved[3]], "less"), atomic: true)
        #expect(batch.map(\.summary) == ["error 25", "error 22"])
        let request = ModifyZonesRequest(
            operations: ["notes", "others"].map {
                ZoneOperation(operationType: .create, zoneID: ZoneIDDictionary(zoneName: $0))
            })
        let zones = try await cloud.service.modifyZones(request, full.context).zones
        guard case .zone = zones[0], case .failure(let error) = zones[1] else {
            Issue.record("\(zones)")
            return
        }
        #expect(error.serverErrorCode == .quotaExceeded)
    }

    @Test func `a quota is one database's`() async throws {
        let full = try await TestDatabase(cloud, "ada").making(zone: "notes")
        _ = try await fill(full)
        let others = [
            TestDatabase(cloud, "bob"), TestDatabase(cloud, "ada", .public),
            TestDatabase(cloud, "ada", zone: nil),
        ]
        var summaries: [String] = []
        for database in others { summaries += try await database.modify(records(["new"])).map(\.summary) }
        // The account's other zones are of the same database.
        #expect(summaries == ["saved", "saved", "error 25"])
        let inPublic = try await fill(TestDatabase(cloud, "bob", .public))
        #expect(inPublic.count > 36, "\(inPublic.count)")
        #expect(try await TestDatabase(cloud, "ada", .public).modify(records(["more"])).map(\.summary) == ["error 25"])
    }

    @Test func `deletions make room, and a participant's save counts for the owner`() async throws {
        let owner = try await TestDatabase(cloud, "ada").making(zone: "notes")
        let body = """
            {"zoneID":{"zoneName":"notes"},"operations":[
            {"operationType":"create","record":{"recordName":"root","recordType":"Note"}},
            {"operationType":"create","record":{"recordName":"share","recordType":"cloudkit.share",
            "forRecord":{"recordName":"root"},"publicPermission":"READ_WRITE"}}]}
            """
        let shared = try await cloud.service.modifyRecords(
            ModifyRecordsRequest(decoding: Array(body.utf8)), owner.context
        ).records
        let guid = try #require(shared[1].record?.shareDetails?.shortGUID, "\(shared)")
        let ownerName = try await cloud.service.currentUser(owner.context).userRecordName
        _ = try await cloud.service.acceptShares(
            ShortGUIDsRequest(shortGUIDs: [.init(value: guid)]), cloud.context("bob"))
        let saved = try await fill(owner)
        func saveAsParticipant() async throws -> [String] {
            let request = ModifyRecordsRequest(
                operations: [.create(nil, ["text": .string(Self.value)], parent: "root")],
                zoneID: ZoneIDDictionary(zoneName: "notes", ownerRecordName: ownerName), wantsServerRecord: true)
            return try await cloud.service.modifyRecords(request, cloud.context("bob", .shared)).records.map(\.summary)
        }
        #expect(try await saveAsParticipant() == ["error 25"])
        _ = try await owner.modify(saved.map { .delete($0) })
        // It is measured again at the next refusal, at most every ten seconds.
        cloud.advance(milliseconds: 10_000)
        #expect(try await saveAsParticipant() == ["error 25"])
        try await cloud.settle()
        #expect(try await saveAsParticipant() == ["saved"])
        #expect(try await owner.modify(records(["new"])).map(\.summary) == ["saved"])
    }
}
