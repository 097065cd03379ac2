import NephosStorage

/// Builds indexes: defines them, then writes every record's entries in steps, between which other writers run.
///
/// Every save maintains an index from the index's definition on (`IndexWriter`), so a build reads only older records:
/// it follows the change feed of each zone up to the definition's sequence. Each step stores the build position, where
/// the build resumes after a crash. Queries wait until an index is ready.
actor IndexBuilder {
    private let engine: any StorageEngine
    private let catalog: IndexCatalog
    private let accounts: Accounts
    private let environment: ServiceEnvironment
    private var building: Task<Void, any Error>?
    private var isClosed = false
    private var pieces = PieceSize()

    init(engine: any StorageEngine, catalog: IndexCatalog, accounts: Accounts, environment: ServiceEnvironment) {
        self.engine = engine
        self.catalog = catalog
        self.accounts = accounts
        self.environment = environment
    }

    /// Returns once the record type has these indexes and they are ready for queries.
    /// - Returns: false if the schema does not allow one of the indexes; then none is made.
    func make(_ signatures: [IndexSignature], of recordType: String) async throws -> Bool {
        while true {
            switch try await define(signatures, recordType) {
            case .ready: return true
            case .notAllowed: return false
            case .building: try await build()
            }
        }
    }

    /// Resumes builds that a shutdown interrupted.
    func resume() {
        Task { await settle() }
    }

    /// Returns once no build is running, or a build has failed. The next query retries a failed build.
    func settle() async {
        do {
            let isDone = try await engine.read { try $0.indexDefinitions().allSatisfy(\.isReady) }
            if !isDone { try await build() }
        } catch {
            // A failed build was logged. A failed read recurs for the next caller that needs the index.
        }
    }

    /// Stops the build after the current step.
    func close() async {
        isClosed = true
        _ = try? await building?.value
    }

    private enum Definition: Sendable {
        case ready, building, notAllowed
    }

    /// Defines those of the indexes that the store lacks.
    private func define(_ signatures: [IndexSignature], _ recordType: String) async throws -> Definition {
        let rows = try await engine.read { try $0.indexDefinitions() }.filter { $0.recordType == recordType }
        let missing = signatures.map(\.text).filter { text in !rows.contains { $0.components == text } }
        if missing.isEmpty {
            let areReady = signatures.allSatisfy { signature in
                rows.contains { $0.components == signature.text && $0.isReady }
            }
            return areReady ? .ready : .building
        }
        return try await changing { transaction in
            // The schema may have changed since the query was planned. An index that the change dropped must not be
            // recreated.
            let type = try Schema(transaction).recordTypes[recordType]
            guard signatures.allSatisfy({ $0.isAllowed(by: type) }) else { return .notAllowed }
            let known = try transaction.indexDefinitions()
            let sequence = try transaction.nextSeparatingSequence()
            for text in Set(missing)
            where !known.contains(where: { $0.recordType == recordType && $0.components == text }) {
                _ = try transaction.insertIndexDefinition(recordType: recordType, components: text, sequence: sequence)
            }
            return .building
        }
    }

    /// Builds the indexes that are not ready, or joins a running build.
    private func build() async throws {
        if let building { return try await building.value }
        let task = Task { try await self.buildAll() }
        building = task
        defer { building = nil }
        try await task.value
    }

    private func buildAll() async throws {
        let step = IndexBuildStep(accounts: accounts)
        do {
            while !isClosed {
                if try await buildLargeZone() { continue }
                let records = pieces.count(of: Limits.recordsPerIndexStep)
                let (isDone, duration) = try await changing { transaction in
                    let start = ContinuousClock.now
                    return (try step.run(in: transaction, records: records), start.duration(to: .now))
                }
                pieces.took(duration)
                if isDone { return }
            }
        } catch {
            environment.log("building an index stopped: \(error)")
            throw error
        }
        throw StorageError(.closed, "the store is closed")
    }

    /// Builds the entries of the next zone in bulk if the zone has many records.
    /// - Returns: false if the next zone has few records.
    private func buildLargeZone() async throws -> Bool {
        guard var bulk = try await engine.read({ try IndexBulkBuild($0) }) else { return false }
        let accounts = accounts
        var entries = EntryBatch()
        var isFull = false
        while !isFull && !isClosed {
            isFull = bulk.add(try await engine.read { [bulk] in try bulk.gather($0, accounts) }, to: &entries)
        }
        var isDone = false
        while !isDone && !isClosed {
            var isCaughtUp = false
            while !isCaughtUp && !isClosed {
                (bulk, isCaughtUp) = try await engine.read { [bulk] in try bulk.catchingUp($0) }
            }
            bulk.room = pieces.count(of: Limits.entriesPerIndexWrite)
            let isLast = bulk.endsNext(entries)
            let write = { @Sendable [bulk, entries] (transaction: StorageTransaction) in
                let start = ContinuousClock.now
                return (rest: try bulk.write(entries, in: transaction), duration: start.duration(to: .now))
            }
            let (rest, duration) = try await isLast ? changing(write) : engine.write(write)
            pieces.took(duration)
            guard let rest else { break }
            bulk = rest
            isDone = isLast && !rest.isBehind
        }
        return true
    }

    /// Writes index definitions between the calls of `beginChange` and `endChange` that `IndexCatalog` requires.
    private func changing<T: Sendable>(
        _ body: @escaping @Sendable (StorageTransaction) throws -> T
    ) async throws -> T {
        catalog.beginChange()
        defer { catalog.endChange() }
        return try await engine.write { transaction in
            try transaction.advanceCatalog()
            return try body(transaction)
        }
    }
}

