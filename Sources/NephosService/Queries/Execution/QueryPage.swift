import NephosStorage
import NephosWire

/// One page of a query, over one snapshot. `QueryCursor` describes how the pages of a query relate.
///
/// A class, because a page is passed around often and never changes: each copy of a structure would count references to
/// all its members.
final class QueryPage {
    let query: ValidQuery
    let conjuncts: [QueryConjunct]
    let zones: [QueryZone]
    let indexes: TypeIndexes
    let bounds: QueryBounds
    let accounts: Accounts
    let reader: StorageReader
    let trace: QueryTrace
    let limit: Int
    /// The time at which the page ends even if it is not full.
    private let deadline: ContinuousClock.Instant

    /// The end of the previous page; nil for the first page.
    let cursor: QueryCursor?
    /// The requested record format of each zone.
    let projections: [RecordProjection]

    init(
        query: ValidQuery, conjuncts: [QueryConjunct], zones: [QueryZone], indexes: TypeIndexes, bounds: QueryBounds,
        accounts: Accounts, reader: StorageReader, trace: QueryTrace, limit: Int, cursor: QueryCursor?,
        projections: [RecordProjection]
    ) {
        self.query = query
        self.conjuncts = conjuncts
        self.zones = zones
        self.indexes = indexes
        self.bounds = bounds
        self.accounts = accounts
        self.reader = reader
        self.trace = trace
        self.limit = limit
        self.cursor = cursor
        self.projections = projections
        deadline = .now + bounds.timePerPage
    }

    var isLate: Bool { ContinuousClock.now > deadline }

    struct Result {
        /// The number of records on the page.
        var count = 0
        /// The number of candidates examined; only set if there is a next page.
        var looks = 0
        /// The start of the next page; nil after the last page.
        var cursor: QueryCursor?
    }

    /// - Parameter records: receives each record of the page; nil only counts the records.
    func run(
        _ plan: QueryPlan, _ checks: CandidateChecks, into records: RecordEncoder?
    ) throws -> Result {
        guard let order = plan.order else { return Result() }
        let run = Run(page: self, plan: plan, order: order, checks: checks, records: records)
        switch cursor?.phase {
        case .changes(let zone, let sequence)?:
            try run.readChanges(zone: zone, sequence: sequence)
        case .ordered(let position)?:
            try run.readInOrder(after: position)
        case nil:
            try run.readLeftOut()
            try run.readInOrder(after: nil)
        }
        return run.result
    }

    /// Whether an index can contain records that the caller has no permission to read. If so, only returned records are
    /// counted.
    var isRestricted: Bool { query.restriction != nil || zones.contains(where: \.hidesRecords) }

    /// The number of matching records, if the index alone determines it; nil if records must be read, or if there are
    /// too many entries.
    func count(_ plan: QueryPlan) throws -> Int? {
        // The cells of a radius filter contain entries outside the radius.
        guard case .ordered(let scan, _) = plan, !scan.mayRepeat, isExact(plan),
            conjuncts.allSatisfy({ plan.circle(of: $0) == nil }), indexesWithGaps(plan).isEmpty,
            !zones.contains(where: \.hidesRecords)
        else { return nil }
        var count = 0
        for zone in zones {
            for range in scan.ranges where range.isIn(zone) {
                guard let id = indexes.ready(range.signature) else { continue }
                let found = try reader.countIndexEntries(range.inIndex(id, zone), limit: bounds.entriesPerCount - count)
                trace.read(found, at: trace.began(range))
                count += found
                if count >= bounds.entriesPerCount { return nil }
            }
        }
        return count
    }

    /// Whether every candidate of the plan certainly matches the query.
    func isExact(_ plan: QueryPlan, _ probes: [IndexProbe] = []) -> Bool {
        conjuncts.indices.allSatisfy { index in
            plan.decides(index, of: conjuncts)
                || conjuncts[index].isExact && probes.contains { $0.conjunct == index }
        }
    }

    /// The conditions that an index checks at less cost than the record does.
    func probes(_ plan: QueryPlan) -> [IndexProbe] {
        switch plan {
        case .ordered, .collected, .distance: break
        case .named, .nothing, .shared: return []
        }
        return conjuncts.indices.compactMap { index in
            guard !plan.covers.contains(index), case .points(let component, let points) = conjuncts[index].access,
                points.count < 8, let id = indexes.ready(IndexSignature([component]))
            else { return nil }
            return IndexProbe(conjunct: index, definition: id, points: points)
        }
    }

