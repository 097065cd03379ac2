import Foundation
import Glibc
import Testing

/// A notification of an acknowledged save is never lost: the server is killed while it saves, and every acknowledged save is
/// notified afterwards.
@Suite struct NotificationKillTests {
    private static let container = "1/iCloud.org.example.App/development"
    private static let me = "?ckAPIToken=any&ckWebAuthToken=dev:me"

    @Test func `every acknowledged save is notified although the server is killed`() async throws {
        try await withTemporaryDirectory { directory in
            let arguments = ["dev", "--port", "0", "--data", directory.path]
            var server = try StartedNephos(arguments)
            var port = try readyPort(try await server.readyLine())
            let courier = try await prepare(port)
            var saved: Set<String> = []
            var told: Set<String> = []
            var received = "none"
            for round in 0..<5 {
                saved.formUnion(try await save(round, server, port))
                _ = try await server.finish()
                server = try StartedNephos(arguments)
                port = try readyPort(try await server.readyLine())
                // Some now, the others after the kills that follow.
                received = try await poll(courier, port, received, atMost: 2, into: &told)
            }
            received = try await poll(courier, port, received, atMost: 1_000, until: saved, into: &told)
            #expect(saved.isSubset(of: told), "lost: \(saved.subtracting(told))")
            #expect(saved.count >= 5, "the kills came before anything was saved")
            #expect(try await server.stop().status == 0)
        }
    }

    private func prepare(_ port: UInt16) async throws -> String {
        let connection = try TestConnection(port: port)
        let created = try await connection.request(
            "POST", "/device/\(Self.container)/tokens/create\(Self.me)", body: #"{"apnsEnvironment":"development"}"#)
        let token = try #require(created.text.firstMatch(of: /"apnsToken":"([^"]+)"/)).1
        try #require(try await Self.save("first", connection))
        let subscribed = try await connection.request(
            "POST", "/database/\(Self.container)/private/subscriptions/modify\(Self.me)",
            body: """
                {"operations":[{"operationType":"create","subscription":{"subscriptionID":"S","subscriptionType":"query",
                 "query":{"recordType":"Note"},"firesOn":["create"]}}]}
                """)
        #expect(subscribed.status == 200)
        return "/courier/\(Self.container)/\(token)"
    }

    /// Saves until the server dies, which it does after some answers.
    private func save(_ round: Int, _ server: StartedNephos, _ port: UInt16) async throws -> Set<String> {
        var names: Set<String> = []
        let connection = try TestConnection(port: port)
        do {
            for number in 0..<1_000 {
                let name = "r\(round)-\(number)"
                guard try await Self.save(name, connection) else { break }
                names.insert(name)
                if names.count == 3 + round * 5 % 7 { kill(server.process.processIdentifier, SIGKILL) }
            }
        } catch {
            // The server is gone: that is how a round ends.
        }
        return names
    }

    private static func save(_ name: String, _ connection: TestConnection) async throws -> Bool {
        let response = try await connection.request(
            "POST", "/database/\(container)/private/records/modify\(me)",
            body: """
                {"operations":[{"operationType":"create","record":{"recordName":"\(name)","recordType":"Note"}}]}
                """)
        return response.status == 200 && response.text.contains("\"recordChangeTag\"")
    }

    /// Polls and records the notifications; returns the last notification, of which no receipt was sent.
    private func poll(
        _ courier: String, _ port: UInt16, _ received: String, atMost limit: Int, until wanted: Set<String> = [],
        into told: inout Set<String>
    ) async throws -> String {
        let connection = try TestConnection(port: port)
        var received = received
        for _ in 0..<limit {
            if !wanted.isEmpty, wanted.isSubset(of: told) { break }
            let response = try await connection.request("GET", "\(courier)?nephosReceived=\(received)")
            guard let name = response.text.firstMatch(of: /"rid":"([^"]+)"/)?.1,
                let id = response.text.firstMatch(of: /"nid":"([^"]+)"/)?.1
            else { break }
            told.insert(String(name))
            received = String(id)
        }
        return received
    }
}