/// One step of an index build.
struct IndexBuildStep {
    let accounts: Accounts

    /// Writes the entries of the next records for the oldest indexes that are not ready.
    /// - Returns: whether all indexes are ready.
    func run(in transaction: StorageTransaction, records: Int = Limits.recordsPerIndexStep) throws -> Bool {
        try transaction.runAlone()
        let rows = try transaction.indexDefinitions()
        let batch = Self.next(rows)
        guard let first = batch.first else { return true }
        guard let indexes = IndexDefinitions(batch)[first.recordType] else {
            for row in batch { try finish(row, in: transaction) }
            return false
        }
        var pass = IndexPass(
            recordType: first.recordType, indexes: indexes, lastSequence: batch.map(\.definedAt).max() ?? 0,
            zone: first.builtZone, sequence: first.builtSequence, rowsLeft: records)
        let isDone = try pass.run(IndexWriter(definitions: IndexDefinitions(batch), accounts: accounts), transaction)
        for var row in batch {
            row.builtZone = pass.zone
            row.builtSequence = pass.sequence
            row.isReady = isDone
            row.leavesOut = row.leavesOut || pass.leavesOut
            try transaction.updateIndexDefinition(row)
        }
        return false
    }

    /// The oldest indexes that are not ready. Indexes at the same build position are built together, so that records
    /// are read once.
    static func next(_ rows: [IndexDefinitionRow]) -> [IndexDefinitionRow] {
        guard let first = rows.first(where: { !$0.isReady }) else { return [] }
        return rows.filter {
            !$0.isReady && $0.recordType == first.recordType && $0.builtZone == first.builtZone
                && $0.builtSequence == first.builtSequence
        }
    }

    /// Marks an index that this version of the service cannot parse as ready, because this version does not build it.
    private func finish(_ row: IndexDefinitionRow, in transaction: StorageTransaction) throws {
        var row = row
        row.isReady = true
        try transaction.updateIndexDefinition(row)
    }
}

/// Reads records from the build position on and writes their entries.
private struct IndexPass {
    let recordType: String
    let indexes: TypeIndexes
    /// The change sequence of the newest definition. Saves have written the entries of later records.
    let lastSequence: Int64
    /// The ID of the current zone, or a lower bound of the next zone's ID.
    private(set) var zone: Int64
    private(set) var sequence: Int64
    /// Whether a damaged record was found.
    private(set) var leavesOut = false
    private var rowsLeft: Int
    private var entries: [IndexEntryRow] = []

    init(
        recordType: String, indexes: TypeIndexes, lastSequence: Int64, zone: Int64, sequence: Int64, rowsLeft: Int
    ) {
        self.rowsLeft = rowsLeft
        self.recordType = recordType
        self.indexes = indexes
        self.lastSequence = lastSequence
        self.zone = zone
        self.sequence = sequence
    }

    /// - Returns: whether no records are left.
    mutating func run(_ writer: IndexWriter, _ transaction: StorageTransaction) throws -> Bool {
        var isDone = false
        while rowsLeft > 0 && !isDone {
            guard let next = try transaction.zones(after: zone - 1, limit: 1).first else {
                isDone = true
                break
            }
            if next.key.id != zone { sequence = 0 }
            zone = next.key.id
            try read(next.key, writer, transaction)
        }
        // Inserts in index order are the fastest.
        entries.sort { left, right in
            left.definition != right.definition
                ? left.definition < right.definition : left.value.lexicographicallyPrecedes(right.value)
        }
        try transaction.insert(entries)
        return isDone
    }

    private mutating func read(
        _ key: ZoneKey, _ writer: IndexWriter, _ transaction: StorageTransaction
    ) throws {
        // Even an empty zone has a small cost, which counts as that of ten rows.
        rowsLeft -= 10
        while rowsLeft > 0 {
            let limit = Limits.recordsPerIndexRead
            let rows = try transaction.records(zone: key, after: sequence, limit: limit)
            for row in rows where row.isDamaged {
                leavesOut = true
                entries += indexes.definitions.map { definition in
                    IndexEntryRow(
                        zone: key, definition: IndexDefinitionRow.leftOut(of: definition.id), value: [],
                        name: row.name, record: row.number.value)
                }
            }
            for row in rows where row.type == recordType && !row.isDeleted {
                let record = try writer.record(row, indexes, transaction)
                for definition in indexes.definitions {
                    for value in definition.signature.entries(of: record) {
                        entries.append(
                            IndexEntryRow(
                                zone: key, definition: definition.id, value: value, name: row.name,
                                record: row.number.value))
                    }
                }
            }
            rowsLeft -= rows.count
            sequence = rows.last?.sequence ?? sequence
            if rows.count < limit || sequence > lastSequence {
                zone += 1
                sequence = 0
                return
            }
        }
    }
}
