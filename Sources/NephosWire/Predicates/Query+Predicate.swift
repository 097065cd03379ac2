extension Query {
    /// Creates a query for the records of a type that match a predicate. Throws if queries do not support the
    /// predicate.
    package init(
        recordType: String, predicate: PredicateTree, _ dialect: PredicateConversion.Dialect,
        sortBy: [QuerySortDescriptor] = []
    ) throws(PredicateRefusal) {
        self.init(recordType: recordType, sortBy: sortBy)
        guard dialect == .extended else {
            filterBy = try PredicateConversion.filters(of: predicate)
            return
        }
        let condition = try PredicateConversion.condition(of: predicate, .extended).normalized
        if let filters = condition.conjunctiveFilters {
            filterBy = filters
        } else if condition.depth <= QueryExpression.depthLimit {
            extendedFilter = condition
        } else {
            throw PredicateRefusal(
                "the predicate", "it nests deeper than \(QueryExpression.depthLimit) levels", "simplify it")
        }
    }
}
