/// Evaluates a condition on a record's values. The result is the same as that of the service's index.
///
/// The rules of a comparator (CKQuery, Apple's documentation; CloudKit Web Services, Filter):
/// - Strings are equal as `QuerySemantics.equalityForm` defines. Prefixes and orderings compare the UTF-8 bytes
///   exactly.
/// - INT64 and DOUBLE compare as numbers. Values of other different types never match.
/// - References compare by record name and zone, references to users only by record name.
/// - `NEAR` includes the boundary of its radius.
/// - A record without the field matches the comparators that begin with `NOT_`, and no others. The same holds for a
///   record whose field has a type that the comparator does not support.
/// - For an empty list of values, `IN` and `LIST_CONTAINS_ANY` match nothing, and `LIST_CONTAINS_ALL` matches every
///   record that has the list. A search without a token (only stop words) matches nothing.
package struct QueryMatcher: Sendable {
    private let condition: Condition
    /// The number of times that the conditions read a field: a list is compared with each value of its filter.
    package let comparisons: Int
    private let searches: Bool

    package init(_ expression: QueryExpression) {
        condition = Condition(expression.normalized)
        comparisons = condition.comparisons
        searches = condition.searches
    }

    package init(_ filters: [Filter]) {
        self.init(.and(filters.map(QueryExpression.filter)))
    }

    /// - Parameter words: the words of the record's fields; nil if no other conditions are evaluated on the record.
    package func matches(_ record: some QueryableRecord, words: RecordWords? = nil) -> Bool {
        condition.matches(record, words ?? (searches ? RecordWords() : nil))
    }

    private indirect enum Condition: Sendable {
        case constant(Bool)
        case filter(PreparedFilter)
        case and([Condition])
        case or([Condition])
        case not(Condition)

        init(_ expression: QueryExpression) {
            switch expression {
            case .all: self = .constant(true)
            case .none: self = .constant(false)
            case .filter(let filter): self = .filter(PreparedFilter(filter))
            case .and(let parts): self = .and(parts.map(Condition.init))
            case .or(let parts): self = .or(parts.map(Condition.init))
            case .not(let inner): self = .not(Condition(inner))
            }
        }

        func matches(_ record: some QueryableRecord, _ words: RecordWords?) -> Bool {
            switch self {
            case .constant(let value): value
            case .filter(let filter): filter.matches(record, words)
            case .and(let parts): parts.allSatisfy { $0.matches(record, words) }
            case .or(let parts): parts.contains { $0.matches(record, words) }
            case .not(let inner): !inner.matches(record, words)
            }
        }

        var comparisons: Int {
            switch self {
            case .constant: 0
            case .filter(let filter): filter.comparisons
            case .and(let parts), .or(let parts): parts.reduce(0) { $0 + $1.comparisons }
            case .not(let inner): inner.comparisons
            }
        }

        var searches: Bool {
            switch self {
            case .constant: false
            case .filter(let filter): filter.searches
            case .and(let parts), .or(let parts): parts.contains(where: \.searches)
            case .not(let inner): inner.searches
            }
        }
    }
}

/// The words of a record's fields, which are found once for all searches in a field.
package final class RecordWords {
    private var words: [QueryKey: Set<String>] = [:]

    package init() {}

    fileprivate func words(of key: QueryKey, _ value: FieldValue) -> Set<String> {
        if let known = words[key] { return known }
        let found = Set(Tokenizer.tokens(of: value))
        words[key] = found
        return found
    }
}

/// A filter whose value is prepared for comparisons with many records.
struct PreparedFilter: Sendable {
    private enum Test: Sendable {
        case never
        case isAny(of: PreparedValues)
        case isOrdered(FilterComparator, FieldValue)
        case beginsWith([UInt8])
        case isNear(LocationValue, metres: Double)
        case hasTokens([String], all: Bool)
        case listContainsAny(PreparedValues)
        case listContainsAll(PreparedValues)
        case listMemberBeginsWith([UInt8])
    }

    private let key: QueryKey
    private let test: Test
    private let isNegative: Bool

    init(_ filter: Filter) {
        key = filter.key
        isNegative = filter.comparator.isNegative
        test = filter.fieldValue.value.map { Self.test(filter.comparator.positive, $0, filter.distance) } ?? .never
    }

    private static func test(_ comparator: FilterComparator, _ value: FieldValue, _ distance: Double?) -> Test {
        switch (comparator, value) {
        case (.equals, .list): .never
        case (.equals, _): .isAny(of: PreparedValues([value]))
        case (.in, .list(_, let values)): .isAny(of: PreparedValues(values))
        case (_, _) where comparator.isOrdering: .isOrdered(comparator, value)
        case (.beginsWith, .string(let prefix)): .beginsWith(Array(prefix.utf8))
        case (.near, .location(let center)): .isNear(center, metres: distance ?? 0)
        case (.containsAllTokens, _): .hasTokens(Tokenizer.tokens(of: value), all: true)
        case (.containsAnyTokens, _): .hasTokens(Tokenizer.tokens(of: value), all: false)
        case (.listContains, .list): .never
        case (.listContains, _): .listContainsAny(PreparedValues([value]))
        case (.listContainsAny, .list(_, let values)): .listContainsAny(PreparedValues(values))
        case (.listContainsAll, .list(_, let values)): .listContainsAll(PreparedValues(values))
        case (.listMemberBeginsWith, .string(let prefix)): .listMemberBeginsWith(Array(prefix.utf8))
        default: .never
        }
    }

