import NephosStorage

/// What a large deletion takes along, found before its write begins: so the write, which all others of the store wait for,
/// neither looks for it nor reads the records. What was written in the zone meanwhile it reads anew.
struct FoundCascade: Sendable {
    /// The records that are deleted by name.
    let names: [String]
    /// What goes along as far as nothing was written meanwhile, and all that goes.
    private(set) var plan = CascadeDelete()
    private(set) var dead: Set<String> = []
    /// Whether a record that stays may hold one that goes along.
    private(set) var isHeld = false
    /// What goes along in the order in which the store has it.
    private(set) var inStoredOrder: [String] = []
    /// The zone's change sequence before the first was read.
    private let sequence: Int64
    private var sources: [String: [Source]] = [:]
    /// The records without their fields, but for those whose fields a deletion looks at.
    private var rows: [String: RecordRow] = [:]
    private var numbers: [String: RowNumber] = [:]

    private struct Source {
        var name: String
        var kind: ReferenceRow.Kind
    }

    /// The kinds that matter to what is deleted: what it takes along, and what keeps it.
    static let kinds: [ReferenceRow.Kind] = [.deleteSelf] + BatchGraph.holding

    /// Nil where it is not known what points at the record.
    func sources(of name: String, kinds: [ReferenceRow.Kind]) -> Set<String>? {
        sources[name].map { found in Set(found.lazy.filter { kinds.contains($0.kind) }.map(\.name)) }
    }

    /// A record as it was without its fields; nil where they are to be read, or it was not found.
    func row(_ name: String) -> RecordRow? { rows[name] }
    func number(_ name: String) -> RowNumber? { numbers[name] }

    /// The records that were written in the zone since.
    /// - Returns: nil where they are too many, or some may be forgotten.
    func changes(in zone: ZoneRow, _ reader: StorageReader) throws -> [RecordRow]? {
        if zone.purgedUntil > sequence { return nil }
        let limit = Limits.changesBesideCascade
        let rows = try reader.records(zone: zone.key, after: sequence, limit: limit + 1, size: Limits.lookupSize)
        guard rows.count <= limit, let last = rows.last else { return rows.isEmpty ? [] : nil }
        // The size may have ended it.
        return try reader.hasRecord(zone: zone.key, after: last.sequence) ? nil : rows
    }
}

// MARK: - Finding it

extension FoundCascade {
    /// Looks for all that goes along with the records, over as many snapshots as it takes.
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

    /// Names in the order in which the store has their records, as far as that is known.
    func inStoredOrder(_ names: [String]) -> [String] {
        names.map { (number: numbers[$0]?.value ?? .max, name: $0) }.sorted { $0 < $1 }.map(\.name)
    }

    /// What points at some records, and the records.
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

    /// - Returns: what goes along with these, and was not reached before.
    private mutating func add(_ piece: Piece, of targets: [String]) -> [String] {
        var next: [String] = []
        for target in targets { sources[target] = [] }
        for row in piece.references {
            sources[row.target]?.append(Source(name: row.source, kind: row.kind))
            if row.kind == .deleteSelf, dead.insert(row.source).inserted { next.append(row.source) }
        }
        numbers.merge(piece.numbers) { $1 }
        // So many bytes are kept; the rest is read by the write.
        if rows.count < Limits.recordsKeptOfCascade {
            for row in piece.rows { rows[row.name] = row }
        }
        return next
    }
}

/// A deletion takes so much along that it is to be found before the write begins.
struct LargeCascade: Error {
    let zone: ZoneKey
    /// The records that are deleted by name.
    let names: [String]
}

/// What was found for the zones of a request.
struct FoundCascades: Sendable {
    private var zones: [ZoneKey: FoundCascade] = [:]
    /// Whether the write looks itself for what goes along, however much it is.
    private(set) var isFinal: Bool
    private var attempts = 0

    /// - Parameter isFinal: where there is no writer that all others wait for.
    init(isFinal: Bool) { self.isFinal = isFinal }

    subscript(zone: ZoneKey) -> FoundCascade? { zones[zone] }

    mutating func find(_ cascade: LargeCascade, _ engine: any StorageEngine) async throws {
        zones[cascade.zone] = try await FoundCascade(deleting: cascade.names, in: cascade.zone, engine)
        attempts += 1
        // Each of a request's zones may have one. Beyond that they are written so fast that looking again is of no use.
        if attempts > zones.count + 1 { isFinal = true }
    }
}
