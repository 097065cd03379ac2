import NephosStorage
import NephosWire

/// Plans how to find a query's results.
///
/// Indexes of one field are made when the first query needs them. An index of several fields (`=list,-date`), equality
/// fields first and then the order, is used if the schema declares it: the results are then one sorted range of the
/// index, and the cost is that of the returned records. Every save of every account maintains such an index, so a query
/// makes none.
///
/// If the index of the order does not cover all conditions, the planner counts the entries of the other conditions up
/// to a bound. If one condition leaves few records, these are collected, checked and sorted in memory. If none does,
/// the conditions are checked on the records in index order, and a page that examines too many records ends early. An
/// order by several fields reads the index of the first field and sorts runs with equal values in memory, up to a
/// bound.
struct QueryPlanner {
    let query: ValidQuery
    let conjuncts: [QueryConjunct]
    let zones: [QueryZone]
    let indexes: TypeIndexes
    let bounds: QueryBounds
    let reader: StorageReader
    let trace: QueryTrace
    /// The maximum number of records of the page.
    let limit: Int
    /// The order that an earlier page chose, for a query that leaves the order to the service; otherwise nil.
    let chosenOrder: [IndexComponent]?

    init(_ page: QueryPage) {
        query = page.query
        conjuncts = page.conjuncts
        zones = page.zones
        indexes = page.indexes
        bounds = page.bounds
        reader = page.reader
        trace = page.trace
        limit = page.limit
        chosenOrder = page.cursor?.order.flatMap(IndexSignature.init)?.components
    }

    /// - Throws: `MissingIndexes` if the record type lacks indexes that the plan needs, or a `ServiceError`.
    func plan() throws -> QueryPlan {
        if query.condition == .none || conjuncts.contains(where: { $0.access?.isEmpty == true }) { return .nothing }
        let explicit = query.sort.isEmpty ? nil : QueryOrder(query.sort)
        // This precedes any count of entries, because a count would include hidden records.
        if let plan = try planOfPart(explicit ?? .name) { return plan }
        for (index, conjunct) in conjuncts.enumerated() {
            guard case .names(let names) = conjunct.access else { continue }
            return .named(names, explicit ?? .name, covers: [index])
        }
        guard let explicit, !explicit.keys.isEmpty else { return try planAnyOrder(isByName: explicit != nil) }
        return try plan(explicit)
    }

    // MARK: - Callers that may not read all records

    /// A plan that reads only records that the caller may read, however selective the conditions are; nil if the caller
    /// may read all records. The caller must not learn which other records an index contains.
    private func planOfPart(_ order: QueryOrder) throws -> QueryPlan? {
        let hidesRecords = zones.contains(where: \.hidesRecords)
        if !hidesRecords && query.restriction == nil { return nil }
        for (index, conjunct) in conjuncts.enumerated() {
            if case .names(let names) = conjunct.access { return .named(names, order, covers: [index]) }
        }
        guard !hidesRecords, let filter = query.restriction?.filter else { return .shared(order) }
        guard let index = conjuncts.firstIndex(where: { $0.expression == .filter(filter) }),
            case .points(let component, let points) = conjuncts[index].access
        else { return .nothing }
        let own = prefixes(of: [(index, component, points)], order: [])
        if order.keys.isEmpty { return try readied(.ordered(own, order)) }
        if bounds.collects, try fewest(of: [own], below: bounds.unindexedSort) != nil { return .collected(own, order) }
        throw ServiceError.limitExceeded(
            "more than \(bounds.unindexedSort) of the caller's own records, or \(bounds.sortedBytes) bytes of them, would"
                + " be sorted, and grants hide the others: query without an order")
    }

    // MARK: - With an order

