import NephosWire

/// The way in which an index finds the records that a condition matches. It may also find other records.
indirect enum QueryAccess: Sendable {
    /// A value to look up in an index. If the value names a zone, only that zone can contain it; nil is any zone.
    struct Point: Hashable, Sendable {
        var bytes: [UInt8]
        var zoneID: ZoneIDDictionary?
    }

    /// Finds the records with one of the values.
    case points(IndexComponent, [Point])
    /// Finds the records with a value in a range of the order.
    case range(QueryKey, ByteRange)
    /// Finds the records with a list element in a range of the equality index.
    case elements(IndexComponent, ByteRange)
    /// Finds the records with a location within a radius, in metres, of a point.
    case circle(QueryKey, LocationValue, Double)
    /// Finds the records with these names.
    case names([ReferenceValue])
    case union([QueryAccess])

    /// Whether the access can find no record.
    var isEmpty: Bool {
        switch self {
        case .points(_, let points): points.isEmpty
        case .range(_, let range), .elements(_, let range): range.isEmpty
        case .circle(_, _, let metres): metres < 0
        case .names(let names): names.isEmpty
        case .union(let parts): parts.allSatisfy(\.isEmpty)
        }
    }
}

/// One conjunct of a query's condition. A record matches the query if it matches all conjuncts.
struct QueryConjunct: Sendable {
    var expression: QueryExpression
    /// The access through an index; nil if no index helps.
    var access: QueryAccess?
    /// Whether all records that the access finds certainly match.
    var isExact: Bool

    init(_ expression: QueryExpression, searchableFields: [String]) {
        self.expression = expression
        (access, isExact) = Self.access(for: expression, searchableFields)
    }

    /// The conjuncts of a query. A search for all of several words becomes one conjunct per word, and a search for a
    /// list with all of several elements becomes one conjunct per element.
    static func conjuncts(of query: ValidQuery) -> [QueryConjunct] {
        let parts: [QueryExpression] =
            switch query.condition {
            case .and(let parts): parts.flatMap(split)
            case .all: []
            case let single: split(single)
            }
        return parts.map { QueryConjunct($0, searchableFields: query.searchableFields) }
    }

    private static func split(_ expression: QueryExpression) -> [QueryExpression] {
        guard case .filter(let filter) = expression, let value = filter.fieldValue.value else { return [expression] }
        switch (filter.comparator, value) {
        case (.containsAllTokens, _):
            let tokens = Tokenizer.tokens(of: value)
            guard tokens.count > 1 else { return [expression] }
            return tokens.map { .filter(Filter(filter.key, .containsAllTokens, .string($0))) }
        case (.listContainsAll, .list(_, let elements)) where elements.count > 1:
            return elements.map { .filter(Filter(filter.key, .listContains, $0)) }
        default: return [expression]
        }
    }

    private static func access(
        for expression: QueryExpression, _ searchableFields: [String]
    ) -> (QueryAccess?, Bool) {
        switch expression {
        case .filter(let filter): return access(for: filter, searchableFields)
        case .or(let parts):
            let conjuncts = parts.map { QueryConjunct($0, searchableFields: searchableFields) }
            let accesses = conjuncts.compactMap(\.access)
            guard accesses.count == parts.count else { return (nil, false) }
            return (.union(accesses), conjuncts.allSatisfy(\.isExact))
        case .and(let parts):
            // Each part's access finds all matches, so the most selective one is enough.
            let conjuncts = parts.map { QueryConjunct($0, searchableFields: searchableFields) }
            let best = conjuncts.compactMap(\.access).min { $0.rank < $1.rank }
            return (best, false)
        case .all, .none, .not: return (nil, false)
        }
    }

