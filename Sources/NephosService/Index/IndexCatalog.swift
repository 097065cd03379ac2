import NephosStorage

/// The store's indexes, kept in memory. A save must never miss one that is in the store, and pays nothing to make sure: a
/// definition is announced, so the building of its index finds what was saved before.
typealias IndexCatalog = VersionedCache<IndexDefinitions>

extension VersionedCache<IndexDefinitions> {
    /// The definitions as a transaction has to see them.
    func definitions(in transaction: StorageTransaction) throws -> IndexDefinitions {
        try definitions(asOf: now, transaction)
    }

    /// The definitions in a snapshot that was taken after `moment`.
    func definitions(asOf moment: Moment, _ reader: StorageReader) throws -> IndexDefinitions {
        try content(asOf: moment, reader) { IndexDefinitions(try reader.indexDefinitions()) }
    }
}
