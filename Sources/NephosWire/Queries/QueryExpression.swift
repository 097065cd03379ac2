/// A query's condition as a tree. CloudKit's own queries are only conjunctions of filters; `CloudKitExtras` uses the
/// other cases too.
package indirect enum QueryExpression: Hashable, Sendable {
    /// Matches every record.
    case all
    /// Matches no record.
    case none
    case filter(Filter)
    case and([QueryExpression])
    case or([QueryExpression])
    /// Matches the records that the inner expression does not match.
    case not(QueryExpression)

    /// The maximum number of nested levels per expression on the wire. Each level takes two of the 64 levels of a JSON
    /// document.
    package static let depthLimit = 24

    /// The number of nested levels of the expression.
    package var depth: Int {
        switch self {
        case .all, .none, .filter: 1
        case .not(let inner): 1 + inner.depth
        case .and(let parts), .or(let parts): 1 + (parts.map(\.depth).max() ?? 0)
        }
    }

    /// The equivalent condition in the normal form that all other code expects. Negations apply only to single filters
    /// without a complementary comparator. Conjunctions and disjunctions are flat, with two or more distinct parts.
    /// `all` and `none` occur only as the whole condition.
    package var normalized: QueryExpression { normalized(negated: false) }

    private func normalized(negated: Bool) -> QueryExpression {
        switch self {
        case .all: return negated ? .none : .all
        case .none: return negated ? .all : .none
        case .filter(let filter):
            guard negated else { return self }
            return filter.complement.map(QueryExpression.filter) ?? .not(self)
        case .not(let inner): return inner.normalized(negated: !negated)
        case .and(let parts):
            return negated ? Self.disjunction(of: parts, negated: true) : Self.conjunction(of: parts, negated: false)
        case .or(let parts):
            return negated ? Self.conjunction(of: parts, negated: true) : Self.disjunction(of: parts, negated: false)
        }
    }

    private static func conjunction(of parts: [QueryExpression], negated: Bool) -> QueryExpression {
        var flat = UniqueParts()
        for part in parts {
            switch part.normalized(negated: negated) {
            case .all: continue
            case .none: return .none
            case .and(let inner): for part in inner { flat.add(part) }
            case let part: flat.add(part)
            }
        }
        return flat.parts.count < 2 ? flat.parts.first ?? .all : .and(flat.parts)
    }

    private static func disjunction(of parts: [QueryExpression], negated: Bool) -> QueryExpression {
        var flat = UniqueParts()
        for part in parts {
            switch part.normalized(negated: negated) {
            case .none: continue
            case .all: return .all
            case .or(let inner): for part in inner { flat.add(part) }
            case let part: flat.add(part)
            }
        }
        return flat.parts.count < 2 ? flat.parts.first ?? .none : .or(flat.parts)
    }

    private struct UniqueParts {
        var parts: [QueryExpression] = []
        private var seen: Set<QueryExpression> = []

        mutating func add(_ part: QueryExpression) {
            if seen.insert(part).inserted { parts.append(part) }
        }
    }

    /// The filters for `filterBy` that express this condition; nil if it is not a conjunction of filters.
    package var conjunctiveFilters: [Filter]? {
        switch normalized {
        case .all: return []
        case .none: return [.matchesNothing]
        case .filter(let filter): return [filter]
        case .and(let parts):
            var filters: [Filter] = []
            for part in parts {
                guard case .filter(let filter) = part else { return nil }
                filters.append(filter)
            }
            return filters
        case .or, .not: return nil
        }
    }

    /// All filters in the expression, from left to right.
    var filters: [Filter] {
        switch self {
        case .all, .none: []
        case .filter(let filter): [filter]
        case .not(let inner): inner.filters
        case .and(let parts), .or(let parts): parts.flatMap(\.filters)
        }
    }

    /// Returns the condition with every filter transformed.
    package func mapFilters<E: Error>(_ transform: (Filter) throws(E) -> Filter) throws(E) -> QueryExpression {
        switch self {
        case .all, .none: return self
        case .filter(let filter): return .filter(try transform(filter))
        case .not(let inner): return .not(try inner.mapFilters(transform))
        case .and(let parts):
            var mapped: [QueryExpression] = []
            for part in parts { mapped.append(try part.mapFilters(transform)) }
            return .and(mapped)
        case .or(let parts):
            var mapped: [QueryExpression] = []
            for part in parts { mapped.append(try part.mapFilters(transform)) }
            return .or(mapped)
        }
    }
}
