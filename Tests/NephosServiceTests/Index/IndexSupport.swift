import NephosPostgresTesting
import NephosSQLite
import NephosStorage
import NephosWire
import Synchronization

@testable import NephosService

/// Stores in memory, or in the directory of another provider, whose engines a test can look into.
final class OpenStores: StoreProvider {
    private let provider: any StoreProvider
    private let opened = Mutex<(any StorageEngine)?>(nil)

    init(_ provider: any StoreProvider = TestCluster.stores(or: MemoryStores())) { self.provider = provider }

    func open(_ id: StoreID) throws -> any StorageEngine {
        let engine = try provider.open(id)
        opened.withLock { $0 = engine }
        return engine
    }

    func assets(of id: StoreID) throws -> any AssetStore { try provider.assets(of: id) }
    func existingStores() throws -> [StoreID] { try provider.existingStores() }
    func close() { provider.close() }

    /// The store that was opened last.
    var engine: any StorageEngine {
        guard let engine = opened.withLock({ $0 }) else { preconditionFailure("No store was opened.") }
        return engine
    }
}

extension StorageReader {
    /// Every entry there is for every index in every zone, deleted zones included.
    func allEntries(zones: [ZoneKey]) throws -> Set<IndexEntryRow> {
        var entries: Set<IndexEntryRow> = []
        for definition in try indexDefinitions() {
            for zone in zones {
                let range = IndexRange(zone: zone, definition: definition.id, from: [], to: OrderedBytes.end)
                for entry in try indexEntries(range, after: nil, limit: .max) {
                    entries.insert(
                        IndexEntryRow(
                            zone: zone, definition: definition.id, value: entry.value, name: entry.name,
                            record: entry.record.value))
                }
            }
        }
        return entries
    }

    /// The entries that there should be: those of the records as they are, computed from nothing else.
    func expectedEntries(zones: [ZoneKey]) throws -> Set<IndexEntryRow> {
        let writer = IndexWriter(definitions: IndexDefinitions(try indexDefinitions()), accounts: Accounts())
        var entries: Set<IndexEntryRow> = []
        for zone in zones {
            for row in try records(zone: zone, after: 0, limit: .max) where !row.isDeleted {
                guard let indexes = writer.definitions[row.type] else { continue }
                let record = try writer.record(row, indexes, self)
                for definition in indexes.definitions {
                    for value in definition.signature.entries(of: record) {
                        entries.insert(
                            IndexEntryRow(
                                zone: zone, definition: definition.id, value: value, name: row.name,
                                record: row.number.value))
                    }
                }
            }
        }
        return entries
    }
}
