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
    /// Bytes of the values of all filters of a query: taking them apart goes before everything that is bounded in time.
    var filterBytesPerQuery = 128 * 1024
    /// Words that one search looks for.
    var tokensPerFilter = 250
    /// Values in an `IN` list: CKError 27/2023, "Query filter exceeds the limit of values: 250".
    var valuesPerFilter = 250
    /// Records or entries that one page looks at.
    var candidatesPerPage = 2000
    /// Bytes of fields, and time, that one page reads at most, but for the last record's.
    var bytesPerPage = 32 << 20
    var timePerPage = Duration.seconds(2)
    /// The same of the candidates and of the entries that one request to count looks at: then its answer has a marker.
    var candidatesPerCount = 20_000
    var entriesPerCount = 2_000_000
    /// Bytes of the fields of records that are read to be sorted in memory, and of those that stay in memory meanwhile.
    var sortedBytes = 64 << 20
    var keptBytes = 8 << 20
    /// Whether records may be sorted in memory where an index has the order: not where they turned out too large.
    var collects = true
    /// Records that are collected and sorted in memory, where that spares a page from looking at more.
    var smallSet = 500
    /// Records that are sorted in memory where no index has the order, or none the whole of it: of those whose first value is
    /// the same.
    var unindexedSort = 10_000
    /// Records, and bytes of their fields, that a participant's query examines to sort those that match.
    var sharedRecordsPerSort = 50_000
    var sharedBytesPerSort = 128 << 20
    /// How far entries are counted to find out which condition is the strictest.
    var comparison = 10_000
    /// Ranges of an index that one condition may resolve to.
    var rangesPerScan = 250
    /// Results that a continuation remembers, so as not to give them twice.
    var rememberedResults = 50_000
}