    /// The plan's indexes that lack records which were damaged when the indexes were built.
    func indexesWithGaps(_ plan: QueryPlan) -> [Int64] {
        // The creator of a damaged record is unknown, so the caller may not see it.
        guard indexes.leavesOut, query.restriction == nil else { return [] }
        var used = Set(probes(plan).map(\.definition))
        switch plan {
        case .ordered(let scan, _), .collected(let scan, _): used.formUnion(indexes.ready(scan))
        case .distance(let distance, _): used.formUnion(indexes.ready(distance.scan))
        case .named, .nothing, .shared: break
        }
        return indexes.definitions.filter { $0.leavesOut && used.contains($0.id) }.map(\.id).sorted()
    }

    /// - Parameter matches: checks a record before it is sorted, for plans that no index narrows.
    func candidates(
        _ plan: QueryPlan, _ order: QueryOrder, after position: QueryPosition?,
        matches: (RecordRow, QueryZone) throws -> Bool
    ) throws -> any CandidateStream {
        switch plan {
        case .nothing: return SortedCandidates([], after: nil)
        case .ordered(let scan, _):
            return try ordered(scan, order, after: position, sortsRuns: plan.sortsRuns)
        case .distance(let scan, _):
            let isWholeKey = order.keys.count == 1
            return NearestFirst(
                scan, in: zones, indexes, after: position, bounds: bounds, reader: reader, trace: trace,
                fullKey: isWholeKey ? nil : { row, _ in order.key(of: try self.record(row, fields: order.fields)) })
        case .collected(let scan, _):
            return SortedCandidates(try collect(scan, order, probes(plan)), after: position)
        case .named(let names, _, _): return SortedCandidates(try find(names, order), after: position)
        case .shared:
            guard let zone = zones.first, let shared = zone.shared else { return SortedCandidates([], after: nil) }
            let isSorted = !order.keys.isEmpty
            let stream = SharedRecordStream(
                shared, of: query.recordType, after: isSorted ? nil : position,
                expecting: isSorted ? .max : min(limit, 1000) + 1, reader: reader, trace: trace)
            guard isSorted else { return stream }
            return SortedCandidates(try sort(stream, of: zone, order, matches: matches), after: position)
        }
    }

    /// The merged candidates of the index ranges. Sorts the runs that the index cannot order.
    private func ordered(
        _ scan: QueryScan, _ order: QueryOrder, after position: QueryPosition?, sortsRuns: Bool
    ) throws -> any CandidateStream {
        // The whole run that contains the position is read again.
        let start = position.flatMap { position in
            let key = sortsRuns ? order.indexKey(of: position.key, scan.order) : order.run(of: position.key)
            return key.map { QueryPosition(key: $0, name: "", zone: .min) }
        }
        let ranges = try MergedRanges(
            scan, in: zones, indexes, after: start ?? position, expecting: min(limit, 1000) + 1, reader: reader,
            trace: trace)
        guard order.hasStrings || sortsRuns else { return ranges }
        return WholeKeys(
            ranges, after: position, limit: bounds.unindexedSort, budget: bounds.candidatesPerPage,
            runKey: { sortsRuns ? $0 : order.run(of: $0) },
            orThrow: { self.longRun }
        ) { candidate in
            guard let zone = self.zones.first(where: { $0.key.id == candidate.position.zone }) else { return nil }
            let row = try self.reader.record(candidate.number, zone: zone.key)
            // A damaged record has no other key than its index key.
            if let row, row.isDamaged { return Candidate(position: candidate.position, row: row) }
            return try self.sortedCandidate(row, order)
        }
    }

    private var longRun: ServiceError {
        let remedy =
            trace.helpfulIndex.map { ": add to \(query.recordType) in the schema: \(SchemaPrinter.line($0))" } ?? ""
        return .limitExceeded(
            "more than \(bounds.unindexedSort) records have the same value in the first field of the order\(remedy)")
    }

    // MARK: - In memory

