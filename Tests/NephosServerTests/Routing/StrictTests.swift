import Foundation
import NephosSQLite
import NephosWire
import Testing

@testable import NephosServer
@testable import NephosService

/// A strict server refuses our additions. The table has a row for each that the sources and the documentation name.
@Suite struct StrictTests {
    private enum Row {
        /// Refused to clients other than the library.
        case others(_ path: String, _ body: String)
        /// Refused to all clients: an app asks for it.
        case all(_ path: String, _ body: String)
        /// Part of an answer, which other clients do not get (`AnswerAdditionsTests`).
        case answer
        /// No member of a request, for a reason.
        case none(_ reason: String)
    }

    private static let operation = #"{"operationType":"create","record":{"recordType":"Note","fields":{}}}"#

    private static func modify(_ member: String, of record: String = "") -> Row {
        let record = #"{"recordType":"Note","recordName":"a","fields":{"nephosMine":{"value":1}}\#(record)}"#
        let operations = #"[{"operationType":"forceUpdate","record":\#(record)}]"#
        return .others("records/modify", #"{"operations":\#(operations)\#(member)}"#)
    }

    private static func query(_ member: String, inQuery: String = "") -> Row {
        .all("records/query", #"{"query":{"recordType":"Note"\#(inQuery)}\#(member)}"#)
    }

    private static func changes(_ member: String) -> Row {
        .others("changes/zone", #"{"zones":[{"zoneID":{"zoneName":"Z"}\#(member)}]}"#)
    }

    private static func notificationInfo(_ member: String) -> Row {
        let subscription = #"{"subscriptionType":"database","notificationInfo":{\#(member)}}"#
        return .others(
            "subscriptions/modify", #"{"operations":[{"operationType":"create","subscription":\#(subscription)}]}"#)
    }

    private static func field(_ value: String, type: String) -> Row {
        .others(
            "records/modify",
            #"{"operations":[{"operationType":"create","record":{"recordType":"Note","fields":{"a":{"type":"\#(type)","value":\#(value)}}}}]}"#
        )
    }

    private static let rows: [String: Row] = [
        "nephosCount": query(#","nephosCount":true"#), "nephosExplain": query(#","nephosExplain":true"#),
        "nephosFilter": query("", inQuery: #","nephosFilter":{"or":[]}"#),
        "nephosLacksKeys": modify(#","nephosLacksKeys":true"#),
        "nephosServerRecord": modify(#","nephosServerRecord":true"#),
        "nephosRequestKey": modify(#","nephosRequestKey":"key-1""#),
        "clientChangeToken": modify(#","clientChangeToken":"AAAA""#),
        "nephosKeep": modify("", of: #", "nephosKeep" : ["b"]"#), "nephosKeys": modify("", of: #","nephosKeys":[]"#),
        "nephosParticipants": modify("", of: #","nephosParticipants":"AAAA""#),
        "zoneID": modify("", of: #","zoneID":{"zoneName":"Other"}"#),
        "nephosSeconds": .others(
            "records/modify",
            #"{"operations":[{"operationType":"create","record":{"recordType":"Note","fields":{"a":{"type":"TIMESTAMP","value":1,"nephosSeconds":0.0001}}}}]}"#
        ),
        "nephosSeal": field(#"{"nephosSeal":"AAAA"}"#, type: "ASSETID"),
        "nephosContent": field(#"{"nephosContent":"AAAA"}"#, type: "ASSETID"),
        "nephosFetchEnd": changes(#","nephosFetchEnd":"AAAA""#), "nephosPacked": changes(#","nephosPacked":true"#),
        "nephosDeletionsSince": changes(#","nephosDeletionsSince":"AAAA""#),
        "nephosEncryptionScope": .others(
            "zones/modify",
            #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Z"},"nephosEncryptionScope":"PER_ZONE"}}]}"#
        ),
        "nephosSealed": .others(
            "assets/upload", #"{"tokens":[{"recordType":"Note","fieldName":"file","nephosSealed":true}]}"#),
        "recordType": .others(
            "subscriptions/modify",
            #"{"operations":[{"operationType":"create","subscription":{"subscriptionType":"database","recordType":"Note"}}]}"#
        ),
        "title": notificationInfo(#""title":"New""#), "subtitle": notificationInfo(#""subtitle":"New""#),
        "shouldSendMutableContent": notificationInfo(#""shouldSendMutableContent":true"#),
        "collapseIDKey": notificationInfo(#""collapseIDKey":"a""#), "ck": .answer,
        "nephosHasAccount": .answer, "nephosDateAdded": .answer, "nephosOneTimeGUID": .answer, "serverRecord": .answer,
        "nephosErrorCode": .answer, "nephosDeletionReason": .answer, "nephosDuplicateOf": .answer,
        "nephosNeedsKeys": .answer, "nephosNeedsFile": .answer, "nephosKeyGroup": .answer, "nephosHasKeys": .answer,
        "nephosWantsKeys": .answer,
        "nephosUserDidResetEncryptedData": .answer, "nephosShare": .answer, "nephosRootRecordName": .answer,
        "nephosRecordsSize": .answer,
        "nephosReceived": .none("CloudKit JS and the library acknowledge a notification with it, no app does"),
        "nephosWait": .none("CloudKit JS looks for a notification with it, no app does"),
        "nephosExport": .none("in files of 'nephos export'"),
    ]

    private func answer(
        _ path: String, _ body: String, isStrict: Bool, isOfLibrary: Bool
    ) async -> (status: Int, text: String) {
        var configuration = ServiceConfiguration()
        configuration.refusesAdditions = isStrict
        let service = NephosService(stores: MemoryStores(), configuration: configuration)
        var request = HTTPRequest(
            method: .post,
            target: "/database/1/iCloud.a/development/private/\(path)?ckAPIToken=t&ckWebAuthToken=dev:mei",
            host: "localhost", body: Array(body.utf8))
        request.takesAdditions = isOfLibrary
        let response = await Responder(service).respond(to: request)
        await service.close()
        return (response.status, String(decoding: response.body, as: UTF8.self))
    }

    private func expectRefusal(_ isRefused: Bool, of name: String, _ answer: (status: Int, text: String)) {
        let names = answer.text.contains("'\(name)' is an addition of Nephos") && answer.status == 400
        #expect(names == isRefused, "\(name): \(answer)")
    }

    @Test(arguments: rows.keys.sorted())
    func `a strict server refuses an addition by its name, and another takes it`(name: String) async throws {
        let (path, body, concernsLibrary): (String, String, Bool)
        switch try #require(Self.rows[name]) {
        case .others(let of, let text): (path, body, concernsLibrary) = (of, text, false)
        case .all(let of, let text): (path, body, concernsLibrary) = (of, text, true)
        case .answer, .none: return
        }
        for isOfLibrary in [false, true] {
            expectRefusal(
                !isOfLibrary || concernsLibrary, of: name,
                await answer(path, body, isStrict: true, isOfLibrary: isOfLibrary))
            expectRefusal(false, of: name, await answer(path, body, isStrict: false, isOfLibrary: isOfLibrary))
        }
    }

    @Test func `requests of Apple's Web Services, and fields with any name, pass`() async {
        let (_, body) = ("", #"{"operations":[\#(Self.operation)],"zoneID":{"zoneName":"_defaultZone"}}"#)
        #expect(await answer("records/modify", body, isStrict: true, isOfLibrary: false).status == 200)
        let named = #"""
            {"operations":[{"operationType":"create","record":{"recordType":"Note","zoneID":{"zoneName":"_defaultZone"},
            "fields":{"nephosKeep":{"value":"mine"},"fields":{"value":1}}}}]}
            """#
        #expect(await answer("records/modify", named, isStrict: true, isOfLibrary: false).status == 200)
    }

    @Test func `every endpoint is Apple's, or refused to other clients`() async throws {
        let apples: Set<String> = [
            "records/modify", "records/lookup", "records/query", "records/changes", "records/resolve",
            "records/accept", "zones/list", "zones/lookup", "zones/modify", "zones/changes", "changes/zone",
            "changes/database", "subscriptions/list", "subscriptions/lookup", "subscriptions/modify", "tokens/create",
            "tokens/register", "assets/upload", "assets/rereference", "users/current", "users/caller",
            "users/discover", "users/lookup/email", "users/lookup/id", "users/lookup/contacts",
        ]
        #expect(Set(NephosService.endpoints.filter { !$0.isAddition }.map(\.path)) == apples)
        for path in NephosService.endpoints.filter(\.isAddition).map(\.path) {
            let body = path == "records/requestAccess" ? #"{"shortGUIDs":["a"]}"# : #"{"users":[],"ids":[]}"#
            let refused = await answer(path, body, isStrict: true, isOfLibrary: false)
            #expect(refused.status == 400, "\(path): \(refused)")
            let taken = await answer(path, body, isStrict: true, isOfLibrary: true)
            #expect(!taken.text.contains("is an addition of Nephos"))
        }
    }

    @Test func `every addition that the sources and the page name has a row`() throws {
        let root = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        var names: Set<String> = []
        let page = try String(contentsOf: root.appendingPathComponent("Documentation/WireProtocol.md"), encoding: .utf8)
        let table = try #require(
            page.split(separator: "\n| key | where | meaning |\n").last?.split(separator: "\n\n").first)
        for line in table.split(separator: "\n") where line.hasPrefix("| `") {
            let column = line.split(separator: "|")[0]
            for match in column.matches(of: /`([A-Za-z]+)/) { names.insert(String(match.1)) }
        }
        let wire = root.appendingPathComponent("Sources/NephosWire")
        let files = try #require(FileManager.default.enumerator(at: wire, includingPropertiesForKeys: nil))
        for case let file as URL in files where file.pathExtension == "swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            for match in text.matches(of: /"(nephos[A-Z][A-Za-z]*)"/) { names.insert(String(match.1)) }
            for match in text.matches(of: /Our addition, `([A-Za-z]+)`/) { names.insert(String(match.1)) }
        }
        #expect(names.count > 30)
        let missing = names.filter { Self.rows[$0] == nil }.sorted()
        #expect(missing.isEmpty, "no row for \(missing): does a strict server refuse it?")
    }
}
