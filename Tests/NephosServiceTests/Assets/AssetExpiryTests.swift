import NephosStorage
import NephosWire
import Testing

@testable import NephosService

/// The validity of a service's addresses and receipts of files, also by the clock of another server. Times count from the
/// issue; those before 0 are of a server whose clock is behind the issuing one's.
@Suite struct AssetExpiryTests {
    private static let second: Int64 = 1000
    private static let minute: Int64 = 60 * second
    private static let hour: Int64 = 60 * minute

    /// Whether something is still good then that is good for `lifetime`.
    private static func moments(of lifetime: Int64) -> [(after: Int64, isGood: Bool)] {
        [
            (0, true), (lifetime - second, true), (lifetime + minute - second, true), (lifetime + minute, true),
            (lifetime + minute + 1, false), (lifetime + hour, false), (-50 * second, true), (-minute, true),
            (-minute - 1, false), (-hour, false),
        ]
    }

    private let cloud: TestCloud
    private let me: TestDatabase

    init() {
        cloud = TestCloud()
        me = TestDatabase(cloud)
    }

    private func token() async throws -> String {
        let answer = try await cloud.service.assetUploads(
            AssetUploadRequest(tokens: [AssetField(recordName: "a", recordType: "Note", fieldName: "file")]), me.context
        )
        return try answer.firstToken()
    }

    private func begin(_ token: String) async throws(ServiceError) -> AssetUpload {
        try await cloud.service.beginUpload(
            token, size: 7, container: "iCloud.test", .development, requestID: "R")
    }

    private func upload() async throws -> AssetValue {
        let upload = try await begin(try await token())
        try await upload.append(Array("content".utf8))
        return try await upload.finish().singleFile
    }

    @Test(arguments: moments(of: 15 * minute))
    func `an upload address is valid for a quarter of an hour`(after: Int64, isGood: Bool) async throws {
        let token = try await token()
        cloud.advance(milliseconds: after)
        do throws(ServiceError) {
            let upload = try await begin(token)
            try await upload.append(Array("content".utf8))
            _ = try await upload.finish()
            #expect(isGood)
        } catch {
            #expect(!isGood)
            #expect(error.code == .badRequest && error.reason == ServiceError.uploadExpired.reason)
        }
    }

    @Test(arguments: moments(of: 24 * hour))
    func `a receipt is valid for a day`(after: Int64, isGood: Bool) async throws {
        let file = try await upload()
        cloud.advance(milliseconds: after)
        let results = try await me.modify([.create("a", ["file": .asset(file)])])
        #expect(results.map(\.summary) == [isGood ? "saved" : "error 12"])
        if !isGood { #expect(results.first?.error?.reason.contains("its receipt has expired: upload") == true) }
    }

    @Test(arguments: moments(of: hour))
    func `a download address is valid for an hour`(after: Int64, isGood: Bool) async throws {
        let file = try await upload()
        _ = try await me.modify([.create("a", ["file": .asset(file)])])
        let fields = try #require(try await me.lookup("a").first?.record?.fields.decoded())
        let address = try #require(fields["file"]?.value?.assets.first?.downloadURL)
        let parts = address.split(separator: "/").map(String.init)
        cloud.advance(milliseconds: after)
        do throws(ServiceError) {
            let asset = try await cloud.service.openAsset(
                parts[4], parts[5], container: "iCloud.test", .development, requestID: "R")
            #expect(isGood && asset.size == 7)
        } catch {
            #expect(!isGood)
            #expect(error.code == .notFound && error.reason == ServiceError.assetNotFound.reason)
        }
    }

    @Test func `a receipt that was saved in time is valid for a retry at any time`() async throws {
        let file = try await upload()
        #expect(try await me.modify([.create("a", ["file": .asset(file)])]).map(\.summary) == ["saved"])
        cloud.advance(milliseconds: 48 * Self.hour)
        #expect(try await me.modify([.force("a", ["file": .asset(file)])]).map(\.summary) == ["saved"])
    }
}
