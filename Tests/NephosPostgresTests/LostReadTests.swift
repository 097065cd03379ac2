import Foundation
import NephosPostgresTesting
import NephosStorage
import Synchronization
import Testing

@testable import NephosPostgres

/// Reads whose connection is lost, as in a restart or a failover of the server: they have no effect, so they are retried.
@Suite(.overPostgreSQL, .oneAtATime) struct LostReadTests {
    /// Runs `body` with a store behind a proxy.
    private func withProxy(
        connections: Int, _ body: (any StorageEngine, CuttingProxy) async throws -> Void
    ) async throws {
        try await withStores(connections: connections) { stores, proxy in
            let engine = try stores.open(TestCluster.newStore())
            try await body(engine, proxy)
            await engine.close()
        }
    }

    /// The same with all stores.
    private func withStores(
        connections: Int, _ body: (PostgresStores, CuttingProxy) async throws -> Void
    ) async throws {
        let address = try TestCluster.text.get()
        let directory = try #require(
            address.split(separator: " ").first { $0.hasPrefix("host=") }?.dropFirst("host=".count))
        let place = "\(FileManager.default.temporaryDirectory.path)/nephos-\(UInt32.random(in: .min ... .max))"
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: place) }
        let proxy = try CuttingProxy(
            to: .socket(path: "\(directory)/.s.PGSQL.5432"), listensOn: "\(place)/.s.PGSQL.5432")
        let stores = try PostgresStores(
            PostgresAddress(address.replacing("host=\(directory)", with: "host=\(place)")),
            options: TestCluster.options(connections: connections))
        try await body(stores, proxy)
        stores.close()
        proxy.close()
    }

    @Test func `a store lookup is retried on another connection after a loss`() async throws {
        try await withStores(connections: 1) { stores, proxy in
            let (made, other) = (TestCluster.newStore(), TestCluster.newStore())
            try await stores.open(made).close()
            let begun = Mutex(0)
            let lost = Lost(0)
            proxy.decide { bytes in
                let text = String(decoding: bytes, as: UTF8.self)
                if text.contains("user\u{0}") { begun.withLock { $0 += 1 } }
                return text.contains("SELECT id::text FROM store") && lost.take() ? .cut : .passes
            }
            for _ in 0..<20 {
                #expect(try stores.exists(made))
                #expect(try !stores.exists(other))
            }
            #expect(begun.withLock { $0 } == 0, "that of the opening is kept")
            lost.add(1)
            #expect(try stores.exists(made))
            #expect(try !stores.exists(other))
            #expect(begun.withLock { $0 } == 1)
        }
    }

    /// What begins a read.
    private static func beginsRead(_ bytes: [UInt8]) -> Bool {
        String(decoding: bytes, as: UTF8.self).contains("\u{0}read\u{0}")
    }

    @Test(arguments: [CuttingProxy.Fate.losesAnswer, .cut])
    func `a read is retried after a lost connection, also after a new one's`(_ fate: CuttingProxy.Fate) async throws {
        try await withProxy(connections: 1) { engine, proxy in
            // The first read is on a new connection; the last loses one that was used, and the new one that follows.
            for losses in [1, 1, 2] {
                let lost = Lost(losses)
                proxy.decide { Self.beginsRead($0) && lost.take() ? fate : .passes }
                let types = try await engine.read { try $0.recordTypes() }
                #expect(types == [])
                #expect(lost.left == 0)
            }
            let lost = Lost(.max)
            proxy.decide { Self.beginsRead($0) && lost.take() ? fate : .passes }
            let error = await #expect(throws: StorageError.self) { _ = try await engine.read { try $0.recordTypes() } }
            #expect(error?.code == .inputOutput)
            #expect(Int.max - lost.left <= 3, "it is not repeated for ever")
        }
    }

    @Test func `after a lost connection no older one is reused`() async throws {
        try await withProxy(connections: 2) { engine, proxy in
            /// Two reads, each of which waits until the other has begun.
            func readBoth() async throws {
                let (first, second) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
                async let one = engine.read { reader in
                    first.signal()
                    second.wait()
                    return try reader.recordTypes()
                }
                async let other = engine.read { reader in
                    second.signal()
                    first.wait()
                    return try reader.recordTypes()
                }
                _ = try await (one, other)
            }
            try await readBoth()
            let (lost, made) = (Lost(1), Lost(.max))
            proxy.decide { bytes in
                if String(decoding: bytes, as: UTF8.self).contains("\u{0}application_name\u{0}") { _ = made.take() }
                return Self.beginsRead(bytes) && lost.take() ? .cut : .passes
            }
            _ = try await engine.read { try $0.recordTypes() }
            try await readBoth()
            #expect(Int.max - made.left == 2)
        }
    }
}

private final class Lost: Sendable {
    private let count: Mutex<Int>
    init(_ count: Int) { self.count = Mutex(count) }
    var left: Int { count.withLock { $0 } }
    func add(_ more: Int) { count.withLock { $0 += more } }

    /// - Returns: false where none is left.
    func take() -> Bool {
        count.withLock { count in
            defer { count = max(0, count - 1) }
            return count > 0
        }
    }
}
