import Foundation
import Glibc
import NephosPostgresTesting
import NephosTesting
import Testing

@testable import NephosPostgres

/// Two server processes over one database, of which one is killed: the other finishes its jobs.
@Suite(.overPostgreSQL, .oneAtATime) struct TakeoverTests {
    private static let container = "1/iCloud.org.example.App/development"
    private static let me = "?ckAPIToken=any&ckWebAuthToken=dev:me"

    /// Two servers over a database of their own.
    private final class Pair {
        let servers: [StartedNephos]
        let ports: [UInt16]
        let database: PostgresConnection
        private let address: String

        init(_ directory: URL) async throws {
            let name = "takeover_\(UInt32.random(in: .min ... .max))"
            let text = try TestCluster.text.get()
            let host = try #require(text.firstMatch(of: /host=(\S+)/)).1
            let options = PostgresOptions(acceptsUnsafeServer: true)
            let admin = try PostgresConnection(try PostgresAddress(text), options, damage: nil)
            try admin.execute("CREATE DATABASE \(name) ENCODING 'UTF8' TEMPLATE template0")
            admin.close()
            address = "postgresql://nephos@/\(name)?host=\(host)"
            database = try PostgresConnection(try PostgresAddress(address), options, damage: nil)
            var (servers, ports): ([StartedNephos], [UInt16]) = ([], [])
            for _ in 0..<2 {
                let server = try Self.start(over: address, data: directory.appendingPathComponent("shared"))
                servers.append(server)
                ports.append(try readyPort(try await server.readyLine()))
            }
            (self.servers, self.ports) = (servers, ports)
        }

        private static func start(over address: String, data: URL) throws -> StartedNephos {
            try StartedNephos([
                "dev", "--port", "0", "--storage", address, "--accept-unsafe-storage", "--data", data.path,
            ])
        }

        /// One more server, whose files are elsewhere.
        func startElsewhere(_ data: URL) throws -> StartedNephos { try Self.start(over: address, data: data) }

        /// The first server is gone, without a word.
        func killFirst() async throws {
            kill(servers[0].process.processIdentifier, SIGKILL)
            _ = try await servers[0].finish()
        }

        func count(_ what: String) throws -> Int {
            Int(try database.ask("SELECT count(*)::text FROM nephos.\(what)").first?.first ?? "") ?? -1
        }
    }

    private func post(_ connection: TestConnection, _ path: String, _ body: String) async throws -> String {
        let response = try await connection.request(
            "POST", "/database/\(Self.container)/private/\(path)\(Self.me)", body: body)
        try #require(response.status == 200 && !response.text.contains("serverErrorCode"), "\(response.text)")
        return response.text
    }

