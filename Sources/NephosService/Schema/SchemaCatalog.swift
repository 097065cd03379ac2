import NephosStorage

/// The store's schema, kept in memory. Changing or dropping something is announced, so no save and no query is decided on
/// something that was dropped.
///
/// What saves add needs no announcement: what is kept may lack it, so what it lacks is looked for in the store. A type
/// that it lacks was made by a save, and therefore has the standard grants.
typealias SchemaCatalog = VersionedCache<Schema>

extension VersionedCache<Schema> {
    /// The schema as a transaction that runs at `moment`, or a snapshot that was taken after it, has to see it.
    func schema(asOf moment: Moment, _ reader: StorageReader) throws -> Schema {
        try content(asOf: moment, reader) { try Schema(reader) }
    }
}
