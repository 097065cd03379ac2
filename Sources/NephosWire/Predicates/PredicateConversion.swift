package import FoundationEssentials

/// Converts a predicate to a query's filters. Only this type contains the rules for supported predicates, so that
/// `CKQuery` refuses the predicates that Apple's framework refuses (CKQuery, Apple's documentation).
package struct PredicateConversion {
    package enum Dialect {
        /// The predicates that Apple's framework accepts.
        case cloudKit
        /// Accepts `OR` too, and `NOT` of any condition: the dialect of `CloudKitExtras`.
        case extended
    }

    let dialect: Dialect
    /// The date that `now()` evaluates to.
    let now: Date

    package static func condition(
        of expression: PredicateTree, _ dialect: Dialect = .cloudKit, now: Date = Date()
    ) throws(PredicateRefusal) -> QueryExpression {
        let conversion = PredicateConversion(dialect: dialect, now: now)
        return try conversion.condition(of: expression, negated: false)
    }

    /// Returns the filters of a query. A record must match all of them.
    package static func filters(
        of expression: PredicateTree, now: Date = Date()
    ) throws(PredicateRefusal) -> [Filter] {
        guard let filters = try condition(of: expression, now: now).conjunctiveFilters else {
            throw PredicateRefusal(
                PredicatePrinter.describe(expression), "a query's conditions are joined by AND", Remedy.or)
        }
        return filters
    }

    enum Remedy {
        static let or = "use IN for several values of one field, run several queries, or use CloudKitExtras"
        static let text = "use BEGINSWITH for the beginning of a text, or self CONTAINS for words in searchable fields"
        static let constant = "compare a field with a constant"
    }

    // MARK: Compounds

    private func condition(
        of expression: PredicateTree, negated: Bool
    ) throws(PredicateRefusal) -> QueryExpression {
        switch expression {
        case .constant(let value):
            return value != negated ? .all : .none
        case .comparison(let comparison):
            return try condition(of: comparison, negated: negated)
        case .not(let inner):
            return try condition(of: inner, negated: !negated)
        case .and(let parts) where parts.count == 1, .or(let parts) where parts.count == 1:
            return try condition(of: parts[0], negated: negated)
        case .and(let parts):
            guard !negated || dialect == .extended else {
                throw PredicateRefusal(
                    "NOT (\(PredicatePrinter.describe(expression)))", "NOT applies to a single comparison", Remedy.or)
            }
            return try compound(parts, joinedByAnd: !negated, negated)
        case .or(let parts):
            guard dialect == .extended || parts.isEmpty else {
                throw PredicateRefusal(PredicatePrinter.describe(expression), "OR is not supported", Remedy.or)
            }
            return try compound(parts, joinedByAnd: negated, negated)
        case .block:
            throw PredicateRefusal(
                "NSPredicate(block:)", "a query cannot run code", "make the predicate from a format")
        }
    }

    private func compound(
        _ parts: [PredicateTree], joinedByAnd: Bool, _ negated: Bool
    ) throws(PredicateRefusal) -> QueryExpression {
        var converted: [QueryExpression] = []
        converted.reserveCapacity(parts.count)
        for part in parts { converted.append(try condition(of: part, negated: negated)) }
        return joinedByAnd ? .and(converted) : .or(converted)
    }

    // MARK: Comparisons

    private func condition(
        of comparison: PredicateComparison, negated: Bool
    ) throws(PredicateRefusal) -> QueryExpression {
        if negated, let opposite = comparison.oppositeOrdering { return try condition(of: opposite, negated: false) }
        let filters = try ComparisonConversion(comparison, dialect, now: now).filters()
        guard negated else {
            return filters.count == 1 ? .filter(filters[0]) : .and(filters.map(QueryExpression.filter))
        }
        if filters.count == 1, let complement = filters[0].complement { return .filter(complement) }
        guard dialect == .extended else {
            throw PredicateRefusal(
                "NOT (\(PredicatePrinter.describe(comparison)))",
                "NOT does not apply to BETWEEN, to a search for words or to a distance",
                "ask without the NOT and leave out what it finds, or use CloudKitExtras")
        }
        return .not(.and(filters.map(QueryExpression.filter)))
    }
}

/// Converts one comparison of a predicate to filters.
struct ComparisonConversion {
    private let comparison: PredicateComparison
    private let dialect: PredicateConversion.Dialect
    private let left: Side
    private let right: Side

    /// One side of a comparison, converted for queries.
    private enum Side {
        case key(QueryKey, name: String)
        case constant(PredicateValue)
        /// `self` or `allTokens`: the words of all searchable fields of a record.
        case allTokens
        /// `tokenize(…)`: the words of a text.
        case tokens(String)
        case distance(QueryKey, LocationValue)
    }

