import NephosStorage
import NephosWire

extension QueryPage {
    /// The page while it is being filled. A class, because closures would copy a structure with so many references.
    final class Run {
        let page: QueryPage
        let plan: QueryPlan
        let order: QueryOrder
        let checks: CandidateChecks
        /// The encoder of the page's records; nil if the query only counts records.
        let records: RecordEncoder?
        /// A copy of the type in `checks`, for fast access per candidate.
        private let type: UnsafeRawBufferPointer
        /// A copy of the flag in `checks`, for fast access per candidate.
        private let checksRecords: Bool
        // Copies of the bounds of the page, for fast access per candidate.
        private let limit: Int
        private let answerSize: Int
        private let candidatesPerPage: Int
        private let bytesPerPage: Int
        /// Whether earlier pages may already have returned a record of this page.
        private let mayBeGiven: Bool
        /// Whether another account owns a zone of the query.
        private let isShared: Bool
        /// Whether returned records are remembered, because the query may find them again.
        private let remembers: Bool
        var start: Int64
        var given: GivenRecords
        var looks = 0
        /// The number of bytes of the returned records' fields.
        var size = 0
        /// The number of bytes of the examined records' fields.
        private var bytesRead = 0
        /// The number of bytes that conditions were checked on since the clock was last read.
        private var bytesChecked = 0
        /// The number of results that an index lacks.
        private var leftOut = 0
        var result = Result()

        init(
            page: QueryPage, plan: QueryPlan, order: QueryOrder, checks: CandidateChecks, records: RecordEncoder?
        ) {
            self.records = records
            self.checks = checks
            type = checks.type.buffer
            checksRecords = checks.checksRecords
            limit = page.limit
            answerSize = page.bounds.answerSize
            candidatesPerPage = page.bounds.candidatesPerPage
            bytesPerPage = page.bounds.bytesPerPage
            remembers = !order.isStable
            mayBeGiven = page.cursor != nil && remembers
            isShared = page.zones.contains { $0.shared != nil }
            self.page = page
            self.plan = plan
            self.order = order
            start = page.cursor?.start ?? 0
            given = page.cursor?.given ?? GivenRecords()
        }

        // MARK: Damaged records

        /// Returns the records that were damaged when an index was built, because the index cannot tell whether they
        /// match. They are errors before all results and do not count towards the page's limit.
        func readLeftOut() throws {
            var seen: Set<Int64> = []
            for definition in page.indexesWithGaps(plan) {
                let list = IndexDefinitionRow.leftOut(of: definition)
                for (index, zone) in page.zones.enumerated() {
                    let range = IndexRange(zone: zone.key, definition: list, from: [], to: OrderedBytes.end)
                    for entry in try page.reader.indexEntries(range, after: nil, limit: page.bounds.resultsPerPage)
                    where seen.insert(entry.record.value).inserted {
                        try page.reader.visitRecord(entry.record, zone: zone.key) {
                            try look(at: $0, index, page.projections[index])
                        }
                    }
                }
            }
            leftOut = result.count
        }

        // MARK: In order

        func readInOrder(after position: QueryPosition?) throws {
            if checks.probes.isEmpty, checks.circles.isEmpty, let range = page.singleRange(plan),
                position.map({ range.canBegin(after: $0, order) }) ?? true
            {
                try read(range, after: position)
            } else {
                try readStream(after: position)
            }
        }

        /// Reads records together with their index entries.
        private func read(_ range: SingleRange, after position: QueryPosition?) throws {
            enum Next { case nothing, page, run }
            var next = Next.nothing
            var last = EntryPlace(position)
            let hasStrings = checks.ordersStrings
            let zone = page.zones[range.zone].key.id
            var (entries, visited) = (0, 0)
            let projection = page.projections[range.zone]
            try page.reader.visitIndexedRecords(
                range.range, after: position.map(range.entry), limit: page.bounds.candidatesPerPage - looks + 1,
                expecting: min(page.limit, 1000) + 1
            ) { record, value in
                entries += 1
                if isFull, last.isSet {
                    next = .page
                } else if hasStrings, range.cuts(value.bytes, order) {
                    next = .run
                } else {
                    looks += 1
                    visited += 1
                    try look(at: record, range.zone, projection)
                    // Note the position after this record, because the next record may be the first that does not fit
                    // the page.
                    if isFull || hasStrings { last.set(range.key(of: value.bytes), record.name) }
                    return true
                }
                return false
            }
            page.trace.read(entries, at: range.place)
            page.trace.readRecords(visited)
            switch next {
            case .nothing: try endOrder()
            case .page: if let last = last.position(zone: zone) { try stop(at: .ordered(last)) }
            // The next entries are a run that the index cannot order.
            case .run: try readStream(after: last.position(zone: zone))
            }
        }

