import NephosStorage

/// The cascade of a large deletion, found before its write begins. So the write, which blocks all other writers of the
/// store, neither searches for it nor reads its records. It only rereads the records written in the zone meanwhile.
struct FoundCascade: Sendable {
    /// The records deleted by name.
    let names: [String]
    /// The cascade if nothing was written meanwhile, and all deleted records.
    private(set) var plan = CascadeDelete()
    private(set) var dead: Set<String> = []
    /// Whether a record that stays may hold one of the deleted records.
    private(set) var isHeld = false
    /// The cascade in storage order.
    private(set) var inStoredOrder: [String] = []
    /// The zone's change sequence before the first read.
    private let sequence: Int64
    private var sources: [String: [Source]] = [:]
    /// The records without their fields, except those whose fields a deletion needs.
    private var rows: [String: RecordRow] = [:]
    private var numbers: [String: RowNumber] = [:]

    private struct Source {
        var name: String
        var kind: ReferenceRow.Kind
    }

    /// The reference kinds that matter to a deletion: those that cascade and those that hold.
    static let kinds: [ReferenceRow.Kind] = [.deleteSelf] + BatchGraph.holding

    /// Nil if the record's sources are unknown.
    func sources(of name: String, kinds: [ReferenceRow.Kind]) -> Set<String>? {
        sources[name].map { found in Set(found.lazy.filter { kinds.contains($0.kind) }.map(\.name)) }
    }

    /// A record as found, without its fields; nil if its fields must be read or it was not found.
    func row(_ name: String) -> RecordRow? { rows[name] }
    func number(_ name: String) -> RowNumber? { numbers[name] }

    /// The records written in the zone since the search.
    /// - Returns: nil if there are too many, or some tombstones may have been purged.
    func changes(in zone: ZoneRow, _ reader: StorageReader) throws -> [RecordRow]? {
        if zone.purgedUntil > sequence { return nil }
        let limit = Limits.changesBesideCascade
        let rows = try reader.records(zone: zone.key, after: sequence, limit: limit + 1, size: Limits.lookupSize)
        guard rows.count <= limit, let last = rows.last else { return rows.isEmpty ? [] : nil }
        // The read may have stopped at the size limit.
        return try reader.hasRecord(zone: zone.key, after: last.sequence) ? nil : rows
    }
}

// MARK: - Finding it

extension FoundCascade {
    /// Finds the whole cascade of the records, over as many snapshots as it needs.
    init(deleting names: [String], in zone: ZoneKey, _ engine: any StorageEngine) async throws {
        self.names = names
        sequence = try await engine.read { try $0.completeUpTo(zone: zone) }
        var wave = names
        dead = Set(names)
        while !wave.isEmpty {
            var next: [String] = []
            for start in stride(from: 0, to: wave.count, by: Limits.referencesPerRead) {
                let targets = Array(wave[start..<min(start + Limits.referencesPerRead, wave.count)])
                let piece = try await engine.read(expecting: .long) { try Piece(targets, zone, $0) }
                next += add(piece, of: targets)
            }
            wave = next
        }
        plan = CascadeDelete.plan(deleting: names) { $0.map { sources(of: $0, kinds: [.deleteSelf]) ?? [] } }
        isHeld = sources.values.contains { $0.contains { $0.kind != .deleteSelf && !dead.contains($0.name) } }
        inStoredOrder = inStoredOrder(plan.names)
    }

    /// The names in storage order, as far as it is known.
    func inStoredOrder(_ names: [String]) -> [String] {
        names.map { (number: numbers[$0]?.value ?? .max, name: $0) }.sorted { $0 < $1 }.map(\.name)
    }

    /// Some records and the references to them.
    private struct Piece: Sendable {
        var references: [ReferenceRow]
        var rows: [RecordRow] = []
        var numbers: [String: RowNumber] = [:]

        init(_ targets: [String], _ zone: ZoneKey, _ reader: StorageReader) throws {
            references = try reader.references(zone: zone, to: targets, kinds: FoundCascade.kinds)
            for name in targets {
                try reader.visitRecord(zone: zone, named: name) { record in
                    numbers[name] = record.number
                    if record.isDamaged || record.isDeleted { return }
                    var row = record.row
                    if AssetReferences.hasAssets(row.fields) { return }
                    row.fields = []
                    rows.append(row)
                }
            }
        }
    }

    /// - Returns: the cascade of `targets` that was not reached before.
    private mutating func add(_ piece: Piece, of targets: [String]) -> [String] {
        var next: [String] = []
        for target in targets { sources[target] = [] }
        for row in piece.references {
            sources[row.target]?.append(Source(name: row.source, kind: row.kind))
            if row.kind == .deleteSelf, dead.insert(row.source).inserted { next.append(row.source) }
        }
        numbers.merge(piece.numbers) { $1 }
        // Bounded in memory; the write reads the rest.
        if rows.count < Limits.recordsKeptOfCascade {
            for row in piece.rows { rows[row.name] = row }
        }
        return next
    }
}

/// A deletion's cascade is so large that it must be found before the write begins.
struct LargeCascade: Error {
    let zone: ZoneKey
    /// The records deleted by name.
    let names: [String]
}

/// The cascades found for the zones of a request.
struct FoundCascades: Sendable {
    private var zones: [ZoneKey: FoundCascade] = [:]
    /// Whether the write itself searches for the cascade, whatever its size.
    private(set) var isFinal: Bool
    private var attempts = 0

    /// - Parameter isFinal: whether the store has no writer that blocks all others.
    init(isFinal: Bool) { self.isFinal = isFinal }

    subscript(zone: ZoneKey) -> FoundCascade? { zones[zone] }

    mutating func find(_ cascade: LargeCascade, _ engine: any StorageEngine) async throws {
        zones[cascade.zone] = try await FoundCascade(deleting: cascade.names, in: cascade.zone, engine)
        attempts += 1
        // Each zone of the request may have one. Beyond that, writes are so fast that another search is of no use.
        if attempts > zones.count + 1 { isFinal = true }
    }
}