    private static func access(for filter: Filter, _ searchableFields: [String]) -> (QueryAccess?, Bool) {
        guard let value = filter.fieldValue.value, !filter.comparator.isNegative else { return (nil, false) }
        let key = filter.key
        switch (filter.comparator, value) {
        case (.equals, .list), (.listContains, .list): return (nil, false)
        case (.equals, _), (.listContains, _): return points(key, [value])
        case (.in, .list(_, let values)), (.listContainsAny, .list(_, let values)): return points(key, values)
        case (.listContainsAll, .list(_, let values)):
            // If the condition lists no values, every list matches.
            guard let first = values.first else { return (nil, false) }
            let (access, isExact) = points(key, [first])
            return (access, isExact && values.count == 1)
        case (_, _) where filter.comparator.isOrdering: return ordering(filter.comparator, key, value)
        case (.beginsWith, .string(let prefix)):
            return (
                .range(key, ByteRange(prefix: OrderedBytes.prefix(prefix))),
                OrderedBytes.holds(prefix: prefix)
            )
        case (.listMemberBeginsWith, .string(let prefix)):
            // Equality folds case and accents. An ASCII prefix is still a prefix after folding.
            let ascii = String(decoding: prefix.utf8.prefix { $0 < 0x80 }, as: UTF8.self)
            let folded = OrderedBytes.prefix(OrderedBytes.equalityText(ascii))
            return (.elements(IndexComponent(.equality, key), ByteRange(prefix: folded)), false)
        case (.near, .location(let center)): return (.circle(key, center, filter.distance ?? 0), false)
        case (.containsAllTokens, _), (.containsAnyTokens, _):
            return tokens(filter.comparator, key, value, searchableFields)
        default: return (nil, false)
        }
    }

    private static func points(_ key: QueryKey, _ values: [FieldValue]) -> (QueryAccess?, Bool) {
        if key == .system(.recordName) {
            return (.names(values.compactMap { if case .reference(let name) = $0 { name } else { nil } }), true)
        }
        var seen: Set<QueryAccess.Point> = []
        var points: [QueryAccess.Point] = []
        var isExact = true
        for value in values {
            guard let bytes = OrderedBytes.equality(value) else { continue }
            var point = QueryAccess.Point(bytes: bytes)
            switch value {
            case .string(let text): isExact = isExact && OrderedBytes.isWhole(OrderedBytes.equalityText(text))
            case .reference(let reference): point.zoneID = reference.zoneID
            default: break
            }
            if seen.insert(point).inserted { points.append(point) }
        }
        return (.points(IndexComponent(.equality, key), points), isExact)
    }

    private static func ordering(
        _ comparator: FilterComparator, _ key: QueryKey, _ value: FieldValue
    ) -> (QueryAccess?, Bool) {
        let bytes = OrderedBytes.order(value)
        guard let tag = bytes.first, tag != OrderedBytes.Tag.missing else { return (nil, false) }
        var isExact = true
        if case .string(let text) = value { isExact = OrderedBytes.isWhole(text) }
        let range =
            switch comparator {
            case .lessThan where isExact: ByteRange(from: [tag], to: bytes)
            case .lessThan, .lessThanOrEquals: ByteRange(from: [tag], to: OrderedBytes.successor(bytes))
            case .greaterThan where isExact: ByteRange(from: OrderedBytes.successor(bytes), to: [tag + 1])
            default: ByteRange(from: bytes, to: [tag + 1])
            }
        return (.range(key, range), isExact)
    }

    private static func tokens(
        _ comparator: FilterComparator, _ key: QueryKey, _ value: FieldValue, _ searchableFields: [String]
    ) -> (QueryAccess?, Bool) {
        var tokens = Tokenizer.tokens(of: value)
        var isExact = true
        if comparator == .containsAllTokens, tokens.count > 1 {
            // The longest word is likely the rarest.
            tokens = tokens.max { $0.utf8.count < $1.utf8.count }.map { [$0] } ?? []
            isExact = false
        }
        let points = tokens.map { QueryAccess.Point(bytes: OrderedBytes.token($0)) }
        guard key == .allSearchableFields else { return (.points(IndexComponent(.token, key), points), isExact) }
        if points.isEmpty { return (.union([]), true) }
        let fields = searchableFields.map { QueryAccess.points(IndexComponent(.token, .field($0)), points) }
        return (.union(fields), isExact)
    }
}

extension QueryAccess {
    /// The rank of the access by how selective it is likely to be; lower is better.
    fileprivate var rank: Int {
        switch self {
        case .names: 0
        case .points: 1
        case .circle: 2
        case .range: 3
        case .elements: 4
        case .union: 5
        }
    }
}
