import NephosTesting
import Testing

@testable import NephosServer

/// Uploads of files whose callers lose their right meanwhile.
extension ProductionServer {
    static let uploadRequest = #"{"tokens":[{"recordType":"Note","fieldName":"file"}]}"#

    /// Returns the path of the upload that an answer to `uploadRequest` permits.
    static func uploadPath(_ answer: HTTPResponse) throws -> String {
        let url = try #require(answer.text.firstMatch(of: /"url":"([^"]+)"/), "\(answer.text)").1
        return String(url.dropFirst(Self.url.count))
    }

    /// Checks that an upload ends after its caller lost the right, that another caller's goes on, and that the next one is
    /// refused before its body is read.
    /// - Parameter status: the status of the next one.
    func expectUploadEnds(
        at path: String, notAt other: String, then status: Int = 421, after revoke: () async throws -> Void
    ) async throws {
        let (stream, otherStream) = (BodyStream(), BodyStream())
        let (ended, finished) = (upload(to: path, stream), upload(to: other, otherStream))
        await eventually { stream.isWanted && otherStream.isWanted }
        try await revoke()
        advance(milliseconds: 5_000)
        #expect(await ended.value.status == 421)
        [UInt8]("content".utf8).withUnsafeBytes { otherStream.receive($0, slowest: 0, grace: .seconds(60)) }
        otherStream.end()
        let receipt = await finished.value
        #expect(receipt.status == 200 && receipt.text.contains("receipt"), "\(receipt.text)")
        let late = BodyStream()
        #expect(await upload(to: path, late).value.status == status)
        #expect(!late.isWanted)
    }

    private func upload(to path: String, _ stream: BodyStream) -> Task<HTTPResponse, Never> {
        var request = HTTPRequest(method: .post, target: path, host: "cloud.example.org")
        request.stream = stream
        return Task { [request, responder] in await responder.respond(to: request) }
    }
}