    init(
        _ comparison: PredicateComparison, _ dialect: PredicateConversion.Dialect, now: Date
    ) throws(PredicateRefusal) {
        self.comparison = comparison
        self.dialect = dialect
        left = try Self.side(comparison.left, of: comparison, now: now)
        right = try Self.side(comparison.right, of: comparison, now: now)
    }

    private static func side(
        _ operand: PredicateOperand, of comparison: PredicateComparison, now: Date
    ) throws(PredicateRefusal) -> Side {
        let part = PredicatePrinter.describe(comparison)
        switch operand {
        case .key("allTokens"), .evaluatedObject: return .allTokens
        case .key("now") where comparison.isMoment(operand): return .constant(.date(now))
        case .key(let name): return .key(try QueryKey(predicateKey: name), name: name)
        case .function(PredicateFunction.distance.rawValue, let arguments):
            switch (arguments[0], arguments[1]) {
            case (.key(let name), .constant(.location(let location))),
                (.constant(.location(let location)), .key(let name)):
                return .distance(try QueryKey(predicateKey: name), location)
            default:
                throw PredicateRefusal(
                    part, "a distance is one between a field and a location", "write \(distanceForm)")
            }
        case .function(PredicateFunction.tokenize.rawValue, let arguments):
            guard case .string(let text)? = arguments[0].constantValue else {
                throw PredicateRefusal(part, "tokenize takes a text", "write tokenize(%@, 'Cdl')")
            }
            return .tokens(text)
        case .constant, .function, .list, .variable:
            guard let value = PredicateArithmetic(now: now).value(of: operand) else {
                throw PredicateRefusal(
                    part, "a query computes nothing from fields", PredicateConversion.Remedy.constant)
            }
            return .constant(value)
        }
    }

    private static let distanceForm = "distanceToLocation:fromLocation:(field, %@) < metres"

    private func refusal(_ rule: String, _ remedy: String) -> PredicateRefusal {
        PredicateRefusal(PredicatePrinter.describe(comparison), rule, remedy)
    }

    private var unsupported: PredicateRefusal {
        refusal(
            "\(comparison.modifier.rawValue)\(comparison.operator.rawValue) is not supported between these",
            PredicateConversion.Remedy.constant)
    }

    // MARK: Operators

    func filters() throws(PredicateRefusal) -> [Filter] {
        try checkOptions()
        switch comparison.modifier {
        case .direct: return try directFilters()
        case .any: return [try anyFilter()]
        case .all:
            // ALL tokenize(%@, 'Cdl') IN allTokens
            if case (.tokens(let text), .in, .allTokens) = (left, comparison.operator, right) {
                return [Self.search(text, .containsAllTokens)]
            }
            fallthrough
        case .none:
            throw refusal(
                "\(comparison.modifier.rawValue.dropLast()) is not supported", "use ANY, or NOT with a single value")
        }
    }

    private func checkOptions() throws(PredicateRefusal) {
        guard !comparison.options.isEmpty, !isSearch else { return }
        // Equality in queries ignores case by default, so `[c]` has no further effect.
        let isEquality = [.equals, .notEquals, .in, .contains].contains(comparison.operator)
        guard isEquality, comparison.options == .caseInsensitive, QuerySemantics.equalityIgnoresCase else {
            throw refusal(
                "the options [\(comparison.options.letters)] are not supported",
                comparison.operator == .contains
                    ? "use self CONTAINS %@, which finds words in searchable fields whatever their case and diacritics"
                    : "leave them out; save a simplified copy of the text in a field of its own to compare with")
        }
    }

    private var isSearch: Bool {
        switch (left, right) {
        case (.allTokens, _), (_, .allTokens): true
        default: comparison.operator == .tokenMatches
        }
    }

    private func directFilters() throws(PredicateRefusal) -> [Filter] {
        let operation = comparison.operator
        switch operation {
        case .equals, .notEquals: return [try equality(operation == .equals ? .equals : .notEquals)]
        case .lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals: return [try ordering(operation)]
        case .between: return try between()
        case .in: return [try membership()]
        case .contains: return [try contains()]
        case .beginsWith: return [try prefix(.beginsWith)]
        case .tokenMatches: return [try tokenMatches()]
        case .endsWith, .like, .matches:
            throw refusal("\(operation.rawValue) is not supported", PredicateConversion.Remedy.text)
        }
    }

    private func equality(_ comparator: FilterComparator) throws(PredicateRefusal) -> Filter {
        switch (left, right) {
        case (.key(let key, let name), .constant(let value)), (.constant(let value), .key(let key, let name)):
            return Filter(key, comparator, try fieldValue(value, key, name))
        default: throw unsupported
        }
    }

