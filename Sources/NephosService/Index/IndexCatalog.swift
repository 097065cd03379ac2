import NephosStorage

/// In-memory cache of the store's index definitions. A save must not miss an index of the store, and pays nothing for
/// the check: definitions are announced first, so an index build finds the records saved before.
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
