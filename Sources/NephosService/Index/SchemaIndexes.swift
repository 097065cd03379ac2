import NephosStorage
import NephosWire

/// Which indexes a schema has a use for.
extension IndexSignature {
    /// Whether queries that the type allows may use the index. What the system knows of every record can always be
    /// indexed; whether it may be asked for is another question. One of several fields has to be declared.
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

    /// The indexes that answer a query by one condition or order, as an option of a field allows.
    static func answering(_ options: IndexOptions, field: String, _ type: SchemaType) -> [IndexSignature] {
        let key = QueryKey(name: field)
        if key == .system(.recordName) { return [IndexSignature([])] }
        // Hardly anybody asks for it: a query that does has it made.
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
    /// The options that allow it; any of them will do.
    fileprivate var options: IndexOptions {
        switch self {
        case .equality: .queryable
        case .ascending, .descending: .sortable
        case .token: .searchable
        case .cell: [.queryable, .sortable]
        }
    }
}

/// Makes the indexes of a store those of its new schema, in the transaction that changes it.
///
/// An index that no query may use any more is gone with that transaction; the background removes its entries. One that the
/// change adds to a field which records may have already, and one of several fields, is defined, and built in the
/// background. All others are made when a query first needs them.
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

/// How far the indexes of a store are.
enum IndexProgress {
    static func report(_ reader: StorageReader) throws -> IndexesReport {
        let zones = try reader.zones(after: 0, limit: .max).map(\.key)
        var indexes = try reader.indexDefinitions().compactMap { row -> IndexStatus? in
            guard let signature = IndexSignature(row.components) else { return nil }
            return IndexStatus(
                recordType: row.recordType, fields: signature.components.map { "\($0.field) \($0.option)" },
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

    /// By zones, and within the zone that the building is at by the sequences of its changes.
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
