import NephosStorage

/// The cascade of a large deletion, found before its write begins. So the write, which blocks all other writers of the
/// store, neither searches for the cascade nor reads the cascaded records. The write rereads only the records that were
/// written in the zone meanwhile.
struct FoundCascade: Sendable {
    /// The names of the records that are deleted explicitly.
    let names: [String]
    /// The cascade, if nothing was written in the zone meanwhile.
    private(set) var plan = CascadeDelete()
    /// The names of all deleted records, both explicitly and by the cascade.
    private(set) var dead: Set<String> = []
    /// Whether a record that stays might prevent the deletion of a record in the cascade.
    private(set) var isHeld = false
    /// The names of the cascaded records in storage order.
    private(set) var inStoredOrder: [String] = []
    /// The change sequence of the zone before the search began.
    private let sequence: Int64
    private var sources: [String: [Source]] = [:]
    /// The found records without their fields. Records whose fields the deletion needs are missing here.
    private var rows: [String: RecordRow] = [:]
    private var numbers: [String: RowNumber] = [:]

    private struct Source {
        var name: String
        var kind: ReferenceRow.Kind
    }

    /// The kinds of references that matter to a deletion: those by which it cascades, and those that prevent it.
    static let kinds: [ReferenceRow.Kind] = [.deleteSelf] + BatchGraph.holding

    /// The records that refer to a record with one of the kinds; nil if they are unknown.
    func sources(of name: String, kinds: [ReferenceRow.Kind]) -> Set<String>? {
        sources[name].map { found in Set(found.lazy.filter { kinds.contains($0.kind) }.map(\.name)) }
    }

    /// A record as found, without its fields; nil if it was not found or its fields must be read.
    func row(_ name: String) -> RecordRow? { rows[name] }
    func number(_ name: String) -> RowNumber? { numbers[name] }

    /// The records that were written in the zone since the search began.
    /// - Returns: nil if there are too many of them, or if tombstones among them may have been purged.
    func changes(in zone: ZoneRow, _ reader: StorageReader) throws -> [RecordRow]? {
        if zone.purgedUntil > sequence { return nil }
        let limit = Limits.changesBesideCascade
        let rows = try reader.records(zone: zone.key, after: sequence, limit: limit + 1, size: Limits.lookupSize)
        guard rows.count <= limit, let last = rows.last else { return rows.isEmpty ? [] : nil }
        // The read may have stopped at the size limit before the last record.
        return try reader.hasRecord(zone: zone.key, after: last.sequence) ? nil : rows
    }
}

// MARK: - The search

extension FoundCascade {
    /// Finds the whole cascade of the deletion of these records, over as many snapshots as necessary.
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

    /// Sorts record names into storage order. Names with unknown numbers come last.
    func inStoredOrder(_ names: [String]) -> [String] {
        names.map { (number: numbers[$0]?.value ?? .max, name: $0) }.sorted { $0 < $1 }.map(\.name)
    }

    /// A part of the search: some records and the references to them.
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

    /// - Returns: the cascade of `targets` that was not found before.
    private mutating func add(_ piece: Piece, of targets: [String]) -> [String] {
        var next: [String] = []
        for target in targets { sources[target] = [] }
        for row in piece.references {
            sources[row.target]?.append(Source(name: row.source, kind: row.kind))
            if row.kind == .deleteSelf, dead.insert(row.source).inserted { next.append(row.source) }
        }
        numbers.merge(piece.numbers) { $1 }
        // The number of records in memory is limited; the write reads the remaining ones.
        if rows.count < Limits.recordsKeptOfCascade {
            for row in piece.rows { rows[row.name] = row }
        }
        return next
    }
}

/// Thrown if a deletion's cascade is so large that it must be found before the write begins.
struct LargeCascade: Error {
    let zone: ZoneKey
    /// The names of the records that are deleted explicitly.
    let names: [String]
}

/// The cascades that were found for the zones of a request.
struct FoundCascades: Sendable {
    private var zones: [ZoneKey: FoundCascade] = [:]
    /// Whether the write itself searches for the cascade, however large the cascade is.
    private(set) var isFinal: Bool
    private var attempts = 0

    /// - Parameter isFinal: whether writes of the store do not block all other writers.
    init(isFinal: Bool) { self.isFinal = isFinal }

    subscript(zone: ZoneKey) -> FoundCascade? { zones[zone] }

    mutating func find(_ cascade: LargeCascade, _ engine: any StorageEngine) async throws {
        zones[cascade.zone] = try await FoundCascade(deleting: cascade.names, in: cascade.zone, engine)
        attempts += 1
        // Each zone of the request may need one search. If even more searches are needed, other writers are so fast
        // that another search would also be outdated.
        if attempts > zones.count + 1 { isFinal = true }
    }
}
