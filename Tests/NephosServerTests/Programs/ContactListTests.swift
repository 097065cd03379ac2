import Foundation
import Testing

/// The example that synchronises contacts: two processes of one account against the server that was just built.
@Suite struct ContactListTests {
    @Test(.timeLimit(.minutes(15))) func `an edit in one process shows in the other`() async throws {
        let server = try StartedNephos(["dev", "--in-memory", "--port", "0"])
        let port = try readyPort(try await server.readyLine())
        let environment = ["NEPHOS_URL": "http://127.0.0.1:\(port)", "NEPHOS_TOKEN": "dev:ada"]
        let one = try TypedProgram("ContactList", environment: environment)
        let two = try TypedProgram("ContactList", environment: environment)
        try await one.waitFor("up to date")
        try await two.waitFor("up to date")

        try one.type("set Grace 555-1234")
        try await two.waitFor("Grace: 555-1234")
        try two.type("set Grace 555-9999")
        try await one.waitFor("Grace: 555-9999")
        try two.type("remove Grace")
        try await one.waitFor("Grace is gone")

        for program in [one, two] {
            try program.type("quit")
            #expect(try await program.finish().status == 0)
        }
        #expect(try await server.stop().status == 0)
    }
}