        /// A position in an index that advances with every record and reuses its memory.
        private struct EntryPlace {
            /// The key followed by the name, in the first `count` bytes.
            private var bytes: [UInt8] = []
            private var count = 0
            private var keyCount = 0
            private(set) var isSet = false

            init(_ position: QueryPosition?) {
                guard let position else { return }
                bytes = position.key + position.name.utf8
                keyCount = position.key.count
                count = bytes.count
                isSet = true
            }

            mutating func set(_ key: UnsafeRawBufferPointer, _ name: UnsafeRawBufferPointer) {
                keyCount = key.count
                count = keyCount + name.count
                isSet = true
                if bytes.count < count { bytes = [UInt8](repeating: 0, count: max(256, 2 * count)) }
                bytes.withUnsafeMutableBytes {
                    $0.copyMemory(from: key)
                    UnsafeMutableRawBufferPointer(rebasing: $0[keyCount...]).copyMemory(from: name)
                }
            }

            func position(zone: Int64) -> QueryPosition? {
                guard isSet else { return nil }
                return QueryPosition(
                    key: Array(bytes[..<keyCount]), name: String(decoding: bytes[keyCount..<count], as: UTF8.self),
                    zone: zone)
            }
        }

        private var isFull: Bool { isAnswerFull || isSpent }

        /// Whether the page has examined as much as its bounds allow.
        private var isSpent: Bool {
            looks >= candidatesPerPage || bytesRead >= bytesPerPage || isClockDue && page.isLate
        }

        /// Whether so much was examined that the clock has to be read.
        private var isClockDue: Bool {
            guard bytesChecked < Self.bytesPerClockRead else {
                bytesChecked = 0
                return true
            }
            return looks & 63 == 63
        }

        private static let bytesPerClockRead = 1 << 20

        private var isAnswerFull: Bool { result.count - leftOut >= limit || size >= answerSize }

        private func readStream(after position: QueryPosition?) throws {
            let checks = checks
            let page = page
            var stream = try page.candidates(plan, order, after: position) { row, zone in
                try !checks.checksRecords || Self.matches(row, zone, checks, page)
            }
            var last = position
            while !isAnswerFull {
                if isSpent, let last {
                    try stop(at: .ordered(last))
                    return
                }
                guard let candidate = try stream.next() else {
                    try endOrder()
                    return
                }
                looks += candidate.cost + 1
                last = candidate.position
                if candidate.isPlace {
                    if page.isLate { return try stop(at: .ordered(candidate.position)) }
                } else {
                    try look(at: candidate)
                }
            }
            while let last, let candidate = try stream.next() {
                if candidate.isPlace, looks < page.bounds.candidatesPerPage {
                    looks += candidate.cost + 1
                    continue
                }
                try stop(at: .ordered(last))
                return
            }
            try endOrder()
        }

        private func look(at candidate: Candidate) throws {
            let position = candidate.position
            guard checks.circles.allSatisfy({ $0.holds(position.key) }) else { return }
            guard let index = page.zones.firstIndex(where: { $0.key.id == position.zone }) else { return }
            let zone = page.zones[index]
            guard try checks.probes.allSatisfy({ try $0.finds(position.name, zone, page.reader) }) else { return }
            let projection = page.projections[index]
            if let row = candidate.row { return try row.withView { try look(at: $0, index, projection) } }
            page.trace.readRecord()
            try page.reader.visitRecord(candidate.number, zone: zone.key) { try look(at: $0, index, projection) }
        }

        /// Returns a record to the client if it matches and was not returned before.
        private func look(at record: RecordRowView, _ zone: Int, _ projection: RecordProjection) throws {
            bytesRead += record.fields.count
            guard record.isDamaged || record.isLive(ofType: type), !mayBeGiven || !isGiven(record),
                try !checksRecords || record.isDamaged || matches(record.row, page.zones[zone]),
                try isVisible(record, zone)
            else { return }
            try give(record, projection)
        }

