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

    package init(_ expression: QueryExpression) {
        condition = Condition(expression.normalized)
    }

    package init(_ filters: [Filter]) {
        self.init(.and(filters.map(QueryExpression.filter)))
    }

    package func matches(_ record: some QueryableRecord) -> Bool { condition.matches(record) }

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

        func matches(_ record: some QueryableRecord) -> Bool {
            switch self {
            case .constant(let value): value
            case .filter(let filter): filter.matches(record)
            case .and(let parts): parts.allSatisfy { $0.matches(record) }
            case .or(let parts): parts.contains { $0.matches(record) }
            case .not(let inner): !inner.matches(record)
            }
        }
    }
}

/// A filter whose value is prepared for comparisons with many records.
struct PreparedFilter: Sendable {
    private enum Test: Sendable {
        case never
        case isAny(of: [PreparedValue])
        case isOrdered(FilterComparator, FieldValue)
        case beginsWith([UInt8])
        case isNear(LocationValue, metres: Double)
        case hasTokens([String], all: Bool)
        case listContainsAny([PreparedValue])
        case listContainsAll([PreparedValue])
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
        case (.equals, _): .isAny(of: [PreparedValue(value)])
        case (.in, .list(_, let values)): .isAny(of: values.map(PreparedValue.init))
        case (_, _) where comparator.isOrdering: .isOrdered(comparator, value)
        case (.beginsWith, .string(let prefix)): .beginsWith(Array(prefix.utf8))
        case (.near, .location(let center)): .isNear(center, metres: distance ?? 0)
        case (.containsAllTokens, _): .hasTokens(Tokenizer.tokens(of: value), all: true)
        case (.containsAnyTokens, _): .hasTokens(Tokenizer.tokens(of: value), all: false)
        case (.listContains, .list): .never
        case (.listContains, _): .listContainsAny([PreparedValue(value)])
        case (.listContainsAny, .list(_, let values)): .listContainsAny(values.map(PreparedValue.init))
        case (.listContainsAll, .list(_, let values)): .listContainsAll(values.map(PreparedValue.init))
        case (.listMemberBeginsWith, .string(let prefix)): .listMemberBeginsWith(Array(prefix.utf8))
        default: .never
        }
    }

    func matches(_ record: some QueryableRecord) -> Bool {
        guard let value = record.value(of: key) else { return isNegative }
        let context = ComparisonContext(zoneID: record.zoneID, key: key)
        return passes(value, context) != isNegative
    }

    private func passes(_ value: FieldValue, _ context: ComparisonContext) -> Bool {
        switch test {
        case .never: return false
        case .isAny(let candidates):
            let value = PreparedValue(value)
            return candidates.contains { $0.isEqual(to: value, context) }
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
            let found = Set(Tokenizer.tokens(of: value))
            return all ? wanted.allSatisfy(found.contains) : wanted.contains(where: found.contains)
        case .listContainsAny(let wanted):
            guard let elements = Self.elements(of: value) else { return false }
            return wanted.contains { wanted in elements.contains { $0.isEqual(to: wanted, context) } }
        case .listContainsAll(let wanted):
            guard let elements = Self.elements(of: value) else { return false }
            return wanted.allSatisfy { wanted in elements.contains { $0.isEqual(to: wanted, context) } }
        case .listMemberBeginsWith(let prefix):
            guard case .list(_, let elements) = value else { return false }
            return elements.contains { element in
                guard case .string(let text) = element else { return false }
                return text.utf8.starts(with: prefix)
            }
        }
    }

    private static func elements(of value: FieldValue) -> [PreparedValue]? {
        guard case .list(_, let elements) = value else { return nil }
        return elements.map(PreparedValue.init)
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

/// A value prepared for comparisons by equality, with its string in `QuerySemantics.equalityForm`.
struct PreparedValue: Sendable {
    private let value: FieldValue
    private let form: [UInt8]

    init(_ value: FieldValue) {
        self.value = value
        if case .string(let text) = value { form = Array(QuerySemantics.equalityForm(text).utf8) } else { form = [] }
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