    private func ordering(_ operation: PredicateComparison.Operator) throws(PredicateRefusal) -> Filter {
        switch (left, right) {
        case (.key(let key, let name), .constant(let value)):
            return try ordering(key, name, operation, value)
        case (.constant(let value), .key(let key, let name)):
            return try ordering(key, name, operation.mirrored ?? operation, value)
        case (.distance(let key, let location), .constant(let value)):
            return try near(key, location, operation, value)
        case (.constant(let value), .distance(let key, let location)):
            return try near(key, location, operation.mirrored ?? operation, value)
        default: throw unsupported
        }
    }

    private func ordering(
        _ key: QueryKey, _ name: String, _ operation: PredicateComparison.Operator, _ value: PredicateValue
    ) throws(PredicateRefusal) -> Filter {
        let value = try fieldValue(value, key, name)
        switch value {
        case .string, .int64, .double, .timestamp: break
        default: throw refusal("only strings, numbers and dates have an order", "use == or IN")
        }
        let comparator: FilterComparator =
            switch operation {
            case .lessThan: .lessThan
            case .lessThanOrEquals: .lessThanOrEquals
            case .greaterThan: .greaterThan
            default: .greaterThanOrEquals
            }
        return Filter(key, comparator, value)
    }

    private func near(
        _ key: QueryKey, _ center: LocationValue, _ operation: PredicateComparison.Operator, _ radius: PredicateValue
    ) throws(PredicateRefusal) -> Filter {
        guard operation == .lessThan || operation == .lessThanOrEquals else {
            throw refusal("a query finds what is inside a circle", "write \(Self.distanceForm)")
        }
        guard let metres = radius.number, metres.isFinite else {
            throw refusal("the radius is \(radius.kind)", "give it in metres, as a number")
        }
        return Filter(key, .near, .location(center), distance: metres)
    }

    private func between() throws(PredicateRefusal) -> [Filter] {
        guard case (.key(let key, let name), .constant(.list(let bounds))) = (left, right), bounds.count == 2 else {
            throw refusal("BETWEEN takes two bounds", "write field BETWEEN {low, high}, or %@ with an array of two")
        }
        return [
            try ordering(key, name, .greaterThanOrEquals, bounds[0]),
            try ordering(key, name, .lessThanOrEquals, bounds[1]),
        ]
    }

    private func membership() throws(PredicateRefusal) -> Filter {
        switch (left, right) {
        case (.key(let key, let name), .constant(.list(let values))):
            return Filter(key, .in, try listValue(values, key, name))
        case (.key, .constant(.string)):
            throw refusal("a field cannot be looked for inside a text", "write field IN {a, b}")
        case (.constant(let value), .key(let key, let name)):
            return Filter(key, .listContains, try fieldValue(value, key, name))
        case (.tokens(let text), .allTokens): return Self.search(text, .containsAllTokens)
        case (.constant(.string(let text)), .allTokens): return Self.search(text, .containsAnyTokens)
        default: throw unsupported
        }
    }

    private func contains() throws(PredicateRefusal) -> Filter {
        switch (left, right) {
        case (.allTokens, .constant(.string(let text))): return Self.search(text, .containsAnyTokens)
        case (.allTokens, .tokens(let text)): return Self.search(text, .containsAllTokens)
        case (.key(let key, let name), .constant(let value)):
            return Filter(key, .listContains, try fieldValue(value, key, name))
        case (.constant(.list(let values)), .key(let key, let name)):
            return Filter(key, .in, try listValue(values, key, name))
        default: throw unsupported
        }
    }

    private func prefix(_ comparator: FilterComparator) throws(PredicateRefusal) -> Filter {
        guard case (.key(let key, _), .constant(let value)) = (left, right) else { throw unsupported }
        guard case .field = key, case .string(let text) = value else {
            throw refusal("BEGINSWITH compares a string field with a string", "use == or IN")
        }
        return Filter(key, comparator, .string(text))
    }

    private func tokenMatches() throws(PredicateRefusal) -> Filter {
        let text: String
        switch right {
        case .constant(.string(let value)), .tokens(let value): text = value
        default: throw refusal("TOKENMATCHES takes a text", "write allTokens TOKENMATCHES[cdl] %@")
        }
        switch left {
        case .allTokens: return Self.search(text, .containsAllTokens)
        case .key(let key, _) where dialect == .extended: return Filter(key, .containsAllTokens, .string(text))
        default:
            throw refusal("words are searched in all searchable fields", "write allTokens TOKENMATCHES[cdl] %@")
        }
    }