    var comparisons: Int {
        switch test {
        case .listContainsAny(let values), .listContainsAll(let values): max(1, values.all.count)
        default: 1
        }
    }

    var searches: Bool { if case .hasTokens = test { true } else { false } }

    func matches(_ record: some QueryableRecord, _ words: RecordWords?) -> Bool {
        guard let value = record.value(of: key) else { return isNegative }
        let context = ComparisonContext(zoneID: record.zoneID, key: key)
        return passes(value, context, words) != isNegative
    }

    private func passes(_ value: FieldValue, _ context: ComparisonContext, _ words: RecordWords?) -> Bool {
        switch test {
        case .never: return false
        case .isAny(let candidates):
            let value = PreparedValue(value, limit: candidates.longest)
            return candidates.all.contains { $0.isEqual(to: value, context) }
        case .isOrdered(let comparator, let bound):
            guard let order = ValueComparison.order(value, bound) else { return false }
            switch comparator {
            case .lessThan: return order < 0
            case .lessThanOrEquals: return order <= 0
            case .greaterThan: return order > 0
            default: return order >= 0
            }
        case .beginsWith(let prefix):
            guard case .string(let text) = value else { return false }
            return text.utf8.starts(with: prefix)
        case .isNear(let center, let metres):
            guard case .location(let location) = value else { return false }
            return center.distance(to: location) <= metres
        case .hasTokens(let wanted, let all):
            guard !wanted.isEmpty else { return false }
            let found = words?.words(of: context.key, value) ?? Set(Tokenizer.tokens(of: value))
            return all ? wanted.allSatisfy(found.contains) : wanted.contains(where: found.contains)
        case .listContainsAny(let wanted):
            guard let elements = Self.elements(of: value, wanted) else { return false }
            return wanted.all.contains { wanted in elements.contains { $0.isEqual(to: wanted, context) } }
        case .listContainsAll(let wanted):
            guard let elements = Self.elements(of: value, wanted) else { return false }
            return wanted.all.allSatisfy { wanted in elements.contains { $0.isEqual(to: wanted, context) } }
        case .listMemberBeginsWith(let prefix):
            guard case .list(_, let elements) = value else { return false }
            return elements.contains { element in
                guard case .string(let text) = element else { return false }
                return text.utf8.starts(with: prefix)
            }
        }
    }

    private static func elements(of value: FieldValue, _ wanted: PreparedValues) -> [PreparedValue]? {
        guard case .list(_, let elements) = value else { return nil }
        return elements.map { PreparedValue($0, limit: wanted.longest) }
    }
}

/// The context of a comparison.
struct ComparisonContext {
    /// The zone of references that name no zone.
    var zoneID: ZoneIDDictionary
    var key: QueryKey

    /// Whether a string in a comparison counts as the record name of a reference, as in `recordName = "…"`.
    var takesNames: Bool {
        if case .system(let field) = key { field.type == .reference } else { false }
    }

    var ignoresZones: Bool {
        if case .system(let field) = key { field.isUser } else { false }
    }
}

/// The values of a filter, prepared for comparisons by equality.
struct PreparedValues: Sendable {
    let all: [PreparedValue]
    /// The length in bytes of the longest form of a string. Of a record's string no more is formed, so that a comparison
    /// costs as much as the filter is long.
    let longest: Int

    init(_ values: [FieldValue]) {
        all = values.map { PreparedValue($0) }
        longest = all.map(\.form.count).max() ?? 0
    }
}

/// A value prepared for comparisons by equality, with its string in `QuerySemantics.equalityForm`.
struct PreparedValue: Sendable {
    private let value: FieldValue
    fileprivate let form: [UInt8]

    /// - Parameter limit: the number of bytes of the longest form with which the value is compared.
    init(_ value: FieldValue, limit: Int = .max) {
        self.value = value
        if case .string(let text) = value {
            form = QuerySemantics.equalityForm(text, limit: limit)
        } else {
            form = []
        }
    }

    func isEqual(to other: PreparedValue, _ context: ComparisonContext) -> Bool {
        switch (value, other.value) {
        case (.string, .string): form == other.form
        case (.reference(let mine), .reference(let theirs)):
            context.ignoresZones
                ? mine.recordName == theirs.recordName
                : ValueComparison.areEqual(mine, theirs, in: context.zoneID)
        case (.string(let name), .reference(let reference)), (.reference(let reference), .string(let name)):
            context.takesNames && reference.recordName == name
        case (.bytes(let mine), .bytes(let theirs)): mine == theirs
        case (.location(let mine), .location(let theirs)):
            mine.latitude == theirs.latitude && mine.longitude == theirs.longitude
        default: ValueComparison.order(value, other.value) == 0
        }
    }
}
