/// A filter's comparison of a field with a value (CloudKit Web Services, Filter).
package enum FilterComparator: String, Hashable, Sendable, CaseIterable {
    case equals = "EQUALS"
    case notEquals = "NOT_EQUALS"
    case lessThan = "LESS_THAN"
    case lessThanOrEquals = "LESS_THAN_OR_EQUALS"
    case greaterThan = "GREATER_THAN"
    case greaterThanOrEquals = "GREATER_THAN_OR_EQUALS"
    case near = "NEAR"
    case containsAllTokens = "CONTAINS_ALL_TOKENS"
    case `in` = "IN"
    case notIn = "NOT_IN"
    case containsAnyTokens = "CONTAINS_ANY_TOKENS"
    case listContains = "LIST_CONTAINS"
    case notListContains = "NOT_LIST_CONTAINS"
    case notListContainsAny = "NOT_LIST_CONTAINS_ANY"
    case beginsWith = "BEGINS_WITH"
    case notBeginsWith = "NOT_BEGINS_WITH"
    case listMemberBeginsWith = "LIST_MEMBER_BEGINS_WITH"
    case notListMemberBeginsWith = "NOT_LIST_MEMBER_BEGINS_WITH"
    case listContainsAll = "LIST_CONTAINS_ALL"
    case notListContainsAll = "NOT_LIST_CONTAINS_ALL"
    case listContainsAny = "LIST_CONTAINS_ANY"

    /// The comparator that matches exactly the other records, those without the field included; nil if there is none.
    package var complement: FilterComparator? {
        switch self {
        case .equals: .notEquals
        case .notEquals: .equals
        case .in: .notIn
        case .notIn: .in
        case .beginsWith: .notBeginsWith
        case .notBeginsWith: .beginsWith
        case .listContains: .notListContains
        case .notListContains: .listContains
        case .listContainsAny: .notListContainsAny
        case .notListContainsAny: .listContainsAny
        case .listContainsAll: .notListContainsAll
        case .notListContainsAll: .listContainsAll
        case .listMemberBeginsWith: .notListMemberBeginsWith
        case .notListMemberBeginsWith: .listMemberBeginsWith
        case .lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals, .near, .containsAllTokens,
            .containsAnyTokens:
            nil
        }
    }

    /// Whether this is one of the `NOT_…` comparators, which match records without the field.
    package var isNegative: Bool {
        switch self {
        case .notEquals, .notIn, .notBeginsWith, .notListContains, .notListContainsAny, .notListContainsAll,
            .notListMemberBeginsWith:
            true
        default: false
        }
    }

    /// The comparator that a `NOT_…` comparator negates. For any other comparator, the comparator itself.
    package var positive: FilterComparator { isNegative ? complement ?? self : self }

    /// Whether the filter's value is a list of alternatives.
    package var takesList: Bool {
        switch positive {
        case .in, .listContainsAny, .listContainsAll: true
        default: false
        }
    }

    /// Whether the comparator applies to a list field.
    package var needsListField: Bool {
        switch positive {
        case .listContains, .listContainsAny, .listContainsAll, .listMemberBeginsWith: true
        default: false
        }
    }

    /// Whether the comparator searches full text, and so needs a SEARCHABLE field.
    package var isFullText: Bool { self == .containsAllTokens || self == .containsAnyTokens }

    /// Whether the comparator compares by order, and so needs a SORTABLE field.
    package var isOrdering: Bool {
        switch self {
        case .lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals: true
        default: false
        }
    }
}
