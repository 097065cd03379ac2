/// The bounds of a query. Every page is bounded ("every request is bounded, the state is serialised into a
/// continuation"; the Record Layer paper). A page that reaches a bound is short and has a marker.
struct QueryBounds: Sendable {
    /// The maximum number of records per response (CloudKit Web Services, Data Size Limits). A request for more is no
    /// error; the response has this number.
    var resultsPerPage = 200
    /// The number of bytes of record fields per response at which a page ends. The record that reaches the bound is the
    /// page's last.
    var answerSize = 8 << 20
    /// The maximum number of conditions per query, including nested ones: planning compares each condition with every
    /// other.
    var filtersPerQuery = 100
    /// The maximum number of sort keys per query.
    var sortsPerQuery = 16
    /// The maximum number of bytes of all filter values per query: they are parsed before any time bound applies.
    var filterBytesPerQuery = 128 * 1024
    /// The maximum number of words per search.
    var tokensPerFilter = 250
    /// The maximum number of values per `IN` list: CKError 27/2023, "Query filter exceeds the limit of values: 250".
    var valuesPerFilter = 250
    /// The maximum number of values per query with which lists are compared. Each is compared with all elements of a
    /// list.
    var listValuesPerQuery = 1000
    /// The maximum number of records or entries that one page examines.
    var candidatesPerPage = 2000
    /// The maximum number of bytes of fields that one page reads. A page may exceed it by one record.
    var bytesPerPage = 32 << 20
    /// The maximum time for which one page reads.
    var timePerPage = Duration.seconds(2)
    /// The maximum number of candidates that one count request examines. The response then has a marker.
    var candidatesPerCount = 20_000
    /// The maximum number of index entries that one count request examines. The response then has a marker.
    var entriesPerCount = 2_000_000
    /// The maximum number of bytes of record fields that are read for one in-memory sort.
    var sortedBytes = 64 << 20
    /// The maximum number of bytes of record fields that are held in memory during one in-memory sort.
    var keptBytes = 8 << 20
    /// Whether records may be sorted in memory although an index has the order; false once the records proved too
    /// large.
    var collects = true
    /// The maximum number of records that are collected and sorted in memory if a page thereby examines fewer records.
    var smallSet = 500
    /// The maximum number of records that are sorted in memory if no index has the order. If an index has only the
    /// first field of the order, this is the maximum per value of that field.
    var unindexedSort = 10_000
    /// The maximum number of records that a participant's query examines to sort its matches.
    var sharedRecordsPerSort = 50_000
    /// The maximum number of bytes of record fields that a participant's query examines to sort its matches.
    var sharedBytesPerSort = 128 << 20
    /// The maximum number of entries that are counted to find the most selective condition.
    var comparison = 10_000
    /// The maximum number of index ranges to which one condition resolves.
    var rangesPerScan = 250
    /// The maximum number of results that a continuation remembers, so that it does not return a result twice.
    var rememberedResults = 50_000
}
