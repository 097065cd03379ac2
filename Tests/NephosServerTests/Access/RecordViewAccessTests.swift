import Foundation
import NephosSQLite
import NephosService
import NephosWire
import Testing

@testable import NephosServer

/// Who reads which records through the administration of a production server.
@Suite struct RecordViewAccessTests {
    private static let publicZone = #"{"database":"public"}"#
    private static let privateZone = #"{"database":"private","account":"lovelace"}"#

    private func route(_ path: String) throws -> Route { try #require(Routes.table.first { $0.path == path }) }

    private func events(_ server: ProductionServer) async throws -> [AuditedEvent] {
        try await server.installation.audit(after: 0).events.filter { $0.event.contains("/nephos/records/") }
    }

    @Test func `a viewer reads public records, and private ones only with a developer's role`() async throws {
        let server = try await ProductionServer()
        _ = await server.send(try route("zones/list"), as: .session)
        let list = try route("/nephos/records/list")
        for caller in [ProductionServer.Caller.viewer, .developer, .administrator, .localUser] {
            #expect(await server.send(list, as: caller, body: Self.publicZone).status == 200, "\(caller)")
        }
        #expect(try await events(server).isEmpty)
        #expect(await server.send(list, as: .viewer, body: Self.privateZone).status == 403)
        let explain = try route("/nephos/queries/explain")
        for database in ["private", "shared"] {
            let body =
                #"{"database":"\#(database)","account":"lovelace","request":{"query":{"recordType":"Users"}}}"#
            #expect(await server.send(explain, as: .viewer, body: body).status == 403, "\(database)")
        }
        #expect(await server.send(list, as: .developer, body: Self.privateZone).status == 200)
        await server.close()
    }

    @Test func `a viewer finds public records alone, and a search of all accounts is in the audit`() async throws {
        let server = try await ProductionServer()
        _ = await server.send(try route("zones/list"), as: .session)
        let find = try route("/nephos/records/find")
        #expect(await server.send(find, as: .viewer, body: #"{"recordName":"a","database":"public"}"#).status == 200)
        #expect(try await events(server).isEmpty)
        #expect(await server.send(find, as: .viewer, body: #"{"recordName":"a"}"#).status == 403)
        #expect(await server.send(find, as: .developer, body: #"{"recordName":"a"}"#).status == 200)
        #expect(try await events(server).count == 1)
        await server.close()
    }

    @Test func `each look at private records is in the audit, with the account and without a name`() async throws {
        let server = try await ProductionServer()
        _ = await server.send(try route("zones/list"), as: .session)
        let id = try await server.installation.accountID(named: "lovelace")
        let list = try route("/nephos/records/list")
        for caller in [ProductionServer.Caller.developer, .lateAdministrator, .developer] {
            #expect(await server.send(list, as: caller, body: Self.privateZone).status == 200, "\(caller)")
        }
        let show = #"{"database":"private","account":"nobody@example.org","recordName":"a"}"#
        #expect(await server.send(try route("/nephos/records/show"), as: .developer, body: show).status == 404)
        let looks = Dictionary(grouping: try await events(server), by: \.object)
            .mapValues { $0.reduce(0) { $0 + ($1.count ?? 1) } }
        let place = "\(ProductionServer.container) development"
        #expect(looks == ["\(place) \(id)": 3, place: 1])
        await server.close()
    }

    @Test func `a refused private value is not among the recent requests`() async throws {
        let server = try await ProductionServer()
        let (requests, modify) = (try route("/status/requests"), try route("records/modify"))
        _ = await server.send(requests, as: .administrator)
        for value in ["1", #""my private diagnosis""#, #""a \"private\" diagnosis""#, #"["private diagnosis"]"#] {
            let fields = #"{"day":{"value":\#(value),"type":"\#(value == "1" ? "TIMESTAMP" : "INT64")"}}"#
            _ = await server.send(
                modify, as: .session,
                body: #"{"operations":[{"operationType":"create","record":{"recordType":"Note","fields":\#(fields)}}]}"#
            )
        }
        let answer = await server.send(requests, as: .administrator)
        let text = String(decoding: answer.body, as: UTF8.self)
        #expect(text.contains("found …") || text.contains("\\\"…\\\""), "\(text)")
        #expect(!text.contains("diagnosis"), "\(text)")
        await server.close()
    }

    @Test func `a quoted value is masked, also where the end of its reason is cut`() {
        #expect(RefusedValue.masked(#"the format "a "b"" is wrong"#) == #"the format "…" is wrong"#)
        #expect(RefusedValue.masked(#"the format "a secr"#) == #"the format "…""#)
        #expect(RefusedValue.masked("day: expected a date, found 42") == "day: expected a date, found …")
        #expect(RefusedValue.masked("Zone 'Notes' does not exist") == "Zone 'Notes' does not exist")
    }

    @Test func `accounts have their sign-in names for administrators alone`() async throws {
        let server = try await ProductionServer()
        for caller in [ProductionServer.Caller.session, .otherAccount] {
            _ = await server.send(try route("zones/list"), as: caller)
        }
        let list = try route("/nephos/accounts/list")
        for (caller, names) in [
            (ProductionServer.Caller.administrator, ["lovelace", "bob"]), (.localUser, ["lovelace", "bob"]),
            (.developer, []), (.viewer, []),
        ] {
            let response = await server.send(list, as: caller)
            let accounts = try AccountsResponse(decoding: response.body).accounts
            #expect(accounts.count == 2)
            #expect(accounts.compactMap(\.signInName) == names, "\(caller)")
        }
        await server.close()
    }

    @Test func `a viewer sees no URL of a share, a developer no address, and each look at URLs is in the audit`()
        async throws
    {
        let server = try await ProductionServer()
        try await server.installation.grant(
            .developer, toAccountNamed: "lovelace", container: ProductionServer.container,
            by: AuditActor(name: "user 0"))
        let zone = #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Lists"}}}]}"#
        #expect(await server.send(try route("zones/modify"), as: .session, body: zone).status == 200)
        let share = #"""
            {"zoneID":{"zoneName":"Lists"},"operations":[
            {"operationType":"create","record":{"recordName":"list","recordType":"List"}},
            {"operationType":"create","record":{"recordName":"share","recordType":"cloudkit.share",
            "forRecord":{"recordName":"list"},"participants":[
            {"userIdentity":{"lookupInfo":{"emailAddress":"secret@example.org"}},"permission":"READ_WRITE"}]}}]}
            """#
        let saved = await server.send(try route("records/modify"), as: .session, body: share)
        #expect(saved.status == 200 && !String(decoding: saved.body, as: UTF8.self).contains("serverErrorCode"))
        let list = try route("/nephos/shares/list")
        for (caller, seesURL, seesAddress, audits) in [
            (ProductionServer.Caller.viewer, false, false, 0), (.developer, true, false, 1),
            (.lateAdministrator, true, true, 2), (.localUser, true, true, 3),
        ] {
            let response = await server.send(list, as: caller)
            let shares = try AccountSharesResponse(decoding: response.body).shares
            #expect(shares.map { !$0.shortGUID.isEmpty } == [seesURL], "\(caller)")
            #expect(shares.map(\.participants.count) == [1])
            #expect(String(decoding: response.body, as: UTF8.self).contains("secret@") == seesAddress, "\(caller)")
            let looks = try await server.installation.audit(after: 0).events.filter { $0.event.contains("shares/list") }
            #expect(looks.reduce(0) { $0 + ($1.count ?? 1) } == audits, "\(caller)")
        }
        await server.close()
    }

    @Test func `a viewer names accounts by their IDs alone, and learns of no private record`() async throws {
        let server = try await ProductionServer()
        _ = await server.send(try route("zones/list"), as: .session)
        let id = try await server.installation.accountID(named: "lovelace")
        for path in ["zones/list", "shares/list", "roles/list"] {
            let asked = try route("/nephos/\(path)")
            for name in ["lovelace", "nobody@example.org"] {
                let answer = await server.send(asked, as: .viewer, body: #"{"account":"\#(name)"}"#)
                #expect(answer.status == 403, "\(path) \(name)")
                #expect(!String(decoding: answer.body, as: UTF8.self).contains(id))
            }
            #expect(await server.send(asked, as: .viewer, body: #"{"account":"\#(id)"}"#).status == 200, "\(path)")
            #expect(await server.send(asked, as: .developer, body: #"{"account":"lovelace"}"#).status == 200, "\(path)")
        }
        let why = #"{"account":"\#(id)","owner":"\#(id)","zoneName":"_defaultZone","recordName":"a"}"#
        let explain = try route("/nephos/access/explain")
        #expect(await server.send(explain, as: .viewer, body: why).status == 403)
        #expect(await server.send(explain, as: .developer, body: why).status == 404)
        await server.close()
    }

    private struct Rights: Decodable, Equatable {
        var viewInstallation: Bool
        var change: Bool
        var readPrivateRecords: Bool
        var faults: Bool
        var containers: [String]
    }

    @Test
    func `the dashboard is told what each role allows in a container, and that a production server has no faults`()
        async throws
    {
        let server = try await ProductionServer()
        func rights(_ caller: ProductionServer.Caller, in container: String) async throws -> Rights {
            let answer = await server.send(
                try route("/status/rights"), as: caller, query: "?container=\(container)")
            return try JSONDecoder().decode(Rights.self, from: Data(answer.body))
        }
        let (own, other) = (ProductionServer.container, "iCloud.other")
        func expected(_ installation: Bool, _ change: Bool, _ reads: Bool) -> Rights {
            Rights(
                viewInstallation: installation, change: change, readPrivateRecords: reads, faults: false,
                containers: installation ? [] : [own])
        }
        #expect(try await rights(.viewer, in: own) == expected(false, false, false))
        #expect(try await rights(.developer, in: own) == expected(false, true, true))
        #expect(try await rights(.developer, in: other) == expected(false, false, false))
        for caller in [ProductionServer.Caller.administrator, .lateAdministrator] {
            #expect(try await rights(caller, in: other) == expected(true, true, true), "\(caller)")
        }
        await server.close()
        let service = NephosService(stores: MemoryStores())
        let answer = await Responder(service).respond(
            to: HTTPRequest(method: .get, target: "/status/rights", host: "localhost"))
        let everything = try JSONDecoder().decode(Rights.self, from: Data(answer.body))
        let all = Rights(viewInstallation: true, change: true, readPrivateRecords: true, faults: true, containers: [])
        #expect(everything == all)
        await service.close()
    }

    @Test func `a container that is unused has empty lists`() async throws {
        let server = try await ProductionServer()
        for path in ["accounts/list", "zones/list", "shares/list"] {
            #expect(await server.send(try route("/nephos/\(path)"), as: .viewer).status == 200, "\(path)")
        }
        let list = try route("/nephos/records/list")
        let response = await server.send(list, as: .viewer, body: Self.publicZone)
        #expect(try ListRecordsResponse(decoding: response.body) == ListRecordsResponse())
        #expect(await server.send(list, as: .developer, body: Self.privateZone).status != 200)
        await server.close()
    }
}
