import Foundation
import Glibc
import Testing

/// Kills of the server while it moves a subtree larger than one commit. After each restart a participant reads exactly the
/// result of the last acknowledged move, and so does its feed once the background jobs are done.
@Suite struct MoveKillTests {
    private static let database = "/database/1/iCloud.org.example.App/development"
    private static let count = 3000

    private struct Client {
        let connection: TestConnection

        func post(_ account: String, _ path: String, _ body: String) async throws -> String {
            let response = try await connection.request(
                "POST", "\(MoveKillTests.database)/\(path)?ckAPIToken=any&ckWebAuthToken=dev:\(account)", body: body)
            guard response.status == 200 else { throw TestFailure(response.text) }
            return response.text
        }

        func modify(_ operations: [String]) async throws -> String {
            let answer = try await post(
                "alice", "private/records/modify",
                #"{"zoneID":{"zoneName":"Z"},"operations":[\#(operations.joined(separator: ","))]}"#)
            guard !answer.contains("serverErrorCode") else { throw TestFailure(answer) }
            return answer
        }

        /// How many of the items Bob can read by their names.
        func readable(_ owner: String) async throws -> Int {
            var found = 0
            for start in stride(from: 0, to: MoveKillTests.count, by: 400) {
                let names = (start..<min(start + 400, MoveKillTests.count)).map { #"{"recordName":"i\#($0)"}"# }
                let answer = try await post(
                    "bob", "shared/records/lookup",
                    #"{"zoneID":{"zoneName":"Z","ownerRecordName":"\#(owner)"},"records":[\#(names.joined(separator: ","))]}"#
                )
                found += answer.matches(of: /"recordChangeTag"/).count
            }
            return found
        }

        /// How many of them a new device of Bob's gets from the feed.
        func fed(_ owner: String) async throws -> Int {
            var (found, token) = (0, "")
            while true {
                let answer = try await post(
                    "bob", "shared/changes/zone",
                    #"{"zones":[{"zoneID":{"zoneName":"Z","ownerRecordName":"\#(owner)"}\#(token)}]}"#)
                found += answer.matches(of: /"recordName":"i\d+"/).count
                let next = try #require(answer.firstMatch(of: /"syncToken":"([^"]+)"/)).1
                token = #","syncToken":"\#(next)""#
                if !answer.contains(#""moreComing":true"#) { return found }
            }
        }
    }

    private func operation(_ kind: String, _ name: String, parent: String?) -> String {
        let parent = parent.map { #"{"recordName":"\#($0)"}"# } ?? "null"
        return
            #"{"operationType":"\#(kind)","record":{"recordName":"\#(name)","recordType":"Item","parent":\#(parent),"fields":{}}}"#
    }

    /// - Returns: the owner's name.
    private func prepare(_ client: Client) async throws -> String {
        _ = try await client.post(
            "alice", "private/zones/modify",
            #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Z"}}}]}"#)
        let root = #"{"operationType":"create","record":{"recordName":"root","recordType":"Item","fields":{}}}"#
        let share = """
            {"operationType":"create","record":{"recordName":"share","recordType":"cloudkit.share",
            "forRecord":{"recordName":"root"},"publicPermission":"READ_WRITE","fields":{}}}
            """
        let made = try await client.modify([root, share, operation("create", "folder", parent: "root")])
        for start in stride(from: 0, to: Self.count, by: 400) {
            _ = try await client.modify(
                (start..<min(start + 400, Self.count)).map { operation("create", "i\($0)", parent: "folder") })
        }
        let guid = try #require(made.firstMatch(of: /"shortGUID":"([^"]+)"/)).1
        let joined = try await client.post("bob", "public/records/accept", #"{"shortGUIDs":["\#(guid)"]}"#)
        return String(try #require(joined.firstMatch(of: /"ownerRecordName":"([^"]+)"/)).1)
    }

    @Test func `a kill during a move reveals nothing unshared, and the move resumes`() async throws {
        try await withTemporaryDirectory { directory in
            let arguments = ["dev", "--port", "0", "--data", directory.path]
            var server = try StartedNephos(arguments)
            var client = Client(connection: try TestConnection(port: try readyPort(try await server.readyLine())))
            let owner = try await prepare(client)
            #expect(try await client.readable(owner) == Self.count)
            for round in 0..<6 {
                let isOut = round % 2 == 0
                _ = try await client.modify([operation("forceUpdate", "folder", parent: isOut ? nil : "root")])
                // At another time in each round, as far as the background is by then.
                for _ in 0..<round / 2 { #expect(try await client.readable(owner) == (isOut ? 0 : Self.count)) }
                _ = try await server.stop(SIGKILL)
                server = try StartedNephos(arguments)
                client = Client(connection: try TestConnection(port: try readyPort(try await server.readyLine())))
                #expect(try await client.readable(owner) == (isOut ? 0 : Self.count))
            }
            // The feed follows.
            var fed = 0
            for _ in 0..<10_000 {
                fed = try await client.fed(owner)
                if fed == Self.count { break }
            }
            #expect(fed == Self.count)
            #expect(try await server.stop().status == 0)
        }
    }
}
