import CloudKit
import CloudKitLocal
import Foundation
import NephosPostgres
import NephosPostgresTesting
import NephosService
import NephosStorage
import NephosThreads
import Synchronization
import Testing

/// A primary that is lost under load, and its synchronous standby takes over.
@Suite(.overPostgreSQL, .oneAtATime) struct FailoverTests {
    private static let writers = 4
    private static let savesPerWriter = 25
    /// How many saves are acknowledged when the primary is lost.
    private static let savesBefore = 40

    @Test(arguments: [UInt64(1), 2])
    func `every acknowledged save exists once, and a feed has no gap`(seed: UInt64) async throws {
        let (primary, standby, place) = (
            try TestCluster.directory("f\(seed)a"), try TestCluster.directory("f\(seed)b"),
            try TestCluster.directory("f\(seed)p")
        )
        try await onThread {
            try TestCluster.script("start", primary)
            try TestCluster.script("standby", standby, primary)
        }
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        let proxy = try CuttingProxy(
            to: .socket(path: "\(primary)/.s.PGSQL.5432"), listensOn: "\(place)/.s.PGSQL.5432")
        var options = TestCluster.options(connections: 6)
        (options.connectMilliseconds, options.statementMilliseconds) = (2000, 5000)
        let address = try PostgresAddress("host=\(place) user=nephos dbname=postgres")
        let cloud = LocalCloud(stores: try PostgresStores(address, options: options))
        let database = cloud.container("iCloud.org.example.Failover").privateCloudDatabase
        let zone = try await database.save(CKRecordZone(zoneName: "Z")).zoneID

        // Some commits do not arrive, and the answers of some do not.
        let random = Shared(Seeded(state: seed))
        proxy.decide { bytes in
            guard String(decoding: bytes, as: UTF8.self).contains("commit") else { return .passes }
            return random.value.withLock { random in
                switch Int.random(in: 0..<20, using: &random) {
                case 0: .losesAnswer
                case 1: .cut
                default: .passes
                }
            }
        }
        let (acknowledged, isOver) = (Shared(0), Shared(false))
        defer { isOver.value.withLock { $0 = true } }
        let follower = Task { await Self.follow(database, zone) { isOver.value.withLock { $0 } } }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<Self.writers {
                group.addTask {
                    try await Writer(name: "w\(writer)", database: database, zone: zone).run(Self.savesPerWriter) {
                        acknowledged.value.withLock { $0 += 1 }
                    }
                }
            }
            group.addTask {
                while acknowledged.value.withLock({ $0 }) < Self.savesBefore {
                    try await Task.sleep(for: .milliseconds(5))
                }
                try await onThread {
                    // What is under way hangs, and then its server is gone.
                    proxy.stall(true)
                    try TestCluster.script("kill", primary)
                    proxy.lead(to: .socket(path: "\(standby)/.s.PGSQL.5432"))
                    try TestCluster.script("promote", standby)
                    proxy.stall(false)
                }
            }
            // Unlike `waitForAll()`, this ends at the first error, and cancels the others.
            for try await _ in group {}
        }
        proxy.decide { _ in .passes }
        isOver.value.withLock { $0 = true }
        let seen = await follower.value
        #expect(seen == (try await Self.all(database, zone)), "seed \(seed)")
        #expect(seen.count == Self.writers * (Self.savesPerWriter + 1), "seed \(seed)")
        for writer in 0..<Self.writers { #expect(seen["w\(writer)"] == Self.savesPerWriter, "seed \(seed)") }
        await cloud.close()

        let stores = try PostgresStores(address, options: options)
        let engine = try stores.open(try #require(try stores.existingStores().first))
        let files = AssetDirectory(temporary: "failover\(seed)")
        let findings = try await StoreVerification(engine, files).run()
        #expect(findings.problemCount == 0, "\(findings.problems)")
        await engine.close()
        stores.close()
        proxy.close()
    }

    /// The last value of each record of a zone, as one who follows its feed sees them.
    private static func follow(
        _ database: CKDatabase, _ zone: CKRecordZone.ID, until isOver: () -> Bool
    ) async -> [String: Int] {
        var seen: [String: Int] = [:]
        var token: CKServerChangeToken?
        while true {
            let isLast = isOver()
            do {
                let page = try await database.recordZoneChanges(inZoneWith: zone, since: token, resultsLimit: 20)
                for (id, result) in page.modificationResultsByID {
                    seen[id.recordName] = try result.get().record["n"]
                }
                token = page.changeToken
                if isLast && !page.moreComing && page.modificationResultsByID.isEmpty { return seen }
            } catch {
                try? await Task.sleep(for: .milliseconds(20))
            }
        }
    }

    private static func all(_ database: CKDatabase, _ zone: CKRecordZone.ID) async throws -> [String: Int] {
        await follow(database, zone) { true }
    }
}

/// Counts in a record under its change tag, and adds a record with each step, both or neither.
private struct Writer {
    let name: String
    let database: CKDatabase
    let zone: CKRecordZone.ID

    func run(_ count: Int, acknowledged: () -> Void) async throws {
        let id = CKRecord.ID(recordName: name, zoneID: zone)
        var record = CKRecord(recordType: "Counter", recordID: id)
        var last = 0
        while last < count {
            let next = last + 1
            record["n"] = next
            let step = CKRecord(recordType: "Step", recordID: CKRecord.ID(recordName: "\(name)-\(next)", zoneID: zone))
            step["n"] = next
            do {
                let (saved, _) = try await database.modifyRecords(saving: [record, step], deleting: [])
                for result in saved.values { _ = try result.get() }
                record = try #require(try saved[id]?.get())
                last = next
            } catch {
                // It is not known whether it was done; it is either, and nothing before it is undone.
                let found = try await fetch(id)
                let value: Int = found?["n"] ?? 0
                #expect(value == last || value == next, "\(name) is \(value) after \(last): \(error)")
                last = value
                record = found ?? CKRecord(recordType: "Counter", recordID: id)
            }
            acknowledged()
        }
    }

    private func fetch(_ id: CKRecord.ID) async throws -> CKRecord? {
        while true {
            do {
                return try await database.record(for: id)
            } catch let error as CKError where error.code == .unknownItem {
                return nil
            } catch {
                try await Task.sleep(for: .milliseconds(20))
            }
        }
    }
}

/// Runs what blocks on a thread of its own.
private func onThread(_ body: @escaping @Sendable () throws -> Void) async throws {
    try await withCheckedThrowingContinuation { continuation in
        do {
            try NativeThread.start("test") { continuation.resume(with: Result { try body() }) }
        } catch {
            continuation.resume(throwing: error)
        }
    }
}

private final class Shared<Value: Sendable>: Sendable {
    let value: Mutex<Value>
    init(_ value: Value) { self.value = Mutex(value) }
}

private struct Seeded: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ value >> 30) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ value >> 27) &* 0x94d0_49bb_1331_11eb
        return value ^ value >> 31
    }
}
