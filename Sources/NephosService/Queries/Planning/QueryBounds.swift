/// How much a query may do. Every page is bounded ("every request is bounded, the state is serialised into a
/// continuation"; the Record Layer paper); a page that meets a bound is short and has a marker.
struct QueryBounds: Sendable {
    /// Records of an answer: CloudKit Web Services, Data Size Limits. More are not an error, they are not sent.
    var resultsPerPage = 200
    /// Bytes of the fields of an answer's records, but for the last one's: then the page ends.
    var answerSize = 8 << 20
    /// Conditions of a query, those in others included, and keys of its order: planning looks at each with each other.
    var filtersPerQuery = 100
    var sortsPerQuery = 16
    /// Words that one search looks for.
    var tokensPerFilter = 250
    /// Values in an `IN` list: CKError 27/2023, "Query filter exceeds the limit of values: 250".
    var valuesPerFilter = 250
    /// Records or entries that one page looks at.
    var candidatesPerPage = 2000
    /// Records that are collected and sorted in memory, where that spares a page from looking at more.
    var smallSet = 500
    /// Records that are sorted in memory where no index has the order.
    var unindexedSort = 10_000
    /// How far entries are counted to find out which condition is the strictest.
    var comparison = 10_000
    /// Ranges of an index that one condition may come to.
    var rangesPerScan = 250
    /// Indexes of several fields that queries may make for a record type.
    var compositesPerType = 24
    /// Results that a continuation remembers, so as not to give them twice.
    var rememberedResults = 50_000
}
