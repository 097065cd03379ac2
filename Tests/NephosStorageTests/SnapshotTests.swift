import Testing

@testable import NephosStorage

/// The life of a read connection's snapshot, step by step, on a recording connection.
@Suite struct SnapshotTests {
    private let log = Log()
    private let readers: ReadConnections

    init() {
        let log = log
        readers = ReadConnections(limit: 1) { FakeConnection(log: log) }
    }

    private func read(_ name: String, _ during: () -> Void = {}) throws {
        _ = try readers.readHere { _ in
            log.add(name)
            during()
        }
    }

    @Test func `reads with no write between them share a snapshot`() throws {
        try read("a")
        try read("b")
        #expect(log.entries == ["begin", "a", "b"])
    }

    @Test func `a write ends the waiting snapshot, so that the next read sees the write`() throws {
        try read("a")
        readers.willWrite()
        readers.didWrite()
        try read("b")
        #expect(log.entries == ["begin", "a", "rollback", "begin", "b"])
    }

    @Test func `a snapshot is dropped when a checkpoint runs, whether it waits or is in use`() throws {
        try read("a")
        readers.renew()
        try read("b") { readers.renew() }
        try read("c")
        #expect(log.entries == ["begin", "a", "rollback", "begin", "b", "rollback", "begin", "c"])
    }

    @Test func `a snapshot that overlaps a write transaction is dropped`() throws {
        readers.willWrite()
        try read("during")
        readers.didWrite()
        try read("before the end") {
            readers.willWrite()
        }
        readers.didWrite()
        try read("before all of it") {
            readers.willWrite()
            readers.didWrite()
        }
        try read("after")
        #expect(
            log.entries == [
                "begin", "during", "rollback", "begin", "before the end", "rollback", "begin", "before all of it",
                "rollback", "begin", "after",
            ])
    }

    @Test func `a read that begins during a transaction and ends after it keeps no snapshot`() throws {
        readers.willWrite()
        try read("a") {
            readers.didWrite()
        }
        #expect(log.entries == ["begin", "a", "rollback"])
    }

    @Test func `a zone that a snapshot found is not looked up again, one written since is`() throws {
        func find(_ owner: OwnerID = .everyone) throws {
            // The connection finds one without a name.
            _ = try readers.readHere { try $0.zone(owner: owner, named: "") }
        }
        try find()
        try find()
        try find(OwnerID(rawValue: 7))
        #expect(log.entries == ["begin", "zoneByName", "zoneByName"])
        readers.willWrite()
        readers.didWrite()
        try find()
        #expect(log.entries.suffix(3) == ["rollback", "begin", "zoneByName"])
        readers.renew()
        try find()
        #expect(log.entries.suffix(3) == ["rollback", "begin", "zoneByName"])
    }

    @Test func `a snapshot caches at most eight zones`() throws {
        for _ in 0..<2 {
            for owner in Int64(1)...9 {
                _ = try readers.readHere { try $0.zone(owner: OwnerID(rawValue: owner), named: "") }
            }
        }
        #expect(log.entries.count { $0 == "zoneByName" } > 9)
    }

    @Test func `a reader that outlives its body returns no cached zones`() throws {
        var kept: StorageReader?
        _ = try readers.readHere { reader in
            _ = try reader.zone(owner: .everyone, named: "")
            kept = reader
        }
        let reader = try #require(kept)
        #expect(throws: StorageError.self) { try reader.zone(owner: .everyone, named: "") }
    }

    @Test func `a failing read keeps no snapshot`() throws {
        #expect(throws: FakeError.self) {
            _ = try readers.readHere { _ in throw FakeError() } as Void?
        }
        #expect(log.entries == ["begin", "rollback"])
    }
}

private struct FakeError: Error {}