    private func plan(_ order: QueryOrder) throws -> QueryPlan {
        let main: QueryPlan
        if let components = order.components {
            main = .ordered(orderedScan(components), order)
        } else if case .distance(let key, let center, true) = order.keys[0] {
            main = .distance(distanceScan(key, center), order)
        } else {
            return try collect(order)
        }
        noteHelpfulIndex(before: order.components ?? main.indexOrder, instead: main)
        let others = alternatives(besides: main.covers)
        if !bounds.collects { return try readied(main) }
        if main.sortsRuns {
            if let few = try fewest(of: others, below: bounds.unindexedSort) { return .collected(few, order) }
            return try readied(main)
        }
        // An ordered page may examine the same number of records.
        let most = trace.helpfulIndex == nil ? bounds.smallSet : max(bounds.smallSet, bounds.candidatesPerPage)
        if let few = try fewest(of: others, below: most), try isCheaper(few, than: main) {
            return .collected(few, order)
        }
        return try readied(main)
    }

    /// A scan of the index that gives the whole order. If an order by several fields has no such index, a scan of the
    /// index of its first field.
    private func orderedScan(_ components: [IndexComponent]) -> QueryScan {
        let whole = scan(order: components)
        // Contradictory conditions leave no range, so the scan may have none.
        guard let first = whole.ranges.first, !isAvailable(first.signature) else { return whole }
        return scan(order: [components[0]])
    }

    /// Whether reading all of a few records costs less than reading in order until the page is full. If `few` has a
    /// tenth of the entries, the ordered read examines ten records for each match.
    private func isCheaper(_ few: QueryScan, than main: QueryPlan) throws -> Bool {
        let size = try count(few, limit: bounds.smallSet)
        // For so few records it is not worth making an index.
        if size <= 50 { return true }
        let scan: QueryScan
        switch main {
        case .ordered(let main, _): scan = main
        case .distance(let main, _): scan = main.scan
        case .nothing, .collected, .named, .shared: return true
        }
        if scan.signatures.contains(where: { indexes.ready($0) == nil }) { return false }
        let breakEven = size * size / max(1, min(limit, bounds.resultsPerPage)) + 1
        return try count(scan, limit: breakEven) == breakEven
    }

    /// The plan if no index has the order: the records of the most selective condition are sorted, up to a bound.
    private func collect(_ order: QueryOrder) throws -> QueryPlan {
        if !bounds.collects {
            throw ServiceError.limitExceeded(
                "the query's order has no index, and the records that may match have more than \(bounds.sortedBytes) bytes:"
                    + " sort by distance first and ascending, or add conditions")
        }
        var scans = alternatives(besides: [])
        if scans.isEmpty { scans = [scan(order: [])] }
        if let scan = try fewest(of: scans, below: bounds.unindexedSort) { return .collected(scan, order) }
        throw ServiceError.limitExceeded(
            "the query's order has no index, and more than \(bounds.unindexedSort) records may match: sort by distance"
                + " first and ascending, or add conditions")
    }

    // MARK: - In any order

    private func planAnyOrder(isByName: Bool) throws -> QueryPlan {
        let all = alternatives(besides: [])
        var scans = all.filter { $0.isOrdered && (!isByName || $0.order.isEmpty) }
        if let chosenOrder { scans = scans.filter { $0.order == chosenOrder } }
        let best: QueryScan
        switch scans.count {
        case 0: best = scan(order: chosenOrder ?? [])
        case 1: best = scans[0]
        default: best = try fewest(of: scans, below: bounds.comparison) ?? scans[0]
        }
        let order = QueryOrder(best.order)
        if bounds.collects, let few = try fewest(of: all.filter { !$0.isOrdered }, below: bounds.smallSet) {
            return .collected(few, order)
        }
        let plan = QueryPlan.ordered(best, order)
        let range = conjuncts.lazy.compactMap { conjunct -> QueryKey? in
            if case .range(let key, _) = conjunct.access { key } else { nil }
        }.first
        noteHelpfulIndex(before: range.map { [direction(of: $0)] } ?? [], instead: plan)
        return try readied(plan)
    }

    // MARK: - Scans

