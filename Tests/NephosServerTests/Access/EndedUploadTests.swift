import NephosService
import Testing

@testable import NephosServer

/// Uploads of files, whose sessions end meanwhile.
@Suite struct EndedUploadTests {
    private func path(_ server: ProductionServer, _ apiToken: String, _ session: String) async throws -> String {
        try ProductionServer.uploadPath(
            await server.call("private/assets/upload", apiToken, session, ProductionServer.uploadRequest))
    }

    @Test func `an upload ends with its session, and another session's goes on`() async throws {
        let server = try await ProductionServer()
        let apiToken = try await server.makeAPIToken()
        let first = try await server.session(of: "bob", apiToken)
        let second = try await server.session(of: "bob", apiToken)
        try await server.expectUploadEnds(
            at: try await path(server, apiToken, first), notAt: try await path(server, apiToken, second)
        ) { try await server.installation.signOut(first) }
        await server.close()
    }

    @Test func `an upload ends with its program token, and another token's goes on`() async throws {
        let server = try await ProductionServer()
        let apiToken = try await server.makeAPIToken()
        let root = AuditActor(name: "user 0")
        let place = ProgramPlace(container: ProductionServer.container, environment: "development")
        func token(_ name: String) async throws -> MadeProgramToken {
            try await server.installation.createProgramToken(
                NewProgramToken(name: name, places: [place], databases: ["private"], isReadOnly: false),
                ofAccountNamed: "bob", by: root)
        }
        let (first, second) = (try await token("first"), try await token("second"))
        try await server.expectUploadEnds(
            at: try await path(server, apiToken, first.token), notAt: try await path(server, apiToken, second.token)
        ) {
            _ = try await server.installation.revokeProgramTokens(
                ofAccountNamed: "bob", id: first.programToken.id, by: root)
        }
        await server.close()
    }
}
