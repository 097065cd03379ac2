/// Bounds of a query. Every page is bounded ("every request is bounded, the state is serialised into a continuation";
/// the Record Layer paper); a page that reaches a bound is short and has a marker.
struct QueryBounds: Sendable {
    /// Records of a response (CloudKit Web Services, Data Size Limits). More are no error; the response omits them.
    var resultsPerPage = 200
    /// Bytes of the fields of a response's records. The record that reaches the bound is the page's last.
    var answerSize = 8 << 20
    /// Conditions of a query, including nested ones, and sort keys: planning compares each with every other.
    var filtersPerQuery = 100
    var sortsPerQuery = 16
    /// Bytes of all filter values of a query: parsing them precedes everything that has a time bound.
    var filterBytesPerQuery = 128 * 1024
    /// Words of one search.
    var tokensPerFilter = 250
    /// Values in an `IN` list: CKError 27/2023, "Query filter exceeds the limit of values: 250".
    var valuesPerFilter = 250
    /// Records or entries that one page examines.
    var candidatesPerPage = 2000
    /// Bytes of fields, and time, that one page reads. It may exceed the bytes by one record.
    var bytesPerPage = 32 << 20
    var timePerPage = Duration.seconds(2)
    /// Candidates and entries that one count request examines; then its response has a marker.
    var candidatesPerCount = 20_000
    var entriesPerCount = 2_000_000
    /// Bytes of the fields of records read for an in-memory sort, and of records held in memory during it.
    var sortedBytes = 64 << 20
    var keptBytes = 8 << 20
    /// Whether to sort records in memory although an index has the order; false once they proved too large.
    var collects = true
    /// Records collected and sorted in memory if a page examines fewer that way.
    var smallSet = 500
    /// Records sorted in memory if no index has the order, or only its first field: then records with the same first
    /// value.
    var unindexedSort = 10_000
    /// Records, and bytes of their fields, that a participant's query examines to sort its matches.
    var sharedRecordsPerSort = 50_000
    var sharedBytesPerSort = 128 << 20
    /// Entries counted at most to find the most selective condition.
    var comparison = 10_000
    /// Ranges of an index that one condition may resolve to.
    var rangesPerScan = 250
    /// Results that a continuation remembers to avoid returning them twice.
    var rememberedResults = 50_000
}