        private func give(_ record: RecordRowView, _ projection: RecordProjection) throws {
            // Once `given` is full, only records newer than the first page are remembered. On the first page `given` is
            // never full.
            if remembers, given.fullSince == nil || record.sequence > start {
                given.insert(record.number)
            }
            result.count += 1
            guard let records else { return }
            try records.add(record, projection)
            size += record.fields.count
        }

        /// Continues with records written since the first page, if the order may have missed some.
        private func endOrder() throws {
            guard page.cursor != nil, remembers, let first = page.zones.first,
                try page.zones.contains(where: { try !page.changes(in: $0, after: start, limit: 1).isEmpty })
            else { return }
            try readChanges(zone: first.key.id, sequence: start)
        }

        // MARK: Records written since the first page

        func readChanges(zone: Int64, sequence: Int64) throws {
            for (index, next) in page.zones.enumerated() where next.key.id >= zone {
                var sequence = next.key.id == zone ? sequence : start
                while true {
                    let changes = try page.changes(in: next, after: sequence, limit: 100)
                    for change in changes {
                        if isFull {
                            // Records with lower sequences than this may still commit after the complete sequence, so
                            // the next page scans from there again.
                            let complete = max(start, try page.reader.completeUpTo(zone: next.key))
                            try stop(at: .changes(zone: next.key.id, sequence: min(sequence, complete)))
                            return
                        }
                        looks += 1
                        sequence = change.sequence
                        // A record that was newly shared but not rewritten has kept its position in the order.
                        guard let row = change.row, row.sequence > start else { continue }
                        bytesRead += row.fields.count
                        page.trace.readRecord()
                        try row.withView { view in
                            if try view.isLive(ofType: type) && !isGiven(view) && matches(row, next)
                                && isVisible(view, index)
                            {
                                try give(view, page.projections[index])
                            }
                        }
                    }
                    if changes.isEmpty { break }
                }
            }
        }

        // MARK: Records

        private func isGiven(_ record: RecordRowView) -> Bool {
            guard mayBeGiven, record.sequence > start else { return false }
            if let since = given.fullSince, record.sequence > since { return true }
            return given.contains(record.number)
        }

        /// Whether shares let the caller see the record.
        private func isVisible(_ record: RecordRowView, _ zone: Int) throws -> Bool {
            guard isShared, let shared = page.zones[zone].shared else { return true }
            if checks.comparesParents, record.share != nil { return false }
            // The plan reads only records under the caller's shares, but a move may have taken some of them out of the
            // shares.
            if case .shared = plan, !shared.hasMoves { return true }
            return try shared.mayRead(record.row.name, page.reader)
        }

        private func matches(_ row: RecordRow, _ zone: QueryZone) throws -> Bool {
            bytesChecked += row.fields.count * checks.matcher.comparisons
            return try Self.matches(row, zone, checks, page)
        }

        private static func matches(
            _ row: RecordRow, _ zone: QueryZone, _ checks: CandidateChecks, _ page: QueryPage
        ) throws -> Bool {
            let creator = checks.needsUsers ? try page.accounts.userRecordName(id: row.createdBy, page.reader) : nil
            let modifier = checks.needsUsers ? try page.accounts.userRecordName(id: row.modifiedBy, page.reader) : nil
            try page.reader.spend(bytes: row.fields.count * checks.matcher.comparisons / 2)
            return checks.matcher.matches(
                QueryableRow(
                    row, zoneID: zone.zoneID, fields: checks.fields, searchableFields: page.query.searchableFields,
                    creator: creator, modifier: modifier))
        }

        private func stop(at phase: QueryCursor.Phase) throws {
            var seen: Int64 = 0
            if remembers {
                seen = try now()
                if page.cursor == nil { start = seen }
                if given.count >= page.bounds.rememberedResults { given.becameFull(at: seen) }
            }
            result.cursor = QueryCursor(
                phase: phase, start: start, seen: seen, given: given, order: checks.orderText)
            result.looks = looks
        }

        /// The latest change sequence of the query's zones in the snapshot.
        private func now() throws -> Int64 {
            let last = try page.zones.map { try page.reader.completeUpTo(zone: $0.key) }.max() ?? 0
            let owners = Set(page.zones.map(\.key.owner))
            return owners.count > 1 ? min(last, try page.reader.settledSequence(of: owners)) : last
        }
    }
}