    private func collect(
        _ scan: QueryScan, _ order: QueryOrder, _ probes: [IndexProbe]
    ) throws -> [Candidate] {
        let most = max(bounds.unindexedSort, bounds.smallSet, bounds.candidatesPerPage)
        var candidates: [Candidate] = []
        for zone in zones {
            var numbers: Set<Int64> = []
            for range in scan.ranges where range.isIn(zone) {
                guard let id = indexes.ready(range.signature) else { continue }
                // The planner counted these entries in the same snapshot, so there are at most `most`.
                let entries = try reader.indexEntries(range.inIndex(id, zone), after: nil, limit: most)
                trace.read(entries.count, at: trace.began(range))
                for entry in entries where numbers.insert(entry.record.value).inserted {
                    guard try probes.allSatisfy({ try $0.finds(entry.name, zone, reader) }),
                        let candidate = try sortedCandidate(reader.record(entry.record, zone: zone.key), order)
                    else { continue }
                    candidates.append(candidate)
                }
            }
        }
        return candidates
    }

    /// - Throws: `limitExceeded` if too many records are shared with the participant to be sorted.
    private func sort(
        _ stream: SharedRecordStream, of zone: QueryZone, _ order: QueryOrder,
        matches: (RecordRow, QueryZone) throws -> Bool
    ) throws -> [Candidate] {
        var stream = stream
        var candidates: [Candidate] = []
        var (records, bytes) = (0, 0)
        while let next = try stream.next() {
            guard let row = next.row else { continue }
            records += 1
            bytes += row.fields.count
            if records > bounds.sharedRecordsPerSort || bytes > bounds.sharedBytesPerSort { throw tooManyShared }
            guard try row.isDamaged || matches(row, zone) else { continue }
            trace.sort(row)
            guard let candidate = try sortable(row, order) else { continue }
            candidates.append(candidate)
            if candidates.count > bounds.unindexedSort || trace.sortedBytes > bounds.sortedBytes { throw tooManyShared }
        }
        return candidates
    }

    private var tooManyShared: ServiceError {
        .limitExceeded(
            "too many records of the type \(query.recordType) are shared with the caller to sort them: at most"
                + " \(bounds.unindexedSort) that match, of \(bounds.sharedRecordsPerSort); query without an order, or"
                + " fetch the zone's changes")
    }

    private func find(_ names: [ReferenceValue], _ order: QueryOrder) throws -> [Candidate] {
        var candidates: [Candidate] = []
        for zone in zones {
            var seen: Set<ExactString> = []
            for name in names where name.zoneID == nil || name.zoneID == zone.zoneID {
                guard seen.insert(ExactString(name.recordName)).inserted else { continue }
                // A hidden record counts as missing, because the caller must not learn its size.
                let row =
                    try zone.hidesRecords && zone.shared?.mayRead(name.recordName, reader) != true
                    ? nil : reader.record(zone: zone.key, named: name.recordName)
                let isOwn = query.restriction.map { row?.createdBy == $0.account } ?? true
                guard let candidate = try candidate(isOwn ? row : nil, order) else { continue }
                candidates.append(candidate)
            }
        }
        return candidates
    }

    /// - Throws: `RecordsTooLarge` if the records to sort have more bytes than the bound for sorting in memory.
    private func sortedCandidate(_ row: RecordRow?, _ order: QueryOrder) throws -> Candidate? {
        let candidate = try candidate(row, order)
        if trace.sortedBytes > bounds.sortedBytes { throw RecordsTooLarge() }
        return candidate
    }

    private func candidate(_ row: RecordRow?, _ order: QueryOrder) throws -> Candidate? {
        trace.readRecord()
        guard let row else { return nil }
        trace.sort(row)
        return try sortable(row, order)
    }

    /// The candidate of a record, with its position in the order; nil for a record of another type.
    private func sortable(_ row: RecordRow, _ order: QueryOrder) throws -> Candidate? {
        guard row.isDamaged || isCandidate(row) else { return nil }
        if row.isDamaged {
            return Candidate(position: QueryPosition(key: [], name: row.name, zone: row.zone.id), row: row)
        }
        let key =
            order.keys.isEmpty ? [] : order.key(of: try record(row, fields: order.fields, users: order.needsUsers))
        return Candidate(
            position: QueryPosition(key: key, name: row.name, zone: row.zone.id), number: row.number,
            row: trace.sortedBytes > bounds.keptBytes ? nil : row)
    }

    // MARK: - Changes

