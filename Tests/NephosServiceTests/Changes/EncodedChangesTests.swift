import NephosPostgresTesting
import NephosWire
import Testing

@testable import NephosService

struct EncodedChangesTests {
    /// A zone with parents, deletions, values that need escapes, and records of two users' names.
    private func zone() async throws -> (TestDatabase, token: String) {
        let database = try await TestDatabase(TestCloud()).making(zone: "Z")
        _ = try await database.modify([
            .create("root", ["text": .string("\"quoted\" \\ \u{1} é 😀")]), .create("gone"), .create("kept"),
        ])
        let token = try await database.changes(limit: 1).syncToken
        _ = try await database.modify([
            .create("child", ["n": .int64(-7), "when": .timestamp(1_767_323_045_000)], type: "Child", parent: "root"),
            .delete("gone"), .force("kept", ["d": .double(2.5), "list": .list(of: .string, [.string("a")])]),
        ])
        return (database, token)
    }

    /// The answer's bytes, of values or of what was encoded while it was read.
    private func answer(
        _ zone: RecordZoneChangesRequest.Zone, _ database: TestDatabase, encoded: Bool
    ) async throws -> String {
        var context = database.context
        context.takesEncodedRecords = encoded
        let response = try await database.cloud.service.recordZoneChanges(
            RecordZoneChangesRequest(zones: [zone]), context)
        guard case .changes(let changes) = response.zones[0] else { return "no changes" }
        #expect((changes.encodedRecords != nil) == (encoded && !zone.reverse))
        return String(decoding: response.encoded(), as: UTF8.self)
    }

    @Test func `an answer encoded during the read has the bytes of one made of values`() async throws {
        let (database, token) = try await zone()
        let zoneID = try #require(database.zoneID)
        var whole = RecordZoneChangesRequest.Zone(zoneID: zoneID)
        var requests = [whole]
        whole.syncToken = token
        requests.append(whole)
        for change: (inout RecordZoneChangesRequest.Zone) -> Void in [
            { $0.resultsLimit = 2 }, { $0.desiredKeys = ["n", "text"] }, { $0.desiredKeys = [] },
            { $0.numbersAsStrings = true }, { $0.desiredRecordTypes = ["Child"] }, { $0.reverse = true },
        ] {
            var request = whole
            change(&request)
            requests.append(request)
        }
        for request in requests {
            let encoded = try await answer(request, database, encoded: true)
            #expect(encoded.contains("recordChangeTag") && encoded.contains("syncToken"))
            #expect(try await answer(request, database, encoded: false) == encoded)
        }
        #expect(try await answer(whole, database, encoded: true).contains(#"{"recordName":"gone","deleted":true"#))
    }

    @Test func `a page without records is an empty array`() async throws {
        let (database, _) = try await zone()
        let end = try await database.changes().syncToken
        let request = RecordZoneChangesRequest.Zone(zoneID: try #require(database.zoneID), syncToken: end)
        #expect(try await answer(request, database, encoded: true).contains(#""records":[],"#))
    }

    @Test(arguments: [0, 1, 35, 36, 1295, 1296, 123_456_789, Int64.max, -1, Int64.min])
    func `a change tag has the same bytes either way`(sequence: Int64) {
        let bytes = ChangeTag.withBytes(sequence: sequence) { Array($0) }
        #expect(String(decoding: bytes, as: UTF8.self) == ChangeTag.make(sequence: sequence))
    }
}
