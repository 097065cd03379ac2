import NephosService
import NephosTesting
import NephosWire
import Testing

@testable import NephosServer

/// Uploads of files, whose sessions end meanwhile.
@Suite struct EndedUploadTests {
    private func upload(
        _ server: ProductionServer, _ path: String, _ stream: BodyStream
    ) -> Task<HTTPResponse, Never> {
        var request = HTTPRequest(method: .post, target: path, host: "cloud.example.org")
        request.stream = stream
        return Task { [request] in await server.responder.respond(to: request) }
    }

    private func address(_ server: ProductionServer, _ apiToken: String, _ session: String) async throws -> String {
        let answer = await server.call(
            "private/assets/upload", apiToken, session, #"{"tokens":[{"recordType":"Note","fieldName":"file"}]}"#)
        let url = try #require(answer.text.firstMatch(of: /"url":"([^"]+)"/), "\(answer.text)").1
        return String(url.dropFirst(ProductionServer.url.count))
    }

    @Test func `an upload ends with its session, and another session's goes on`() async throws {
        let server = try await ProductionServer()
        let apiToken = try await server.makeAPIToken()
        let (first, second) = (
            try await server.session(of: "bob", apiToken), try await server.session(of: "bob", apiToken)
        )
        let (path, other) = (
            try await address(server, apiToken, first), try await address(server, apiToken, second)
        )
        let (stream, otherStream) = (BodyStream(), BodyStream())
        let (ended, finished) = (upload(server, path, stream), upload(server, other, otherStream))
        await eventually { stream.isWanted && otherStream.isWanted }
        try await server.installation.signOut(first)
        server.advance(milliseconds: 5_000)
        #expect(await ended.value.status == 421)
        [UInt8]("content".utf8).withUnsafeBytes { otherStream.receive($0, slowest: 0, grace: .seconds(60)) }
        otherStream.end()
        let receipt = await finished.value
        #expect(receipt.status == 200 && receipt.text.contains("receipt"), "\(receipt.text)")
        // The next upload is refused before its body is read.
        let late = BodyStream()
        #expect(await upload(server, path, late).value.status == 421)
        #expect(!late.isWanted)
        await server.close()
    }

    @Test func `an upload ends with its program token, and another token's goes on`() async throws {
        let server = try await ProductionServer()
        let apiToken = try await server.makeAPIToken()
        let root = AuditActor(name: "user 0")
        let place = ProgramPlace(container: ProductionServer.container, environment: "development")
        var tokens: [MadeProgramToken] = []
        for name in ["first", "second"] {
            tokens.append(
                try await server.installation.createProgramToken(
                    NewProgramToken(name: name, places: [place], databases: ["private"], isReadOnly: false),
                    ofAccountNamed: "bob", by: root))
        }
        let (path, other) = (
            try await address(server, apiToken, tokens[0].token), try await address(server, apiToken, tokens[1].token)
        )
        let (stream, otherStream) = (BodyStream(), BodyStream())
        let (ended, finished) = (upload(server, path, stream), upload(server, other, otherStream))
        await eventually { stream.isWanted && otherStream.isWanted }
        _ = try await server.installation.revokeProgramTokens(
            ofAccountNamed: "bob", id: tokens[0].programToken.id, by: root)
        server.advance(milliseconds: 5_000)
        #expect(await ended.value.status == 421)
        [UInt8]("content".utf8).withUnsafeBytes { otherStream.receive($0, slowest: 0, grace: .seconds(60)) }
        otherStream.end()
        #expect(await finished.value.status == 200)
        let late = BodyStream()
        #expect(await upload(server, path, late).value.status == 421)
        #expect(!late.isWanted)
        await server.close()
    }
}