    private typealias Equality = (index: Int, component: IndexComponent, points: [QueryAccess.Point])

    /// The equality conditions that one index can cover together.
    /// - Parameters:
    ///   - allowed: the fields of the index; nil for any fields.
    ///   - order: the order of the index, which names no field twice.
    private func equalities(
        _ limit: Int, of allowed: ArraySlice<IndexComponent>? = nil, besides order: [IndexComponent] = []
    ) -> [Equality] {
        var chosen: [Equality] = []
        var ranges = 1
        var hasList = false
        for (index, conjunct) in conjuncts.enumerated() {
            guard case .points(let component, let points) = conjunct.access, component.kind == .equality,
                chosen.count < limit, ranges * points.count <= bounds.rangesPerScan,
                allowed?.contains(component) ?? true, !order.contains(where: { $0.key == component.key }),
                !chosen.contains(where: { $0.component.key == component.key })
            else { continue }
            if conjunct.isOfList {
                if hasList { continue }
                hasList = true
            }
            ranges *= points.count
            chosen.append((index, component, points))
        }
        return chosen.sorted { $0.component.field < $1.component.field }
    }

    /// The equality conditions that precede an order in an index: as many as a declared index has, or none. Without an
    /// order, a single equality condition has an index of its own.
    private func equalities(before order: [IndexComponent]) -> [Equality] {
        var best: [Equality] = []
        for definition in indexes.definitions where definition.signature.components.count > 1 {
            guard let fields = definition.signature.equalities(before: order), fields.count > best.count else {
                continue
            }
            let found = equalities(fields.count, of: fields)
            if found.count == fields.count { best = found }
        }
        return best.isEmpty && order.isEmpty ? equalities(1) : best
    }

    /// A scan, in an order, of the records that match the equality conditions.
    private func scan(order: [IndexComponent]) -> QueryScan {
        var scan = prefixes(of: equalities(before: order), order: order)
        // A range condition on the order's first field narrows the scan.
        guard let first = order.first, first.kind == .ascending || first.kind == .descending else { return scan }
        var range = ByteRange.all
        for (index, conjunct) in conjuncts.enumerated() {
            guard case .range(first.key, let part) = conjunct.access else { continue }
            range = range.intersection(part)
            scan.covers.insert(index)
        }
        if range == .all { return scan }
        if first.kind == .descending { range = range.complement }
        narrow(&scan) { _ in [range] }
        return scan
    }

    /// Notes the index that would cover more conditions than the index of the plan, for the explanation and for a
    /// refusal.
    private func noteHelpfulIndex(before order: [IndexComponent], instead plan: QueryPlan) {
        let components = equalities(Limits.equalitiesPerIndex, besides: order).map(\.component) + order
        guard components.count > 1, components.count <= Limits.fieldsPerIndex,
            components.count > plan.indexedFields, order.count < 2 || !order.contains(where: { $0.kind == .cell })
        else { return }
        trace.helpfulIndex = IndexSignature(components)
    }

    /// Whether the index exists, or a query may make it.
    private func isAvailable(_ signature: IndexSignature) -> Bool {
        signature.components.count < 2 || indexes.defines(signature)
    }

    private func prefixes(
        of equalities: [Equality], order: [IndexComponent]
    ) -> QueryScan {
        let signature = IndexSignature(equalities.map(\.component) + order)
        var ranges = [ScanRange(signature: signature, range: ByteRange(prefix: []), keyOffset: 0)]
        var bytes: [[UInt8]] = [[]]
        for equality in equalities {
            var next: [ScanRange] = []
            var nextBytes: [[UInt8]] = []
            for (range, prefix) in zip(ranges, bytes) {
                for point in equality.points {
                    let joined = prefix + point.bytes
                    next.append(
                        ScanRange(
                            signature: signature, range: ByteRange(prefix: joined), keyOffset: joined.count,
                            zoneIDs: range.zoneIDs + [point.zoneID].compactMap(\.self)))
                    nextBytes.append(joined)
                }
            }
            ranges = next
            bytes = nextBytes
        }
        let mayRepeat = equalities.contains { conjuncts[$0.index].isOfList && $0.points.count > 1 }
        return QueryScan(ranges: ranges, order: order, covers: Set(equalities.map(\.index)), mayRepeat: mayRepeat)
    }

