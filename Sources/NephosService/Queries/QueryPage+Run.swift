import NephosStorage
import NephosWire

extension QueryPage {
    /// The page being filled.
    struct Run {
        let page: QueryPage
        let plan: QueryPlan
        let order: QueryOrder
        /// Empty where the candidates passed them already.
        let probes: [IndexProbe]
        let checksRecords: Bool
        let matcher: QueryMatcher
        let fields: [String]
        let needsUsers: Bool
        /// The order as the marker has it: only where the query left it to the service.
        let orderText: String?
        var start: Int64
        var given: GivenRecords
        /// How many of the page's records are among `given`.
        var remembered = 0
        var looks = 0
        var result = Result()

        init(page: QueryPage, plan: QueryPlan, order: QueryOrder) {
            self.page = page
            self.plan = plan
            self.order = order
            let probes = page.probes(plan)
            checksRecords = !page.isExact(plan, probes)
            if case .collected = plan { self.probes = [] } else { self.probes = probes }
            matcher = QueryMatcher(page.query.condition)
            (fields, needsUsers) = page.conditionKeys
            orderText = page.query.sort.isEmpty ? order.components.map { IndexSignature($0).text } : nil
            start = page.cursor?.start ?? 0
            given = page.cursor?.given ?? GivenRecords()
        }

        // MARK: In order

        mutating func readInOrder(after position: QueryPosition?) throws {
            if probes.isEmpty, let range = page.singleRange(plan),
                position.map({ range.canBegin(after: $0, order) }) ?? true
            {
                try read(range, after: position)
            } else {
                try readStream(after: position)
            }
        }

        /// Reads the records together with the entries.
        private mutating func read(_ range: SingleRange, after position: QueryPosition?) throws {
            var start = position
            var chunk = min(page.limit, 255) + 1
            while true {
                let found = try page.reader.indexedRecords(range.range, after: start.map(range.entry), limit: chunk)
                page.trace.read(found.count, at: range.place)
                func position(before index: Int) -> QueryPosition? {
                    index == 0 ? start : range.position(found.value(index - 1), found.records[index - 1])
                }
                for index in 0..<found.count {
                    if result.rows.count == page.limit || looks >= page.bounds.candidatesPerPage,
                        let last = position(before: index)
                    {
                        return try stop(at: .ordered(last))
                    }
                    if range.cuts(found.value(index).dropFirst(range.keyOffset), order) {
                        return try readStream(after: position(before: index))
                    }
                    looks += 1
                    try look(at: found.records[index], range.zone)
                }
                if found.count < chunk { return try endOrder() }
                start = position(before: found.count)
                chunk = min(2 * chunk, 512)
            }
        }

        private mutating func look(at row: RecordRow, _ zone: Int) throws {
            page.trace.readRecord()
            guard page.isCandidate(row), !isGiven(row), try !checksRecords || matches(row, page.zones[zone]) else {
                return
            }
            result.rows.append((row, zone))
        }

        private mutating func readStream(after position: QueryPosition?) throws {
            var stream = try page.candidates(plan, order, after: position)
            var last = position
            while result.rows.count < page.limit {
                if looks >= page.bounds.candidatesPerPage, let last {
                    try stop(at: .ordered(last))
                    return
                }
                guard let candidate = try stream.next() else {
                    try endOrder()
                    return
                }
                looks += 1
                last = candidate.position
                try look(at: candidate)
            }
            if let last, try stream.next() != nil {
                try stop(at: .ordered(last))
            } else {
                try endOrder()
            }
        }

        private mutating func look(at candidate: Candidate) throws {
            guard let index = page.zones.firstIndex(where: { $0.key.id == candidate.position.zone }) else { return }
            let zone = page.zones[index]
            guard try probes.allSatisfy({ try $0.finds(candidate.position.name, zone, page.reader) }),
                let row = try candidate.row ?? page.read(candidate.position.name, zone), !isGiven(row),
                try !checksRecords || matches(row, zone)
            else { return }
            result.rows.append((row, index))
        }

        /// Goes on with what was written since the first page, where that may be missing.
        private mutating func endOrder() throws {
            guard page.cursor != nil, !order.isStable, let first = page.zones.first,
                try page.zones.contains(where: { try page.reader.lastSequence(zone: $0.key) > start })
            else { return }
            try readChanges(zone: first.key.id, sequence: start)
        }

        // MARK: What was written since

        mutating func readChanges(zone: Int64, sequence: Int64) throws {
            // What the order gave on this page does not come again.
            remember()
            for (index, next) in page.zones.enumerated() where next.key.id >= zone {
                var sequence = next.key.id == zone ? sequence : start
                while true {
                    let rows = try page.reader.records(zone: next.key, after: sequence, limit: 100)
                    for row in rows {
                        if result.rows.count == page.limit || looks >= page.bounds.candidatesPerPage {
                            try stop(at: .changes(zone: next.key.id, sequence: sequence))
                            return
                        }
                        looks += 1
                        sequence = row.sequence
                        page.trace.readRecord()
                        if try page.isCandidate(row) && !isGiven(row) && matches(row, next) {
                            result.rows.append((row, index))
                            remember()
                        }
                    }
                    if rows.count < 100 { break }
                }
            }
        }

        // MARK: Records

        private mutating func isGiven(_ row: RecordRow) -> Bool {
            guard page.cursor != nil, !order.isStable, row.sequence > start else { return false }
            if let since = given.fullSince, row.sequence > since { return true }
            return given.contains(row.name, zone: row.zone.id)
        }

        private func matches(_ row: RecordRow, _ zone: QueryZone) throws -> Bool {
            let creator = needsUsers ? try page.accounts.userRecordName(id: row.createdBy, page.reader) : nil
            let modifier = needsUsers ? try page.accounts.userRecordName(id: row.modifiedBy, page.reader) : nil
            return matcher.matches(
                StoredRecord(
                    row, zoneID: zone.zoneID, fields: fields, searchableFields: page.query.searchableFields,
                    creator: creator, modifier: modifier))
        }

        private mutating func remember() {
            if order.isStable { return }
            for (row, _) in result.rows[remembered...] where given.fullSince == nil || row.sequence > start {
                given.insert(row.name, zone: row.zone.id)
            }
            remembered = result.rows.count
        }

        private mutating func stop(at phase: QueryCursor.Phase) throws {
            if !order.isStable {
                if page.cursor == nil { start = try now() }
                remember()
                if given.count >= page.bounds.rememberedResults { given.becameFull(at: try now()) }
            }
            result.cursor = QueryCursor(phase: phase, start: start, given: given, order: orderText)
        }

        /// The change sequence of the snapshot, as far as the zones go.
        private func now() throws -> Int64 {
            try page.zones.map { try page.reader.lastSequence(zone: $0.key) }.max() ?? 0
        }
    }
}
