import Testing

@testable import NephosStorage

/// When a read connection keeps its snapshot, step by step, on a connection that only takes notes.
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

    @Test("Reads with no write between them share a snapshot")
    func sharing() throws {
        try read("a")
        try read("b")
        #expect(log.entries == ["begin", "a", "b"])
    }

    @Test("A write ends the snapshot that waits, so that the next read sees what it wrote")
    func writing() throws {
        try read("a")
        readers.willWrite()
        readers.didWrite()
        try read("b")
        #expect(log.entries == ["begin", "a", "rollback", "begin", "b"])
    }

    @Test("A snapshot that the log is moved under is not kept, whether it waits or is in use")
    func moving() throws {
        try read("a")
        readers.renew()
        try read("b") { readers.renew() }
        try read("c")
        #expect(log.entries == ["begin", "a", "rollback", "begin", "b", "rollback", "begin", "c"])
    }

    @Test("A snapshot taken while a transaction writes is not kept, nor one that the transaction overtook")
    func overtaken() throws {
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

    @Test("A read that begins while a transaction writes and ends after it keeps nothing")
    func begunWhileWriting() throws {
        readers.willWrite()
        try read("a") {
            readers.didWrite()
        }
        #expect(log.entries == ["begin", "a", "rollback"])
    }

    @Test("A zone that was found in a snapshot is not asked for again, and one that was written since is")
    func zones() throws {
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

    @Test("No more than eight zones of a snapshot are kept")
    func manyZones() throws {
        for _ in 0..<2 {
            for owner in Int64(1)...9 {
                _ = try readers.readHere { try $0.zone(owner: OwnerID(rawValue: owner), named: "") }
            }
        }
        #expect(log.entries.count { $0 == "zoneByName" } > 9)
    }

    @Test("A reader that is kept after its body tells nothing of the zones that it found")
    func keptReader() throws {
        var kept: StorageReader?
        _ = try readers.readHere { reader in
            _ = try reader.zone(owner: .everyone, named: "")
            kept = reader
        }
        let reader = try #require(kept)
        #expect(throws: StorageError.self) { try reader.zone(owner: .everyone, named: "") }
    }

    @Test("A read that fails keeps no snapshot")
    func failing() throws {
        #expect(throws: FakeError.self) {
            _ = try readers.readHere { _ in throw FakeError() } as Void?
        }
        #expect(log.entries == ["begin", "rollback"])
    }
}

private struct FakeError: Error {}