    /// Intersects each range with the given ranges after its prefix.
    private func narrow(_ scan: inout QueryScan, to ranges: ([UInt8]) -> [ByteRange]) {
        scan.ranges = scan.ranges.flatMap { whole in
            let prefix = Array(whole.range.from.prefix(whole.keyOffset))
            return ranges(prefix).filter { !$0.isEmpty }.map { range in
                var part = whole
                part.range = range.behind(prefix)
                return part
            }
        }
    }

    /// A scan of the location index after the equality conditions, narrowed by radius filters with the same centre.
    private func distanceScan(_ key: QueryKey, _ center: LocationValue) -> DistanceScan {
        var distance = DistanceScan(scan: scan(order: [IndexComponent(.cell, key)]), center: center)
        for (index, conjunct) in conjuncts.enumerated() {
            guard case .circle(key, let other, let radius) = conjunct.access,
                other.latitude == center.latitude, other.longitude == center.longitude
            else { continue }
            distance.radius = min(radius, distance.radius ?? radius)
            distance.scan.covers.insert(index)
        }
        return distance
    }

    /// A scan for each condition that an index covers and that is not in `covered`, with the equality conditions before
    /// it if one index can have both. The equality conditions alone come first.
    private func alternatives(besides covered: Set<Int>) -> [QueryScan] {
        if covered.count == conjuncts.count { return [] }
        var scans: [QueryScan] = []
        var done = covered
        func add(_ scan: QueryScan) {
            // A scan that covers only conditions that are already covered is no alternative.
            guard !scan.covers.subtracting(done).isEmpty else { return }
            done.formUnion(scan.covers)
            scans.append(scan)
        }
        // One index can have both the equality conditions and the range.
        for conjunct in conjuncts {
            guard case .range(let key, _) = conjunct.access else { continue }
            add(scan(order: [direction(of: key)]))
        }
        if !equalities(1).isEmpty { add(scan(order: [])) }
        for (index, conjunct) in conjuncts.enumerated() where !done.contains(index) {
            if let scan = scan(for: conjunct, index) { add(scan) }
        }
        return scans
    }

    /// The component of the index that exists for the key: descending if only that index exists; otherwise ascending.
    private func direction(of key: QueryKey) -> IndexComponent {
        let ascending = IndexComponent(.ascending, key)
        let descending = IndexComponent(.descending, key)
        if let chosenOrder, chosenOrder.first?.key == key { return chosenOrder[0] }
        let signature = { (component: IndexComponent) in
            self.prefixes(of: self.equalities(before: [component]), order: [component]).ranges[0].signature
        }
        let isDefined = { (component: IndexComponent) in self.indexes.defines(signature(component)) }
        return !isDefined(ascending) && isDefined(descending) ? descending : ascending
    }

    private func scan(for conjunct: QueryConjunct, _ index: Int) -> QueryScan? {
        switch conjunct.access {
        case .points(let component, let points):
            QueryScan(
                ranges: points.map { range(component, $0) }, order: [], covers: [index], mayRepeat: points.count > 1)
        case .circle(let key, let center, let radius):
            circle(key, center, radius, index)
        case .union(let parts):
            union(parts, index)
        case .elements: conjunct.access.flatMap { union([$0], index) }
        case .names, .range, nil: nil
        }
    }

    private func range(_ component: IndexComponent, _ point: QueryAccess.Point) -> ScanRange {
        ScanRange(
            signature: IndexSignature([component]), range: ByteRange(prefix: point.bytes), keyOffset: point.bytes.count,
            zoneIDs: [point.zoneID].compactMap(\.self))
    }