    /// The records of a zone that the caller may read and that were written after `sequence`. Each has the sequence at
    /// which the scan continues.
    func changes(
        in zone: QueryZone, after sequence: Int64, limit: Int
    ) throws -> [(sequence: Int64, row: RecordRow?)] {
        if zone.hidesRecords, let shared = zone.shared {
            let rows = try shared.participations.flatMap {
                try reader.sharedRecords(zone: zone.key, share: $0.share.id, after: sequence, limit: limit)
            }
            return try first(limit, of: rows.map { ($0.sequence, $0) }) { row in
                row.isGone ? nil : try reader.record(zone: zone.key, named: row.name)
            }
        }
        if let restriction = query.restriction { return try ownChanges(restriction, in: zone, after: sequence, limit) }
        return try reader.records(zone: zone.key, after: sequence, limit: limit, size: Limits.changesSize)
            .map { ($0.sequence, $0) }
    }

    /// The changes of the caller's own records, which are few enough to sort.
    private func ownChanges(
        _ restriction: CreatorRestriction, in zone: QueryZone, after sequence: Int64, _ limit: Int
    ) throws -> [(sequence: Int64, row: RecordRow?)] {
        guard
            case .points(let component, let points) = QueryConjunct(.filter(restriction.filter), searchableFields: [])
                .access, let definition = indexes.ready(IndexSignature([component]))
        else { return [] }
        // Collects numbers instead of records, because fields may be large.
        var changed: [(Int64, RowNumber)] = []
        for point in points {
            let range = ByteRange(prefix: point.bytes)
            let entries = try reader.indexEntries(
                IndexRange(zone: zone.key, definition: definition, from: range.from, to: range.to), after: nil,
                limit: bounds.unindexedSort)
            for entry in entries {
                trace.readRecord()
                guard let row = try reader.record(entry.record, zone: zone.key), row.sequence > sequence else {
                    continue
                }
                changed.append((row.sequence, entry.record))
            }
        }
        return try first(limit, of: changed) { try reader.record($0, zone: zone.key) }
    }

    /// Reads the first changes by sequence: at least one, and as many as fit within the byte limit of a feed page.
    private func first<Key>(
        _ limit: Int, of changes: [(Int64, Key)], _ read: (Key) throws -> RecordRow?
    ) rethrows -> [(sequence: Int64, row: RecordRow?)] {
        var rows: [(sequence: Int64, row: RecordRow?)] = []
        var size = 0
        for (sequence, key) in changes.sorted(by: { $0.0 < $1.0 }).prefix(limit) where size < Limits.changesSize {
            let row = try read(key)
            size += row?.fields.count ?? 0
            rows.append((sequence, row))
        }
        return rows
    }

    // MARK: - Records

    func isCandidate(_ row: RecordRow) -> Bool { !row.isDeleted && row.type == query.recordType }

    func record(_ row: RecordRow, fields: [String]?, users: Bool = true) throws -> QueryableRow {
        guard users else { return QueryableRow(row, fields: fields) }
        return QueryableRow(
            row, fields: fields, creator: try accounts.userRecordName(id: row.createdBy, reader),
            modifier: try accounts.userRecordName(id: row.modifiedBy, reader))
    }

    /// The fields that the conditions compare, and whether they compare users or parents.
    var conditionKeys: (fields: [String], needsUsers: Bool, parent: Bool) {
        var fields: [String] = []
        var needsUsers = false
        var parent = false
        _ = query.condition.mapFilters { filter in
            switch filter.key {
            case .field(let name): if !fields.contains(name) { fields.append(name) }
            case .system(let field):
                needsUsers = needsUsers || field.isUser
                parent = parent || field == .parent
            case .allSearchableFields: fields += query.searchableFields.filter { !fields.contains($0) }
            }
            return filter
        }
        return (fields, needsUsers, parent)
    }
}

extension TypeIndexes {
    /// The IDs of the ready indexes that a scan reads.
    fileprivate func ready(_ scan: QueryScan) -> [Int64] { scan.ranges.compactMap { ready($0.signature) } }
}

/// A look-up in an index of whether a record has one of the values of a condition.
struct IndexProbe: Sendable {
    /// The index of the condition in the query.
    let conjunct: Int
    let definition: Int64
    let points: [QueryAccess.Point]

    func finds(_ name: String, _ zone: QueryZone, _ reader: StorageReader) throws -> Bool {
        try points.contains { point in
            guard point.zoneID == nil || point.zoneID == zone.zoneID else { return false }
            return try reader.hasIndexEntry(
                IndexEntryRow(zone: zone.key, definition: definition, value: point.bytes, name: name))
        }
    }
}

extension QueryPlan {
    var order: QueryOrder? {
        switch self {
        case .nothing: nil
        case .ordered(_, let order), .collected(_, let order), .named(_, let order, _), .distance(_, let order),
            .shared(let order):
            order
        }
    }
}
