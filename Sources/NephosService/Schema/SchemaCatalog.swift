import NephosStorage

/// The cached schema of the store. Changes and drops are announced (`beginChange`), so no save or query is decided by
/// dropped content.
///
/// Additions by saves need no announcement: the cache may lack them, so an element that it lacks is looked up in the
/// store. A write sees additions of others in its group, which may be rolled back, so what it reads is cached after its
/// answer alone. A record type that the cache lacks was made by a save, and therefore has the standard grants.
typealias SchemaCatalog = VersionedCache<Schema>

extension VersionedCache<Schema> {
    /// The schema that a transaction that runs at `moment`, or a snapshot that was taken after it, must see.
    func schema(asOf moment: Moment, _ reader: StorageReader) throws -> Schema {
        try content(asOf: moment, reader, remembers: !(reader is StorageTransaction)) { try Schema(reader) }
    }

    /// Returns what `decide` makes of the cached schema, or of the stored one where the cached one refuses: it may lack a
    /// type or field that exists by now.
    func deciding<T>(
        asOf moment: Moment, _ reader: StorageReader, _ decide: (Schema) throws(ServiceError) -> T
    ) throws -> T {
        var stored: Schema?
        return try deciding(asOf: moment, reader, &stored, decide)
    }

    /// - Parameter stored: the stored schema once it was read, so that a request with many refused items reads it once.
    func deciding<T>(
        asOf moment: Moment, _ reader: StorageReader, _ stored: inout Schema?,
        _ decide: (Schema) throws(ServiceError) -> T
    ) throws -> T {
        if let stored { return try decide(stored) }
        let known = try schema(asOf: moment, reader)
        do throws(ServiceError) {
            return try decide(known)
        } catch {
            let schema = try Schema(reader)
            stored = schema
            let value = try decide(schema)
            if reader is StorageTransaction { return value }
            remember(schema, at: try reader.version(of: .catalog), asOf: moment)
            return value
        }
    }
}
