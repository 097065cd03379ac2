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
        case .equals: self = comparison(.equals)
        case .notEquals: self = comparison(.notEquals)
        case .lessThan: self = comparison(.lessThan)
        case .lessThanOrEquals: self = comparison(.lessThanOrEquals)
        case .greaterThan: self = comparison(.greaterThan)
        case .greaterThanOrEquals: self = comparison(.greaterThanOrEquals)
        case .near:
            let distance = PredicateOperand.function(PredicateOperand.distanceFunction, [key, .constant(value)])
            self = .comparison(
                PredicateComparison(
                    left: distance, operator: .lessThan, right: .constant(.double(filter.distance ?? 0))))
        case .in: self = comparison(.in)
        case .beginsWith: self = comparison(.beginsWith)
        case .listContains: self = comparison(.contains)
        case .listMemberBeginsWith: self = comparison(.beginsWith, .any)
        case .listContainsAny: self = comparison(.in, .any)
        case .listContainsAll:
            guard case .list(let values) = value else {
                self = comparison(.contains)
                return
            }
            self = Self.all(values.map { comparison(.contains, to: .constant($0)) })
        case .containsAnyTokens: self = comparison(.contains)
        case .containsAllTokens:
            self =
                filter.key == .allSearchableFields
                ? comparison(
                    .contains,
                    to: .function(PredicateFunction.tokenize.rawValue, [.constant(value), .constant(.string("Cdl"))]))
                : comparison(.tokenMatches)
        case .notIn, .notBeginsWith, .notListContains, .notListContainsAny, .notListMemberBeginsWith,
            .notListContainsAll:
            // Each of these operators has a complement, which the code above converts.
            self = .constant(false)
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
