import FoundationEssentials
import NephosPostgresTesting
import NephosSQLite
import NephosStorage
import NephosWire
import Testing

@testable import NephosService

@Suite("Making an index")
struct IndexBuildTests {
    private func note(_ index: Int) -> RecordOperation {
        .force("n\(index)", ["rank": .int64(Int64((index * 7919) % 10_007)), "list": .string("l\(index % 3)")])
    }

    private var byRank: Query { Query(recordType: "Note", sortBy: [QuerySortDescriptor(.field("rank"))]) }

    private func expected(_ indexes: some Sequence<Int>) -> [String] {
        indexes.map { (rank: ($0 * 7919) % 10_007, name: "n\($0)") }
            .sorted { ($0.rank, $0.name) < ($1.rank, $1.name) }.map(\.name)
    }

    private func expectExactEntries(_ stores: OpenStores) async throws {
        let (actual, expected) = try await stores.engine.read { reader in
            let zones = try reader.zones(after: 0, limit: .max).map(\.key)
            return (try reader.allEntries(zones: zones), try reader.expectedEntries(zones: zones))
        }
        #expect(actual == expected)
    }

    @Test func `an index build under writes misses no record and is not used before it is complete`() async throws {
        let stores = OpenStores()
        let cloud = QueryCloud(stores: stores)
        try await cloud.makeZones("A", "B")
        try await cloud.modify((0..<2600).map(note), zone: "A")
        try await cloud.modify((0..<400).map(note), zone: "B")
        let byRank = self.byRank
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<4 {
                group.addTask {
                    for round in 0..<30 {
                        let index = (writer * 613 + round * 97) % 2600
                        // The sort key stays, so that what the queries have to give is known all the time.
                        try await cloud.modify(
                            [
                                .force("n\(index)", ["list": .string("w\(round)")]),
                                .force("new\(writer).\(round)", ["rank": .int64(20_000)]),
                            ], zone: "A")
                    }
                }
            }
            for reader in 0..<6 {
                group.addTask {
                    let query =
                        reader % 2 == 0
                        ? byRank
                        : Query(
                            recordType: "Note", filterBy: [Filter(.field("rank"), .lessThan, .int64(20_000))],
                            sortBy: [QuerySortDescriptor(.field("rank"), ascending: false)])
                    let old = try await cloud.all(query, zone: "A").filter { !$0.hasPrefix("new") }
                    #expect(Set(old).count == 2600 && old.count == 2600)
                }
            }
            try await group.waitForAll()
        }
        try await expectExactEntries(stores)
        #expect(try await cloud.all(byRank, zone: "B") == expected(0..<400))
    }

    @Test func `a record that is saved during an index build keeps its entries`() async throws {
        let stores = OpenStores()
        let cloud = QueryCloud(stores: stores)
        try await cloud.modify((0..<5).map(note))
        let notes = try await stores.engine.read { reader in
            let zones = try reader.zones(after: 0, limit: .max).map(\.key)
            return try zones.flatMap { try reader.records(zone: $0, after: 0, limit: .max) }.filter {
                $0.type == "Note"
            }
        }
        #expect(notes.count == 5)
        try await stores.engine.write { transaction in
            _ = try transaction.insertIndexDefinition(
                recordType: "Note", components: "+rank", sequence: transaction.nextSequence())
            let writer = IndexWriter(
                definitions: IndexDefinitions(try transaction.indexDefinitions()), accounts: Accounts())
            // One save changes nothing, one only what the index is not of; the building no longer comes to either.
            for (index, old) in notes.prefix(2).enumerated() {
                var new = old
                new.sequence = try transaction.nextSequence()
                if index == 1 {
                    new.fields =
                        EncodedFields(bytes: old.fields)
                        .merging(RecordFields([.init(name: "list", field: Field(.string("other")))])).bytes
                }
                try transaction.put(new)
                try writer.update(old: old, new: new, in: transaction)
            }
            while try !IndexBuildStep(accounts: Accounts()).run(in: transaction) {}
        }
        try await expectExactEntries(stores)
        let entries = try await stores.engine.read { try $0.allEntries(zones: [notes[0].zone]) }
        #expect(Set(entries.map(\.name)) == Set(notes.map(\.name)))
    }

    @Test func `an index build resumes after a restart, with the writes since`() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "nephos-index-\(UUID().uuidString)").path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let first = OpenStores(try DataDirectory(path: path))
        var cloud = QueryCloud(stores: first)
        try await cloud.modify((0..<2500).map(note))
        // What the first query does, stopped after one step.
        try await first.engine.write { transaction in
            _ = try transaction.insertIndexDefinition(
                recordType: "Note", components: "+rank", sequence: transaction.nextSequence())
        }
        let isDone = try await first.engine.write { try IndexBuildStep(accounts: Accounts()).run(in: $0) }
        #expect(!isDone)
        let half = try await first.engine.read { try $0.indexDefinitions() }
        #expect(half.count == 1 && !half[0].isReady && half[0].builtSequence > 0)
        await cloud.service.close()

        let second = OpenStores(try DataDirectory(path: path))
        cloud = QueryCloud(stores: second)
        // Saves come while it goes on: some on either side of where it stopped.
        try await cloud.modify([note(2600), .delete("n5"), .delete("n2400"), .force("n7", ["rank": .int64(-1)])])
        let names = try await cloud.all(byRank)
        #expect(names == ["n7"] + expected((0..<2500).filter { ![5, 7, 2400].contains($0) } + [2600]))
        let whole = try await second.engine.read { try $0.indexDefinitions() }
        #expect(whole.count == 1 && whole[0].id == half[0].id && whole[0].isReady)
        try await expectExactEntries(second)
        await cloud.service.close()
    }

    @Test func `an index build resumes without a query when the store is opened`() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "nephos-index-\(UUID().uuidString)").path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let first = OpenStores(try DataDirectory(path: path))
        let cloud = QueryCloud(stores: first)
        try await cloud.modify((0..<50).map(note))
        try await first.engine.write { transaction in
            _ = try transaction.insertIndexDefinition(
                recordType: "Note", components: "=list,-rank", sequence: transaction.nextSequence())
        }
        await cloud.service.close()
        let second = OpenStores(try DataDirectory(path: path))
        let again = QueryCloud(stores: second)
        await again.service.resume()
        await again.service.settle()
        #expect(try await second.engine.read { try $0.indexDefinitions() }.allSatisfy(\.isReady))
        try await expectExactEntries(second)
        await again.service.close()
    }

    @Test func `a type without queries has no indexes, and one query makes one`() async throws {
        let stores = OpenStores()
        let cloud = QueryCloud(stores: stores)
        try await cloud.modify((0..<10).map(note))
        #expect(try await stores.engine.read { try $0.indexDefinitions() } == [])
        let query = Query(
            recordType: "Note", filterBy: [Filter(.field("list"), .equals, .string("l1"))], sortBy: byRank.sortBy)
        for _ in 0..<3 { _ = try await cloud.all(query) }
        #expect(try await stores.engine.read { try $0.indexDefinitions() }.map(\.components) == ["=list"])
    }
}

