import Foundation
import Glibc
import Testing

/// Kills of the server while it erases an account. After each restart no account sees its records, and once the background
/// jobs are done every participant of its shares was notified of their end.
@Suite struct AccountKillTests {
    private static let zones = 40

    private struct Client {
        let connection: TestConnection

        func post(_ account: String, _ path: String, _ body: String) async throws -> String {
            try await send("/database/1/iCloud.org.example.App/development/\(path)?ckWebAuthToken=dev:\(account)", body)
        }

        func send(_ target: String, _ body: String) async throws -> String {
            let response = try await connection.request("POST", target, body: body)
            guard response.status == 200 else { throw TestFailure(response.text) }
            return response.text
        }

        /// Shares so many zones of an account's with everybody.
        /// - Returns: what their URLs end in.
        func shareZones(of account: String) async throws -> [String] {
            var guids: [String] = []
            for index in 0..<AccountKillTests.zones {
                _ = try await post(
                    account, "private/zones/modify",
                    #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Z\#(index)"}}}]}"#)
                let items = (0..<50).map {
                    #"{"operationType":"create","record":{"recordName":"i\#($0)","recordType":"Item"}}"#
                }
                let answer = try await post(
                    account, "private/records/modify",
                    """
                    {"zoneID":{"zoneName":"Z\(index)"},"operations":[\(items.joined(separator: ",")),
                    {"operationType":"create","record":{"recordName":"cloudkit.zoneshare",
                    "recordType":"cloudkit.share","publicPermission":"READ_WRITE"}}]}
                    """)
                guids.append(String(try #require(answer.firstMatch(of: /"shortGUID":"([^"]+)"/)).1))
            }
            return guids
        }

        func join(_ account: String, _ guids: [String]) async throws {
            let items = guids.map { #"{"value":"\#($0)"}"# }.joined(separator: ",")
            let answer = try await post(account, "public/records/accept", "{\"shortGUIDs\":[\(items)]}")
            guard !answer.contains("serverErrorCode") else { throw TestFailure(answer) }
        }

        func sharedZones(_ account: String) async throws -> Int {
            try await post(account, "shared/zones/list", "{}").matches(of: /"zoneName"/).count
        }

        /// How many zones the feed says are gone.
        func deletions(_ account: String, since token: Substring) async throws -> Int {
            let answer = try await post(account, "shared/changes/database", #"{"syncToken":"\#(token)"}"#)
            return answer.matches(of: /"deleted":true/).count
        }

        func participants(_ account: String) async throws -> Int {
            var count = 0
            for index in 0..<AccountKillTests.zones {
                count += try await post(
                    account, "private/records/lookup",
                    #"{"zoneID":{"zoneName":"Z\#(index)"},"records":[{"recordName":"cloudkit.zoneshare"}]}"#
                ).matches(of: /"participantId"/).count
            }
            return count
        }
    }

    @Test func `a kill during an erasure reveals none of the account, and the erasure resumes`() async throws {
        try await withTemporaryDirectory { directory in
            let arguments = ["dev", "--port", "0", "--data", directory.path]
            var server = try StartedNephos(arguments)
            var client = Client(connection: try TestConnection(port: try readyPort(try await server.readyLine())))
            try await client.join("bob", try await client.shareZones(of: "alice"))
            try await client.join("alice", try await client.shareZones(of: "carol"))
            #expect(try await client.sharedZones("bob") == Self.zones)
            let before = try await client.participants("carol")
            let token = try #require(
                try await client.post("bob", "shared/changes/database", "{}").firstMatch(of: /"syncToken":"([^"]+)"/)
            ).1
            _ = try await client.send(
                "/nephos/1/iCloud.org.example.App/development/accounts/delete", #"{"account":"alice"}"#)
            for round in 0..<4 {
                // At another time in each round, as far as the background is by then.
                for _ in 0..<3 * round { #expect(try await client.sharedZones("bob") == 0) }
                _ = try await server.stop(SIGKILL)
                server = try StartedNephos(arguments)
                client = Client(connection: try TestConnection(port: try readyPort(try await server.readyLine())))
                #expect(try await client.sharedZones("bob") == 0)
            }
            // The feeds follow.
            var (gone, left) = (0, before)
            for _ in 0..<10_000 {
                (gone, left) = (try await client.deletions("bob", since: token), try await client.participants("carol"))
                if gone == Self.zones, left <= before - Self.zones { break }
            }
            // An owner is listed as the owner, and among the participants.
            #expect(gone == Self.zones && left <= before - Self.zones)
            #expect(try await server.stop().status == 0)
        }
    }
}
