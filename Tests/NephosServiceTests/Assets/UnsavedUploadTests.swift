import NephosStorage
import NephosThreads
import NephosWire
import Testing

@testable import NephosService

/// Files that an account uploads to others' databases: their quota until they are saved, and their expiry.
@Suite struct UnsavedUploadTests {
    private static let fileSize = 400
    private let cloud: TestCloud

    /// A database has room for two files of the largest size.
    init() {
        var configuration = ServiceConfiguration()
        configuration.assetSize = Int64(Self.fileSize)
        configuration.assetBytesPerDatabase = Int64(5 * Self.fileSize / 2)
        cloud = TestCloud(configuration)
    }

    /// A zone as an account names it.
    private struct Side {
        let context: RequestContext
        let zoneID: ZoneIDDictionary?
    }

    private func own(_ account: String, _ zone: String) -> Side {
        Side(context: cloud.context(account), zoneID: ZoneIDDictionary(zoneName: zone))
    }

    /// Makes a zone of an account's with a record that everybody may write below, and has bob and tom join.
    /// - Returns: bob's side, and tom's.
    private func share(_ owner: String, _ zone: String) async throws -> [Side] {
        _ = try await TestDatabase(cloud, owner).making(zone: zone)
        let body = """
            {"zoneID":{"zoneName":"\(zone)"},"operations":[
            {"operationType":"create","record":{"recordName":"root","recordType":"Note"}},
            {"operationType":"create","record":{"recordName":"share","recordType":"cloudkit.share",
            "forRecord":{"recordName":"root"},"publicPermission":"READ_WRITE"}}]}
            """
        let saved = try await cloud.service.modifyRecords(
            ModifyRecordsRequest(decoding: Array(body.utf8)), cloud.context(owner)
        ).records
        let guid = try #require(saved[1].record?.shareDetails?.shortGUID, "\(saved)")
        let ownerName = try await cloud.service.currentUser(cloud.context(owner)).userRecordName
        var sides: [Side] = []
        for account in ["bob", "tom"] {
            _ = try await cloud.service.acceptShares(
                ShortGUIDsRequest(shortGUIDs: [.init(value: guid)]), cloud.context(account))
            sides.append(
                Side(
                    context: cloud.context(account, .shared),
                    zoneID: ZoneIDDictionary(zoneName: zone, ownerRecordName: ownerName)))
        }
        return sides
    }

    /// A file of the largest size.
    private func content(_ text: String) -> [UInt8] {
        Array(text.utf8) + [UInt8](repeating: 0x2E, count: Self.fileSize - text.utf8.count)
    }

    private func begin(_ record: String, _ side: Side) async throws -> AssetUpload {
        let answer = try await cloud.service.assetUploads(
            AssetUploadRequest(
                zoneID: side.zoneID, tokens: [AssetField(recordName: record, recordType: "Note", fieldName: "file")]),
            side.context)
        let token = try answer.firstToken()
        return try await cloud.service.beginUpload(
            token, size: Int64(Self.fileSize), container: "iCloud.test", .development, requestID: "R")
    }

    private func upload(_ text: String, _ record: String, _ side: Side) async throws -> AssetValue {
        let upload = try await begin(record, side)
        try await upload.append(content(text))
        return try await upload.finish().singleFile
    }

    private func upload(_ text: String, _ side: Side) async throws -> AssetValue {
        try await upload(text, "root", side)
    }

    private func expectFull(_ side: Side) async throws {
        let error = await #expect(throws: ServiceError.self) { _ = try await begin("root", side) }
        #expect(error?.code == .quotaExceeded)
    }

    private func modify(_ operation: RecordOperation, _ side: Side) async throws -> String {
        try await cloud.service.modifyRecords(
            ModifyRecordsRequest(operations: [operation], zoneID: side.zoneID, wantsServerRecord: true), side.context
        ).records[0].summary
    }

    private func save(_ file: AssetValue, _ record: String, _ side: Side) async throws -> String {
        try await modify(.force(record, ["file": .asset(file)]), side)
    }

    private func save(_ file: AssetValue, _ side: Side) async throws -> String { try await save(file, "root", side) }

