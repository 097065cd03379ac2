import NephosService
import Testing

@testable import NephosServer

/// Accounts that an administrator deletes.
@Suite struct AccountDeletionTests {
    @Test func `what an account made in public databases goes only if the administrator chooses that`() async throws {
        let server = try await ProductionServer()
        let apiToken = try await server.makeAPIToken()
        for account in ["bob", "lovelace"] {
            try await server.installation.grant(
                .developer, toAccountNamed: account, container: ProductionServer.container,
                by: AuditActor(name: "user 0"))
            let record = #"{"recordName":"\#(account)","recordType":"Note","fields":{}}"#
            let saved = await server.call(
                "public/records/modify", apiToken, try await server.session(of: account, apiToken),
                #"{"operations":[{"operationType":"create","record":\#(record)}]}"#)
            #expect(saved.status == 200 && !saved.text.contains("serverErrorCode"), "\(saved.text)")
        }
        let route = try #require(Routes.table.first { $0.path == "/installation/accounts/delete" })
        for (account, erases) in [("bob", ",\"publicRecords\":true"), ("lovelace", "")] {
            let deleted = await server.send(
                route, as: .administrator, body: #"{"account":"\#(account)"\#(erases)}"#)
            #expect(deleted.status == 200, "\(deleted.text)")
        }
        let found = await server.call(
            "public/records/lookup", apiToken, try await server.session(of: "developer", apiToken),
            #"{"records":[{"recordName":"bob"},{"recordName":"lovelace"}]}"#)
        #expect(found.text.contains("NOT_FOUND") && found.text.contains(#""recordType":"Note""#), "\(found.text)")
        #expect(found.text.matches(of: /NOT_FOUND/).count == 1)
        await server.close()
    }
}
