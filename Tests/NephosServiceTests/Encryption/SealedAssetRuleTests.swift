import NephosCrypto
import NephosWire
import Testing

@testable import NephosService

/// The service's checks of sealed assets, which it cannot open.
@Suite struct SealedAssetRuleTests {
    private let cloud = TestCloud()
    private var me: TestDatabase { TestDatabase(cloud) }
    private static let seal = AssetSeal.wrapped([1] + [UInt8](repeating: 7, count: Limits.wrappedAssetKeySize - 1))
    private static let content = [UInt8](repeating: 5, count: 40)

    private func token(_ record: String, isSealed: Bool = true, _ database: TestDatabase) async throws -> String {
        let answer = try await cloud.service.assetUploads(
            AssetUploadRequest(
                tokens: [
                    AssetField(recordName: record, recordType: "Note", fieldName: "file", isSealed: isSealed)
                ]), database.context)
        return try answer.firstToken()
    }

    private func uploaded(
        _ record: String, _ seal: AssetSeal? = Self.seal, _ database: TestDatabase? = nil
    ) async throws -> RecordOperation {
        let database = database ?? me
        let upload = try await cloud.service.beginUpload(
            try await token(record, isSealed: false, database), size: nil, container: "iCloud.test", .development,
            requestID: "R")
        try await upload.append(Self.content)
        var value = try await upload.finish().singleFile
        value.seal = seal
        var operation = RecordOperation.create(record)
        operation.record.fields["file"] = Field(.asset(value))
        return operation
    }

    private func asset(_ record: String) async throws -> AssetValue {
        let result = try await me.lookup(record)
        return try #require(try result.first?.record?.fields.decoded()["file"]?.value?.assets.first)
    }

    @Test func `a sealed file needs its record's key, and is returned with its wrapped key`() async throws {
        try await me.makeZoneKey()
        let operation = try await uploaded("a")
        #expect(try await me.modify([operation])[0].error?.needsKeys == true)
        #expect(try await me.modify([operation.withKey()])[0].summary == "saved")
        #expect(try await asset("a").seal == Self.seal)
        let answers = try await me.modify([operation])
        #expect(answers[0].error?.clientErrorCode == 14, "it exists")
    }

    @Test func `a value that is returned without its wrapped key keeps it`() async throws {
        try await me.makeZoneKey()
        _ = try await me.modify([try await uploaded("a").withKey()])
        let value = try await asset("a")
        var update = RecordOperation.create("a")
        update.operationType = .forceUpdate
        update.record.fields["file"] = Field(.asset(AssetValue(fileChecksum: value.fileChecksum, size: value.size)))
        #expect(try await me.modify([update])[0].summary == "saved")
        #expect(try await asset("a").seal == Self.seal)
        // A Web client returns all that it got.
        update.record.fields["file"] = Field(.asset(try await asset("a")))
        #expect(try await me.modify([update])[0].summary == "saved")
        #expect(try await asset("a").seal == Self.seal)
    }

    @Test(
        arguments: [
            [], [1], [2] + [UInt8](repeating: 7, count: 112), [1] + [UInt8](repeating: 7, count: 111),
            [1] + [UInt8](repeating: 7, count: 113),
        ] as [[UInt8]])
    func `a malformed wrapped key is refused`(bytes: [UInt8]) async throws {
        try await me.makeZoneKey()
        let error = try await me.modify([try await uploaded("a", .wrapped(bytes)).withKey()])[0].error
        #expect(error?.clientErrorCode == 12 && error?.reason.contains("nephosSeal") == true)
    }

    @Test func `a cleartext key is refused`() async throws {
        try await me.makeZoneKey()
        let error = try await me.modify([try await uploaded("a", .key([1, 2, 3])).withKey()])[0].error
        #expect(error?.reason.contains("nephosSeal") == true)
    }

    @Test func `files of the public database are not sealed`() async throws {
        let open = TestDatabase(cloud, "me", .public)
        await #expect(throws: ServiceError.self) { _ = try await token("a", open) }
        let error = try await open.modify([try await uploaded("a", Self.seal, open)])[0].error
        #expect(error?.reason.contains("not sealed") == true)
    }

    @Test func `a sealed file cannot be referenced from records without its key`() async throws {
        try await me.makeZoneKey()
        _ = try await me.modify([try await uploaded("a").withKey()])
        let answer = try await cloud.service.rereferenceAssets(
            RereferenceRequest(assets: [AssetField(recordName: "a", fieldName: "file")]), me.context)
        guard case .failure(let error)? = answer.assets.first else {
            Issue.record("a receipt was given")
            return
        }
        #expect(error.reason.contains("is sealed for its field"))
    }

    @Test func `the size limit allows for the overhead of sealing`() async throws {
        let largest = Limits.assetSize
        func begin(_ size: Int64, isSealed: Bool) async throws {
            _ = try await cloud.service.beginUpload(
                try await token("a", isSealed: isSealed, me), size: size, container: "iCloud.test", .development,
                requestID: "R")
        }
        try await begin(largest, isSealed: false)
        try await begin(ContentSeal.sealedSize(of: largest), isSealed: true)
        for (size, isSealed) in [(largest + 1, false), (ContentSeal.sealedSize(of: largest) + 1, true)] {
            let error = await #expect(throws: ServiceError.self) { try await begin(size, isSealed: isSealed) }
            #expect(error?.clientCode == .limitExceeded)
        }
    }
}
