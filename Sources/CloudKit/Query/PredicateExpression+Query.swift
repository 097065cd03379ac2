import Foundation
import NephosWire

// The inverse of `PredicateConversion`: it converts a query in the form for the service to an equivalent predicate.

extension PredicateTree {
    /// Creates the predicate of a query's condition. The service knows the current user as `currentUserRecordName`.
    init(_ query: Query, currentUserRecordName user: String?) {
        if query.extendedFilter == nil, query.filterBy == [.matchesNothing] {
            self = .constant(false)
        } else {
            var parts = query.filterBy.map { PredicateTree($0, user) }
            if let extended = query.extendedFilter { parts.append(PredicateTree(extended, user)) }
            self = Self.all(parts)
        }
    }

    private static func all(_ parts: [PredicateTree]) -> PredicateTree {
        switch parts.count {
        case 0: .constant(true)
        case 1: parts[0]
        default: .and(parts)
        }
    }

    private init(_ condition: QueryExpression, _ user: String?) {
        switch condition {
        case .all: self = .constant(true)
        case .none: self = .constant(false)
        case .filter(let filter): self.init(filter, user)
        case .and(let parts): self = .and(parts.map { PredicateTree($0, user) })
        case .or(let parts): self = .or(parts.map { PredicateTree($0, user) })
        case .not(let inner): self = .not(PredicateTree(inner, user))
        }
    }

    private init(_ filter: Filter, _ user: String?) {
        if filter.comparator.isNegative, filter.comparator != .notEquals, let positive = filter.complement {
            self = .not(PredicateTree(positive, user))
            return
        }
        let key = PredicateOperand(filter.key)
        let value = filter.fieldValue.value.map { PredicateValue(wire: $0, user) } ?? .null
        func comparison(
            _ operation: PredicateComparison.Operator, _ modifier: PredicateComparison.Modifier = .direct,
            to right: PredicateOperand? = nil
        ) -> PredicateTree {
            .comparison(
                PredicateComparison(
                    modifier: modifier, left: key, operator: operation, right: right ?? .constant(value)))
        }
        switch filter.comparator {
        case .near:
            let distance = PredicateOperand.function(PredicateOperand.distanceFunction, [key, .constant(value)])
            self = .comparison(
                PredicateComparison(
                    left: distance, operator: .lessThan, right: .constant(.double(filter.distance ?? 0))))
        case .listContainsAll:
            guard case .list(let values) = value else {
                self = comparison(.contains)
                return
            }
            self = Self.all(values.map { comparison(.contains, to: .constant($0)) })
        case .containsAllTokens where filter.key == .allSearchableFields:
            let tokens = PredicateOperand.function(
                PredicateFunction.tokenize.rawValue, [.constant(value), .constant(.string("Cdl"))])
            self = comparison(.contains, to: tokens)
        default:
            guard let (operation, modifier) = filter.comparator.predicateOperator else {
                self = .constant(false)
                return
            }
            self = comparison(operation, modifier)
        }
    }
}

extension FilterComparator {
    /// The operator of a comparison with the value as it is; nil where there is none.
    fileprivate var predicateOperator: (PredicateComparison.Operator, PredicateComparison.Modifier)? {
        switch self {
        case .equals: (.equals, .direct)
        case .notEquals: (.notEquals, .direct)
        case .lessThan: (.lessThan, .direct)
        case .lessThanOrEquals: (.lessThanOrEquals, .direct)
        case .greaterThan: (.greaterThan, .direct)
        case .greaterThanOrEquals: (.greaterThanOrEquals, .direct)
        case .in: (.in, .direct)
        case .beginsWith: (.beginsWith, .direct)
        case .listContains, .containsAnyTokens: (.contains, .direct)
        case .listMemberBeginsWith: (.beginsWith, .any)
        case .listContainsAny: (.in, .any)
        case .containsAllTokens: (.tokenMatches, .direct)
        case .near, .listContainsAll: nil
        // These have a complement, which is converted.
        case .notIn, .notBeginsWith, .notListContains, .notListContainsAny, .notListMemberBeginsWith,
            .notListContainsAll:
            nil
        }
    }
}

extension PredicateOperand {
    fileprivate init(_ key: QueryKey) {
        switch key {
        case .field(let name): self = .key(name)
        case .system(.recordName): self = .key("recordID")
        case .system(.createdTimestamp): self = .key("creationDate")
        case .system(.modifiedTimestamp): self = .key("modificationDate")
        case .system(.createdUserRecordName): self = .key("creatorUserRecordID")
        case .system(.modifiedUserRecordName): self = .key("lastModifiedUserRecordID")
        case .system(let field): self = .key(field.schemaName)
        case .allSearchableFields: self = .evaluatedObject
        }
    }
}

extension PredicateValue {
    /// Creates the expression for a value of the service.
    fileprivate init(wire: FieldValue, _ user: String?) {
        self.init(RecordValue(wire: wire, in: WireContext(zoneID: .default, currentUserRecordName: user)))
    }
}
