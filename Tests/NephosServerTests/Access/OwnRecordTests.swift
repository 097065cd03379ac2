import NephosService
import NephosWire
import Testing

@testable import NephosServer

/// Public records that administrators of a production server save as themselves.
@Suite struct OwnRecordTests {
    private static let save =
        #"{"operations":[{"operationType":"create","record":{"recordName":"a","recordType":"Note","fields":{}}}]}"#

    private func route(_ path: String) throws -> Route { try #require(Routes.table.first { $0.path == path }) }

    @Test func `a developer saves public records as its own account, which is audited`() async throws {
        let server = try await ProductionServer()
        let modify = try route("/nephos/records/modify")
        #expect(await server.send(modify, as: .viewer, body: Self.save).status == 403)
        let refused = await server.send(modify, as: .localUser, body: Self.save)
        #expect(refused.status == 400)
        let saved = await server.send(modify, as: .developer, body: Self.save)
        let text = String(decoding: saved.body, as: UTF8.self)
        let list = await server.send(
            try route("/nephos/records/list"), as: .viewer, body: #"{"database":"public","recordType":"Note"}"#)
        let records = try ListRecordsResponse(decoding: list.body).records
        #expect(saved.status == 200 && records.count == 1, "\(text)")
        let id = try await server.installation.accountID(named: "developer")
        let events = try await server.installation.audit(after: 0).events
        #expect(
            events.contains {
                $0.event == "/nephos/records/modify" && $0.actor == id && $0.object == "iCloud.test development"
            })
        await server.close()
    }
}
