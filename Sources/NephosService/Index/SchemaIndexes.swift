import NephosStorage
import NephosWire

/// The index signatures that a schema allows.
extension IndexSignature {
    /// Whether queries on the record type may use the index. System fields can always be indexed; query validation
    /// checks whether they may be queried. An index of several fields must be declared.
    func isAllowed(by type: RecordTypeSchema?) -> Bool {
        guard let type, components.count < 2 || type.indexes.contains(self) else { return false }
        return hasOptions(of: type)
    }

    private func hasOptions(of type: RecordTypeSchema) -> Bool {
        components.allSatisfy { component in
            guard case .field(let name) = component.key else { return true }
            guard let options = type.fields[name]?.indexes else { return false }
            return !options.isDisjoint(with: component.kind.options)
        }
    }

    /// The indexes with one component that a field's options let queries use.
    static func answering(_ options: IndexOptions, field: String, _ type: SchemaType) -> [IndexSignature] {
        let key = QueryKey(name: field)
        if key == .system(.recordName) { return [IndexSignature([])] }
        // Queries by etag are rare, so the first such query makes the index.
        if field == SystemField.etag.rawValue { return [] }
        if type.scalar == .location && !type.isList {
            return options.isDisjoint(with: IndexComponent.Kind.cell.options)
                ? [] : [IndexSignature([IndexComponent(.cell, key)])]
        }
        return [IndexComponent.Kind.equality, .ascending, .token]
            .filter { !options.isDisjoint(with: $0.options) }.map { IndexSignature([IndexComponent($0, key)]) }
    }
}

extension IndexComponent.Kind {
    /// The options that allow this kind of component; any one of them is enough.
    fileprivate var options: IndexOptions {
        switch self {
        case .equality: .queryable
        case .ascending, .descending: .sortable
        case .token: .searchable
        case .cell: [.queryable, .sortable]
        }
    }
}

/// Adjusts a store's indexes to its new schema, in the transaction that changes the schema.
///
/// The transaction drops an index that no query may use any more; a background job removes the index's entries. The
/// transaction defines two kinds of index, which are then built in the background: an index that the change adds to a
/// field that records may already have, and an index of several fields. Any other index is made by the first query that
/// needs it.
struct IndexAdjustment {
    let schema: Schema
    let old: Schema
    let changes: [IndexChange]

    func run(in transaction: StorageTransaction) throws {
        var known: Set<[String]> = []
        for row in try transaction.indexDefinitions() {
            if let signature = IndexSignature(row.components),
                !signature.isAllowed(by: schema.recordTypes[row.recordType])
            {
                try transaction.removeIndexDefinition(id: row.id)
                try transaction.insert(BackgroundJob.removeIndex(row.id, of: row.recordType))
            } else {
                known.insert([row.recordType, row.components])
            }
        }
        var sequence: Int64?
        func define(_ signature: IndexSignature, of recordType: String) throws {
            guard known.insert([recordType, signature.text]).inserted else { return }
            let now = try sequence ?? transaction.nextSeparatingSequence()
            sequence = now
            _ = try transaction.insertIndexDefinition(
                recordType: recordType, components: signature.text, sequence: now)
        }
        for (name, type) in schema.recordTypes.sorted(by: { $0.key < $1.key }) {
            for signature in type.orderedIndexes { try define(signature, of: name) }
        }
        for change in changes where old.type(of: change.field, in: change.recordType) != nil {
            guard let type = schema.type(of: change.field, in: change.recordType) else { continue }
            for signature in IndexSignature.answering(change.added, field: change.field, type) {
                try define(signature, of: change.recordType)
            }
        }
    }
}

/// The progress of a store's index builds and removals.
enum IndexProgress {
    static func report(_ reader: StorageReader) throws -> IndexesReport {
        let zones = try reader.zones(after: 0, limit: .max).map(\.key)
        var indexes = try reader.indexDefinitions().compactMap { row -> IndexStatus? in
            guard let signature = IndexSignature(row.components) else { return nil }
            return IndexStatus(
                recordType: row.recordType,
                fields: signature.components.map {
                    "\($0.field) \($0.option)\($0.kind == .descending ? " DESC" : "")"
                },
                state: row.isReady ? .ready : .building,
                progress: row.isReady ? 1 : try progress(row, zones, reader))
        }
        for job in try reader.jobs(limit: .max) {
            guard let removal = IndexRemoval(job) else { continue }
            let passed = zones.count { $0.id <= removal.zone }
            indexes.append(
                IndexStatus(
                    recordType: removal.recordType, fields: [], state: .removing,
                    progress: zones.isEmpty ? 0 : Double(passed) / Double(zones.count)))
        }
        return IndexesReport(indexes: indexes)
    }

    /// The built fraction of an index, from 0 to 1: the zones already built, plus the built part of the current zone,
    /// measured by change sequence.
    private static func progress(
        _ row: IndexDefinitionRow, _ zones: [ZoneKey], _ reader: StorageReader
    ) throws -> Double {
        if zones.isEmpty { return 0 }
        var passed = Double(zones.count { $0.id < row.builtZone })
        if let zone = zones.first(where: { $0.id == row.builtZone }), row.builtSequence > 0 {
            let last = min(row.definedAt, try reader.completeUpTo(zone: zone))
            let first = try reader.records(zone: zone, after: 0, limit: 1).first?.sequence ?? 0
            if last > first { passed += min(1, max(0, Double(row.builtSequence - first) / Double(last - first))) }
        }
        return min(1, passed / Double(zones.count))
    }
}