    private func circle(_ key: QueryKey, _ center: LocationValue, _ radius: Double, _ index: Int) -> QueryScan {
        var scan = scan(order: [IndexComponent(.cell, key)])
        let cells = LocationCell.covering(center, to: radius)
        narrow(&scan) { _ in cells }
        scan.covers.insert(index)
        return scan
    }

    /// The ranges of a union of conditions; nil if a part has no range, or if there are too many ranges.
    private func union(_ parts: [QueryAccess], _ index: Int) -> QueryScan? {
        var scan = QueryScan(ranges: [], order: [], covers: [index], mayRepeat: true)
        for part in parts {
            switch part {
            case .points(let component, let points): scan.ranges += points.map { range(component, $0) }
            case .range(let key, let range):
                scan.ranges.append(self.range(IndexComponent(.ascending, key), range))
                scan.isOrdered = false
            case .elements(let component, let range):
                scan.ranges.append(self.range(component, range))
                scan.isOrdered = false
            case .circle(let key, let center, let radius):
                let cells = LocationCell.covering(center, to: radius)
                scan.ranges += cells.map { range(IndexComponent(.cell, key), $0) }
                scan.isOrdered = false
            case .union(let inner):
                guard let inner = union(inner, index) else { return nil }
                scan.ranges += inner.ranges
                scan.isOrdered = scan.isOrdered && inner.isOrdered
            case .names: return nil
            }
        }
        var seen: Set<ScanRange> = []
        scan.ranges = scan.ranges.filter { seen.insert($0).inserted }
        return scan.ranges.count > bounds.rangesPerScan ? nil : scan
    }

    private func range(_ component: IndexComponent, _ range: ByteRange) -> ScanRange {
        ScanRange(signature: IndexSignature([component]), range: range, keyOffset: 0)
    }

    // MARK: - Indexes

    private func require(_ signatures: [IndexSignature]) throws {
        let missing = signatures.filter { indexes.ready($0) == nil }
        if !missing.isEmpty { throw MissingIndexes(signatures: missing) }
    }

    /// The plan, if all its indexes are ready.
    /// - Throws: `MissingIndexes` otherwise.
    private func readied(_ plan: QueryPlan) throws -> QueryPlan {
        switch plan {
        case .ordered(let scan, _), .collected(let scan, _): try require(scan.signatures)
        case .distance(let distance, _): try require(distance.scan.signatures)
        case .nothing, .named, .shared: break
        }
        return plan
    }

    /// The scan with the fewest entries; nil if no scan has fewer than `limit`.
    private func fewest(of scans: [QueryScan], below limit: Int) throws -> QueryScan? {
        try require(scans.flatMap(\.signatures))
        var best: QueryScan?
        var least = limit
        for scan in scans {
            let count = try count(scan, limit: least)
            if count < least {
                best = scan
                least = count
            }
        }
        return best
    }

    private func count(_ scan: QueryScan, limit: Int) throws -> Int {
        var count = 0
        for zone in zones {
            for range in scan.ranges where count < limit && range.isIn(zone) {
                guard let id = indexes.ready(range.signature) else { continue }
                count += try reader.countIndexEntries(range.inIndex(id, zone), limit: limit - count)
            }
        }
        trace.counted(count)
        return count
    }
}

extension ScanRange {
    func isIn(_ zone: QueryZone) -> Bool { zoneIDs.allSatisfy { $0 == zone.zoneID } }

    func inIndex(_ id: Int64, _ zone: QueryZone) -> IndexRange {
        IndexRange(zone: zone.key, definition: id, from: range.from, to: range.to)
    }
}

extension QueryConjunct {
    /// Whether the condition is on a list. An index may contain a record several times for a list.
    var isOfList: Bool {
        if case .filter(let filter) = expression { filter.comparator.needsListField } else { false }
    }
}
