import Foundation
import Glibc
import Testing

/// An acknowledged write is never lost: the server is killed repeatedly while it saves, and every acknowledged record exists
/// afterwards.
@Suite struct KillTests {
    private static let target =
        "/database/1/iCloud.org.example.App/development/private/records/%@?ckAPIToken=any&ckWebAuthToken=dev:me"

    private static let kills = 10

    @Test(arguments: 0..<5) func `every acknowledged save survives fifty kills`(_ store: Int) async throws {
        try await withTemporaryDirectory { directory in
            let arguments = ["dev", "--port", "0", "--data", directory.path]
            var answered: Set<String> = []
            for round in store * Self.kills..<(store + 1) * Self.kills {
                let server = try StartedNephos(arguments)
                let port = try readyPort(try await server.readyLine())
                // The file opened, and what was answered before is there.
                try await expectPresent(answered, port)
                answered.formUnion(try await saveUntilKilled(server, port, round))
            }
            #expect(answered.count >= Self.kills, "the kills came before anything was saved")
            let server = try StartedNephos(arguments)
            try await expectPresent(answered, try readyPort(try await server.readyLine()))
            #expect(try await server.stop().status == 0)
        }
    }

    /// Saves on four connections at once; kills the server when a number of answers, another in each round, is in.
    private func saveUntilKilled(_ server: StartedNephos, _ port: UInt16, _ round: Int) async throws -> Set<String> {
        let killer = server.process.processIdentifier
        let counter = Counter(target: 1 + round * 7 % 60) { kill(killer, SIGKILL) }
        let saved = await withTaskGroup(of: Set<String>.self) { group in
            for lane in 0..<4 {
                group.addTask {
                    await Self.save(lane: "\(round)-\(lane)", port, counter)
                }
            }
            return await group.reduce(into: Set<String>()) { $0.formUnion($1) }
        }
        let finished = try await server.finish()
        #expect(!finished.exited && finished.status == SIGKILL)
        return saved
    }

    /// Saves records one after another until the connection breaks; the names of those that were answered.
    private static func save(lane: String, _ port: UInt16, _ counter: Counter) async -> Set<String> {
        var names: Set<String> = []
        do {
            let connection = try TestConnection(port: port)
            for number in 0..<1_000 {
                let name = "r\(lane)-\(number)"
                let response = try await connection.request(
                    "POST", String(format: target, "modify"),
                    body: """
                        {"operations":[{"operationType":"create","record":{"recordName":"\(name)","recordType":"Note",
                        "fields":{"text":{"value":"\(name)"}}}}]}
                        """)
                guard response.status == 200, response.text.contains("\"recordChangeTag\"") else { break }
                names.insert(name)
                await counter.count()
            }
        } catch {
            // The server is gone: that is how a round ends.
        }
        return names
    }

    private func expectPresent(_ names: Set<String>, _ port: UInt16) async throws {
        let connection = try TestConnection(port: port)
        let all = names.sorted()
        for start in stride(from: 0, to: all.count, by: 400) {
            let page = all[start..<min(start + 400, all.count)]
            let records = page.map { "{\"recordName\":\"\($0)\"}" }.joined(separator: ",")
            let response = try await connection.request(
                "POST", String(format: Self.target, "lookup"), body: "{\"records\":[\(records)]}")
            #expect(response.status == 200)
            for name in page { #expect(response.text.contains("\"value\":\"\(name)\""), "\(name) is lost") }
        }
    }

    /// Does something once, when it has counted far enough.
    private actor Counter {
        private var remaining: Int
        private let action: @Sendable () -> Void

        init(target: Int, action: @escaping @Sendable () -> Void) {
            remaining = target
            self.action = action
        }

        func count() {
            remaining -= 1
            if remaining == 0 { action() }
        }
    }
}