    private static func search(_ text: String, _ comparator: FilterComparator) -> Filter {
        Filter(.allSearchableFields, comparator, .string(text))
    }

    /// `ANY tags == %@`, `ANY {a, b} == name`, `ANY tags BEGINSWITH %@`, `ANY tags IN %@`
    private func anyFilter() throws(PredicateRefusal) -> Filter {
        switch (comparison.operator, left, right) {
        case (.equals, .constant(.list(let values)), .key(let key, let name)):
            return Filter(key, .in, try listValue(values, key, name))
        case (.equals, .key(let key, let name), .constant(let value)),
            (.equals, .constant(let value), .key(let key, let name)):
            return Filter(key, .listContains, try fieldValue(value, key, name))
        case (.in, .key(let key, let name), .constant(.list(let values))):
            return Filter(key, .listContainsAny, try listValue(values, key, name))
        case (.in, .constant(.list(let values)), .key(let key, let name)):
            return Filter(key, .listContainsAny, try listValue(values, key, name))
        case (.in, .tokens(let text), .allTokens): return Self.search(text, .containsAnyTokens)
        case (.beginsWith, _, _): return try prefix(.listMemberBeginsWith)
        default:
            throw refusal(
                "ANY is not supported with \(comparison.operator.rawValue) between these",
                "write ANY list == %@, ANY list BEGINSWITH %@ or list CONTAINS %@")
        }
    }

    // MARK: Values

    private func fieldValue(
        _ value: PredicateValue, _ key: QueryKey, _ name: String
    ) throws(PredicateRefusal) -> FieldValue {
        let converted: FieldValue =
            switch value {
            case .string(let text): name == "recordName" ? .reference(ReferenceValue(recordName: text)) : .string(text)
            case .bool(let value): .int64(value ? 1 : 0)
            case .integer(let value): .int64(value)
            case .unsigned(let value):
                if let number = Int64(exactly: value) {
                    .int64(number)
                } else {
                    throw refusal("the number \(value) is beyond 64 bits with a sign", "compare with a smaller number")
                }
            case .double(let value): .double(value)
            case .date(let date): .timestamp(Timestamp(date))
            case .location(let location): .location(location)
            case .reference(let reference): .reference(Self.named(reference))
            case .recordID(let id): .reference(Self.named(id))
            case .null:
                throw refusal(
                    "fields cannot be compared with nil", "save a value that stands for none, and compare with that")
            case .list: throw refusal("\(name) is compared with a list", "use IN, or CONTAINS for a list field")
            case .data, .asset, .unsupported:
                throw refusal(
                    "fields cannot be compared with \(value.kind)",
                    "a query takes strings, numbers, dates, locations, references and record IDs")
            }
        if case .double(let number) = converted, !number.isFinite {
            throw refusal("the number is not finite", "compare with a number")
        }
        if case .system(let field) = key, converted.type != field.type {
            let expected = field.type == .timestamp ? "a date" : "a record ID or a reference"
            throw refusal("\(name) is compared with \(value.kind)", "compare it with \(expected)")
        }
        return converted
    }

    private func listValue(
        _ values: [PredicateValue], _ key: QueryKey, _ name: String
    ) throws(PredicateRefusal) -> FieldValue {
        var elements: [FieldValue] = []
        elements.reserveCapacity(values.count)
        for value in values { elements.append(try fieldValue(value, key, name)) }
        guard let first = elements.first else {
            if case .system(let field) = key { return .list(of: field.type.scalar, []) }
            return .list(of: .unknown, [])
        }
        if elements.allSatisfy({ $0.type == first.type }) { return .list(of: first.type.scalar, elements) }
        var numbers: [FieldValue] = []
        for element in elements {
            switch element {
            case .int64(let number):
                guard let double = Double(exactly: number) else {
                    throw refusal(
                        "the list has fractions and the integer \(number), which is none of a double's values",
                        "give integers alone")
                }
                numbers.append(.double(double))
            case .double: numbers.append(element)
            default: throw refusal("the values of the list differ in type", "give values of one type")
            }
        }
        return .list(of: .double, numbers)
    }

    /// Returns the reference in the form for queries: with its zone and without its action, which is irrelevant.
    private static func named(_ reference: ReferenceValue) -> ReferenceValue {
        ReferenceValue(recordName: reference.recordName, zoneID: reference.zoneID)
    }
}

extension PredicateComparison {
    /// Whether `operand`, a key named `now`, means the current time in this comparison, not a field of that name. On
    /// the right side it means the time. On the left side it means the time only if the right side is another key.
    fileprivate func isMoment(_ operand: PredicateOperand) -> Bool {
        guard left != right else { return false }
        if right == operand { return true }
        if case .key = right { return true }
        return false
    }
}