extension IndexBuildTests {
    @Test func `many records of a zone are built in index order, without those saved meanwhile`() async throws {
        let stores = OpenStores()
        let (bulk, gathered) = try await gather(stores)
        #expect(gathered.count > 2000)
        // Before the first entries are written, and between those and the last.
        try await save(["n2005": nil, "n2007": -1], stores)
        let written = try await stores.engine.write { try bulk.write(gathered, in: $0) }
        let half = try #require(written)
        try await save(["n2006": nil, "n2008": -2], stores)
        let last = try await stores.engine.write { transaction in
            _ = try half.write(gathered, in: transaction)
            // The building is somewhere else then.
            return try half.write(gathered, in: transaction)
        }
        let position = try await stores.engine.read { try $0.indexDefinitions() }
        #expect(last == nil && position.allSatisfy { !$0.isReady && $0.builtZone > 0 })
        try await stores.engine.write { while try !IndexBuildStep(accounts: Accounts()).run(in: $0) {} }
        try await expectExactEntries(stores)
    }

    @Test func `gathered entries are discarded if a record was deleted and purged since`() async throws {
        let stores = OpenStores(TestCluster.stores(or: MemoryStores()))
        let (bulk, gathered) = try await gather(stores)
        try await save(["n2007": nil], stores)
        let isLeft = try await stores.engine.write { try bulk.write(gathered, in: $0) != nil }
        #expect(isLeft, "a deletion that the feed tells of is taken into account")
        let later = try await gather(stores, defines: false)
        try await save(["n2008": nil], stores)
        let isGivenUp = try await stores.engine.write { transaction in
            #expect(try transaction.purgeTombstones(deletedBefore: .max, limit: 10) == 2)
            return try later.0.write(later.1, in: transaction) == nil
        }
        #expect(isGivenUp)
        try await stores.engine.write { while try !IndexBuildStep(accounts: Accounts()).run(in: $0) {} }
        try await expectExactEntries(stores)
    }

    /// What a building of two indexes over 2,500 records has gathered before it writes.
    private func gather(
        _ stores: OpenStores, defines: Bool = true
    ) async throws -> (bulk: IndexBulkBuild, entries: EntryBatch) {
        if defines {
            try await QueryCloud(stores: stores).modify((0..<2500).map(note))
            try await stores.engine.write { transaction in
                for components in ["+rank", "=list,-rank"] {
                    _ = try transaction.insertIndexDefinition(
                        recordType: "Note", components: components, sequence: transaction.nextSequence())
                }
                // Past the small zones before it.
                #expect(try !IndexBuildStep(accounts: Accounts()).run(in: transaction))
            }
        }
        let accounts = Accounts()
        let found = try await stores.engine.read { reader in
            let bulk = try IndexBulkBuild(reader)
            return try bulk.map { bulk in
                var (bulk, entries) = (bulk, EntryBatch())
                for _ in 0..<2 { _ = bulk.add(try bulk.gather(reader, accounts), to: &entries) }
                entries.sort()
                return (bulk, entries)
            }
        }
        return try #require(found)
    }

    /// Saves records with other ranks, or deletes them, as a service that knows of the indexes does.
    private func save(_ ranks: [String: Int64?], _ stores: OpenStores) async throws {
        try await stores.engine.write { transaction in
            let writer = IndexWriter(
                definitions: IndexDefinitions(try transaction.indexDefinitions()), accounts: Accounts())
            for zone in try transaction.zones(after: 0, limit: .max) {
                for (name, rank) in ranks {
                    guard let old = try transaction.record(zone: zone.key, named: name) else { continue }
                    var new = old
                    new.sequence = try transaction.nextSequence()
                    new.isDeleted = rank == nil
                    let change = RecordFields([.init(name: "rank", field: Field(rank.map { .int64($0) }))])
                    new.fields = rank == nil ? [] : EncodedFields(bytes: old.fields).merging(change).bytes
                    try transaction.put(new)
                    try writer.update(old: old, new: rank == nil ? nil : new, .sent(change), in: transaction)
                }
            }
        }
    }
}
