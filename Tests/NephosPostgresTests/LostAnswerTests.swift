import CloudKitLocal
import CloudKitLocalPostgres
import Foundation
import NephosPostgresTesting
import NephosSQLite
import NephosServer
import NephosService
import Synchronization
import Testing

@testable import CloudKit

/// Lost answers: the request was executed, and is not executed again.
@Suite(.overPostgreSQL, .oneAtATime) struct LostAnswerTests {
    /// Loses so many of the answers to what contains a text.
    private func losing(
        _ count: Int, to text: String, _ fate: CuttingProxy.Fate = .losesAnswer
    ) -> (@Sendable ([UInt8]) -> CuttingProxy.Fate) {
        let left = Counter(count)
        return { bytes in
            String(decoding: bytes, as: UTF8.self).contains(text) && left.take() ? fate : .passes
        }
    }

    /// Saves a counter five times, each one higher under its change tag.
    private func count(_ database: CKDatabase, _ before: (Int) -> Void) async throws {
        var record = CKRecord(recordType: "Counter", recordID: CKRecord.ID(recordName: "counter"))
        for number in 1...5 {
            before(number)
            record["n"] = number
            record = try await database.save(record)
            let new = CKRecord(recordType: "Note")
            before(number)
            try await database.save(new)
        }
        before(0)
        let stored = try await database.record(for: record.recordID)
        #expect(stored["n"] == 5 && stored.recordChangeTag == record.recordChangeTag)
        let notes = try await database.records(
            matching: CKQuery(recordType: "Note", predicate: NSPredicate(value: true)))
        #expect(notes.matchResults.count == 5, "one for each save")
    }

    @Test(arguments: [CuttingProxy.Fate.losesAnswer, .cut])
    func `a lost answer of the server is requested again`(_ fate: CuttingProxy.Fate) async throws {
        let service = NephosService(stores: MemoryStores())
        let responder = Responder(service)
        let server = try HTTPServer(ListeningSocket.loopback(port: 0)) { await responder.respond(to: $0) }
        let proxy = try CuttingProxy(to: .port(server.port))
        let url = try #require(URL(string: "http://127.0.0.1:\(proxy.port)"))
        let environment = CloudKitEnvironment(url: url, account: .token("dev:mei"), name: .development)
        let container = CKContainer(
            identifier: "iCloud.lost", service: environment.service(of: "iCloud.lost"))
        // Twice in a row for some.
        try await count(container.privateCloudDatabase) { number in
            proxy.decide(losing(number % 3, to: "records/modify", fate))
        }
        proxy.close()
        await server.stop()
        await service.close()
    }

    @Test(arguments: [CuttingProxy.Fate.losesAnswer, .cut])
    func `the outcome of a commit is found after its answer was lost`(_ fate: CuttingProxy.Fate) async throws {
        // The address of the tests' cluster names the directory of its socket.
        let address = try TestCluster.text.get()
        let directory = try #require(
            address.split(separator: " ").first { $0.hasPrefix("host=") }?.dropFirst("host=".count))
        let place = "\(FileManager.default.temporaryDirectory.path)/nephos-\(UInt32.random(in: .min ... .max))"
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: place) }
        let proxy = try CuttingProxy(
            to: .socket(path: "\(directory)/.s.PGSQL.5432"), listensOn: "\(place)/.s.PGSQL.5432")
        let cloud = try LocalCloud(
            storage: address.replacing("host=\(directory)", with: "host=\(place)"), acceptsUnsafeServer: true)
        let database = cloud.container("iCloud.\(UUID().uuidString)").privateCloudDatabase
        // The execution of the statement of that name, and no text that has the word.
        try await count(database) { number in proxy.decide(losing(number % 3, to: "\u{0}commit\u{0}", fate)) }
        await cloud.close()
        proxy.close()
    }
}

private final class Counter: Sendable {
    private let left: Mutex<Int>
    init(_ count: Int) { left = Mutex(count) }

    /// - Returns: false where none is left.
    func take() -> Bool {
        left.withLock { left in
            defer { left = max(0, left - 1) }
            return left > 0
        }
    }
}
