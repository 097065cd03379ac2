import NephosSQLite
import NephosService
import NephosWire
import Testing

@testable import NephosServer

/// Packed records are sent on request only; clients of Apple's Web Services never see them.
@Suite struct PackedAnswerTests {
    private let responder = Responder(NephosService(stores: MemoryStores()))

    private func post(_ action: String, _ body: String) async -> HTTPResponse {
        let target = "/database/1/iCloud.a/development/private/\(action)?ckWebAuthToken=dev:a"
        return await responder.respond(
            to: HTTPRequest(method: .post, target: target, host: "127.0.0.1:8484", body: Array(body.utf8)))
    }

    /// A zone of three records and a fourth that is gone.
    private func fill() async throws {
        let zone = #"{"zoneID":{"zoneName":"Z"}}"#
        let create = #"{"operationType":"create","zone":\#(zone)}"#
        #expect(await post("zones/modify", #"{"operations":[\#(create)]}"#).status == 200)
        let operations = (0..<4).map {
            #"{"operationType":"create","record":{"recordName":"r\#($0)","recordType":"T","fields":{"a":{"value":\#($0)}}}}"#
        }
        let gone = #"{"operationType":"forceDelete","record":{"recordName":"r3"}}"#
        for some in [operations.joined(separator: ","), gone] {
            let body = #"{"operations":[\#(some)],"zoneID":{"zoneName":"Z"}}"#
            #expect(await post("records/modify", body).status == 200)
        }
    }

    private func type(_ response: HTTPResponse) -> String? {
        response.headers.first { $0.name == "Content-Type" }?.value
    }

    @Test(arguments: [
        (#"{"zones":[{"zoneID":{"zoneName":"Z"},"nephosPacked":true}]}"#),
        (#"{"zones":[{"zoneID":{"zoneName":"Z"}},{"zoneID":{"zoneName":"none"}}],"nephosPacked":true}"#),
    ])
    func `packed records follow the line of the answer's JSON`(body: String) async throws {
        try await fill()
        let response = await post("changes/zone", body)
        #expect(type(response) == "application/vnd.nephos.packed")
        let text = response.body
        #expect(text.starts(with: Array(#"{"nephosPacked":true,"zones":["#.utf8)))
        let end = try #require(text.firstIndex(of: UInt8(ascii: "\n")))
        let changes = try RecordZoneChangesResponse(decoding: text).zones.compactMap {
            if case .changes(let changes) = $0 { changes } else { nil }
        }
        #expect(changes.count == 1)
        let packed = try #require(changes.first?.packedRecords)
        #expect(Array(text[(end + 1)...]) == [packed.bytes].joined())
        var reader = PackedRecordsReader(packed)
        var names: [String] = []
        while let entry = try reader.next() {
            guard case .record(let record) = entry else { continue }
            names.append(try reader.string(record.name))
        }
        #expect(names == ["r0", "r1", "r2"])
    }

    @Test(arguments: [
        ("changes/zone", #"{"zones":[{"zoneID":{"zoneName":"Z"}}]}"#),
        ("changes/zone", #"{"zones":[{"zoneID":{"zoneName":"Z"},"nephosPacked":false}]}"#),
        ("changes/zone", #"{"zones":[{"zoneID":{"zoneName":"Z"},"reverse":true,"nephosPacked":true}]}"#),
        ("records/changes", #"{"zoneID":{"zoneName":"Z"}}"#),
        ("records/changes", #"{"zoneID":{"zoneName":"Z"},"nephosPacked":true}"#),
    ])
    func `other answers are JSON with record dictionaries`(_ action: String, _ body: String) async throws {
        try await fill()
        let response = await post(action, body)
        #expect(type(response) == "application/json; charset=UTF-8")
        let text = try #require(String(validating: response.body, as: UTF8.self))
        // One line, which ends as text does.
        #expect(!text.contains("nephosPacked") && !text.contains("nephosRecordsSize"))
        #expect(text.firstIndex(of: "\n") == text.indices.last)
        let changes: RecordZoneChanges?
        if action == "changes/zone" {
            guard case .changes(let zone)? = try RecordZoneChangesResponse(decoding: response.body).zones.first else {
                Issue.record("no changes: \(text)")
                return
            }
            changes = zone
        } else {
            changes = try RecordChangesResponse(decoding: response.body).changes
        }
        let names = changes?.records.compactMap { if case .record(let record) = $0 { record.recordName } else { nil } }
        #expect(names?.sorted() == ["r0", "r1", "r2"])
    }
}
