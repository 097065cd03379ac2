import NephosStorage

/// The in-memory cache of the store's index definitions. Every save must see all indexes of the store, and the cache
/// makes that check free. A definition is committed before its build begins, so the build finds the records saved
/// before.
typealias IndexCatalog = VersionedCache<IndexDefinitions>

extension VersionedCache<IndexDefinitions> {
    /// The definitions that a transaction must see.
    func definitions(in transaction: StorageTransaction) throws -> IndexDefinitions {
        try definitions(asOf: now, transaction)
    }

    /// The definitions in a snapshot taken after `moment`.
    func definitions(asOf moment: Moment, _ reader: StorageReader) throws -> IndexDefinitions {
        try content(asOf: moment, reader) { IndexDefinitions(try reader.indexDefinitions()) }
    }
}
