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
        // Also where filters would do: a strict service refuses the dialect, however the query's values turn out.
        let condition = try PredicateConversion.condition(of: predicate, .extended).normalized
        guard condition.depth <= QueryExpression.depthLimit else {
            throw PredicateRefusal(
                "the predicate", "it nests deeper than \(QueryExpression.depthLimit) levels", "simplify it")
        }
        extendedFilter = condition
    }
}