    @Test(.timeLimit(.minutes(5))) func `a server with another asset directory does not start`() async throws {
        try await withTemporaryDirectory { directory in
            let pair = try await Pair(directory)
            let third = try pair.startElsewhere(directory.appendingPathComponent("own"))
            let finished = try await third.finish()
            #expect(finished.status == 1)
            #expect(finished.errors.contains("All its servers need the same place"), "\(finished.errors)")
            for server in pair.servers { #expect(try await server.stop().status == 0) }
        }
    }

    @Test(.timeLimit(.minutes(5))) func `a server waits for its database, and a stop ends the wait`() async throws {
        let cluster = try #require(try TestCluster.text.get().firstMatch(of: /host=(\S+)/)).1
        try await withTemporaryDirectory { directory in
            // A socket's path has to be short.
            let sockets = URL(fileURLWithPath: "/tmp/nephos-w\(UInt32.random(in: .min ... .max))")
            let arguments = [
                "dev", "--port", "0", "--storage", "postgresql://nephos@/postgres?host=\(sockets.path)",
                "--accept-unsafe-storage", "--data", directory.path,
            ]
            let stopped = try await StartedNephos(arguments).stop()
            #expect(stopped.status == 0 && !stopped.output.contains("serving"), "\(stopped.errors)")
            let server = try StartedNephos(arguments)
            async let ready = server.readyLine()
            try FileManager.default.createSymbolicLink(
                at: sockets, withDestinationURL: URL(fileURLWithPath: String(cluster)))
            defer { try? FileManager.default.removeItem(at: sockets) }
            let connection = try TestConnection(port: try readyPort(try await ready))
            _ = try await post(connection, "zones/list", "{}")
            #expect(try await server.stop().status == 0)
        }
    }

    @Test(.timeLimit(.minutes(5))) func `records of a deleted zone are purged by the other server`() async throws {
        try await withTemporaryDirectory { directory in
            let pair = try await Pair(directory)
            let connection = try TestConnection(port: pair.ports[0])
            func big(_ operation: String) async throws {
                let zone = #"{"operationType":"\#(operation)","zone":{"zoneID":{"zoneName":"Big"}}}"#
                _ = try await post(connection, "zones/modify", #"{"operations":[\#(zone)]}"#)
            }
            try await big("create")
            for batch in 0..<10 {
                let operations = (0..<400).map {
                    """
                    {"operationType":"create","record":{"recordName":"r\(batch)-\($0)","recordType":"Note",
                    "fields":{"n":{"value":\($0)}}}}
                    """
                }
                _ = try await post(
                    connection, "records/modify",
                    #"{"zoneID":{"zoneName":"Big"},"operations":[\#(operations.joined(separator: ","))]}"#)
            }
            // A server does the work of the stores that it has open.
            let other = try TestConnection(port: pair.ports[1])
            _ = try await post(other, "zones/list", "{}")
            let notes = "record WHERE type = 'Note'"
            #expect(try pair.count(notes) == 4000)
            try await big("delete")
            try await eventually { try pair.count(notes) != 4000 }
            try await pair.killFirst()
            try await eventually { try pair.count(notes) + pair.count("job") == 0 }
            #expect(try await pair.servers[1].stop().status == 0)
            pair.database.close()
        }
    }

    @Test(.timeLimit(.minutes(5))) func `acknowledged saves of a killed server are notified by the other`() async throws
    {
        try await withTemporaryDirectory { directory in
            let pair = try await Pair(directory)
            let (one, other) = (try TestConnection(port: pair.ports[0]), try TestConnection(port: pair.ports[1]))
            let created = try await other.request(
                "POST", "/device/\(Self.container)/tokens/create\(Self.me)", body: #"{"apnsEnvironment":"development"}"#
            )
            let token = try #require(created.text.firstMatch(of: /"apnsToken":"([^"]+)"/)).1
            func save(_ name: String) async throws {
                let record = #"{"recordName":"\#(name)","recordType":"Note"}"#
                _ = try await post(
                    one, "records/modify", #"{"operations":[{"operationType":"create","record":\#(record)}]}"#)
            }
            try await save("first")
            _ = try await post(
                other, "subscriptions/modify",
                """
                {"operations":[{"operationType":"create","subscription":{"subscriptionID":"S","subscriptionType":"query",
                 "query":{"recordType":"Note"},"firesOn":["create"]}}]}
                """)
            let saved = Set((0..<25).map { "r\($0)" })
            for name in saved { try await save(name) }
            try await pair.killFirst()
            var (told, ids, received): (Set<String>, [String: Set<String>], String) = ([], [:], "none")
            while !saved.isSubset(of: told) {
                let response = try await other.request(
                    "GET", "/courier/\(Self.container)/\(token)?nephosReceived=\(received)")
                guard let name = response.text.firstMatch(of: /"rid":"([^"]+)"/)?.1,
                    let id = response.text.firstMatch(of: /"nid":"([^"]+)"/)?.1
                else { continue }
                told.insert(String(name))
                ids[String(name), default: []].insert(String(id))
                received = String(id)
            }
            #expect(ids.values.allSatisfy { $0.count == 1 }, "a change is told under one ID")
            #expect(try await pair.servers[1].stop().status == 0)
            pair.database.close()
        }
    }
}