    private func store() throws -> Store { try #require(cloud.service.openStores.first) }

    private func fileCount() async throws -> Int {
        let files = try store().assets.files
        return try await BlockingPool.disk.run { try files.files(after: "", limit: 100).count }
    }

    private func collect() async throws {
        try store().assets.collectNow()
        await cloud.service.settle()
    }

    private func expectSound() async throws {
        // A file that is collected meanwhile is found, and its row is not.
        await cloud.service.settle()
        let findings = try await StoreVerification(try store().engine, try store().assets.files).run()
        #expect(findings.problems == [] && findings.orphans == [])
    }

    @Test func `unsaved uploads count towards their uploader, not towards the owner's quota`() async throws {
        let (z, y) = (try await share("alice", "Z"), try await share("carol", "Y"))
        _ = try await upload("1", z[0])
        _ = try await upload("2", y[0])
        for side in [z[0], y[0]] { try await expectFull(side) }
        // Those of his own database count with them.
        try await expectFull(Side(context: cloud.context("bob"), zoneID: nil))
        _ = try await upload("3", z[1])
        for number in 1...2 {
            let file = try await upload("of alice \(number)", "own\(number)", own("alice", "Z"))
            #expect(try await save(file, "own\(number)", own("alice", "Z")) == "saved")
        }
        try await expectSound()
    }

    @Test func `a saved upload belongs to the zone's owner, in each zone that it was made for`() async throws {
        let (z, y) = (try await share("alice", "Z"), try await share("carol", "Y"))
        let first = try await upload("same", z[0])
        let second = try await upload("same", y[0])
        for (file, side) in [(first, z[0]), (second, y[0]), (second, y[0])] {
            #expect(try await save(file, side) == "saved")
        }
        // Neither is his any more.
        for _ in 1...2 { _ = try await upload("more", z[0]) }
        for (account, zone) in [("alice", "Z"), ("carol", "Y")] {
            _ = try await upload("another", own(account, zone))
            try await expectFull(own(account, zone))
        }
        try await expectSound()
    }

    @Test(arguments: ["alice", "bob"])
    func `only unsaved uploads expire with the participant's membership`(whoEndsIt: String) async throws {
        let (z, y) = (try await share("alice", "Z"), try await share("carol", "Y"))
        let gone = try await upload("1", z[0])
        let kept = [(try await upload("2", y[0]), y[0])]
        try await collect()
        #expect(try await fileCount() == 2)
        #expect(try await modify(.delete("share"), whoEndsIt == "bob" ? z[0] : own("alice", "Z")) == "deleted")
        try await collect()
        #expect(try await fileCount() == 1)
        _ = try await upload("3", y[0])
        for (file, side) in kept { #expect(try await save(file, side) == "saved") }
        if whoEndsIt == "alice" { return }
        // Back again, he does not have it.
        let guid = try #require(
            try await TestDatabase(cloud, "alice", zone: "Z").lookup("share")[0].record?.shareDetails?.shortGUID)
        _ = try await cloud.service.acceptShares(
            ShortGUIDsRequest(shortGUIDs: [.init(value: guid)]), cloud.context("bob"))
        #expect(try await save(gone, z[0]) == "error 12")
    }

    @Test func `a file that arrives while its uploader loses access is not kept`() async throws {
        let z = try await share("alice", "Z")
        let upload = try await begin("root", z[0])
        try await upload.append(content("late"))
        #expect(try await modify(.delete("share"), own("alice", "Z")) == "deleted")
        await #expect(throws: ServiceError.self) { _ = try await upload.finish() }
        #expect(try await fileCount() == 0)
    }

    @Test func `an upload reveals nothing of the owner's files to a participant`() async throws {
        let z = try await share("alice", "Z")
        let hidden = try await upload("hidden", "hidden", own("alice", "Z"))
        #expect(try await save(hidden, "hidden", own("alice", "Z")) == "saved")
        var counts: [Int] = []
        var files: [AssetValue] = []
        for text in ["hidden", "other."] {
            let before = try await fileCount()
            files.append(try await upload(text, z[0]))
            counts.append(try await fileCount() - before)
        }
        #expect(counts == [1, 1])
        #expect(files[0].receipt?.utf8.count == files[1].receipt?.utf8.count)
        // There is no more room for the one than for the other.
        let more = try await upload("more", "more", own("alice", "Z"))
        #expect(try await save(more, "more", own("alice", "Z")) == "saved")
        for file in files { #expect(try await save(file, z[0]) == "error 25") }
    }

    @Test func `a public file counts towards its uploader until it is saved, and reveals nothing of others`()
        async throws
    {
        let (ann, ben) = (
            Side(context: cloud.context("ann", .public), zoneID: nil),
            Side(context: cloud.context("ben", .public), zoneID: nil)
        )
        let saved = try await upload("same", "a", ann)
        #expect(try await save(saved, "a", ann) == "saved")
        let same = try await upload("same", "b", ben)
        #expect(try await fileCount() == 2)
        #expect(try await save(same, "b", ben) == "saved")
        try await collect()
        #expect(try await fileCount() == 1)
        for number in 1...2 { _ = try await upload("\(number)", "c\(number)", ben) }
        try await expectFull(ben)
        _ = try await upload("3", "d", ann)
        try await expectSound()
    }

    @Test func `files that a participant replaced do not block the owner's saves, and his receipts stay valid`()
        async throws
    {
        let z = try await share("alice", "Z")
        for text in ["1", "2"] { #expect(try await save(upload(text, z[0]), z[0]) == "saved") }
        try await expectFull(z[1])
        let file = try await upload("of alice", "own", own("alice", "Z"))
        try await expectFull(own("alice", "Z"))
        #expect(try await save(file, "own", own("alice", "Z")) == "saved")
        try await expectSound()
    }
}
