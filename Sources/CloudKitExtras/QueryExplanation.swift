import NephosWire

/// The plan and the cost of one page of a query: how the service found the page's records. Not part of Apple's API.
public struct QueryExplanation: Hashable, Sendable, CustomStringConvertible {
    /// One scan of an index.
    public struct Scan: Hashable, Sendable {
        /// The names in the schema of the index's fields; empty for the list of all records of the type.
        public var fields: [String]
        /// The kinds of index, one per field: `QUERYABLE`, `SORTABLE`, `SEARCHABLE` or `LOCATION`.
        public var options: [String]
        /// The conditions that the index answered, as text.
        public var conditions: String
        /// The number of entries read from the index.
        public var entriesRead: Int
    }

    /// The index scans, in the order in which they began.
    public var scans: [Scan]
    /// The conditions that no index answered alone, as text. The service checked them on the records.
    public var checkedOnRecords: [String]
    /// The number of index entries read, including the entries that were counted to choose an index.
    public var entriesRead: Int
    /// The number of records examined.
    public var recordsRead: Int
    /// The number of records in the page.
    public var recordsReturned: Int
    /// The schema's line for an index that would answer more of the query; nil if no index would. An index over several
    /// fields exists only if the schema declares it.
    public var helpfulIndex: String?
    /// Whether more records can match than the page contains.
    public var hasMore: Bool

    /// The explanation in the form in which `nephos query --explain` prints it.
    public let description: String

    init(_ explanation: NephosWire.QueryExplanation, hasMore: Bool) {
        scans = explanation.scans.map { scan in
            Scan(
                fields: scan.field.split(separator: ", ").map(String.init),
                options: scan.index.split(separator: ", ").map(String.init), conditions: scan.range,
                entriesRead: scan.entriesRead)
        }
        checkedOnRecords = explanation.checkedOnRecords
        entriesRead = explanation.entriesRead
        recordsRead = explanation.recordsRead
        recordsReturned = explanation.recordsReturned
        helpfulIndex = explanation.helpfulIndex
        self.hasMore = hasMore
        description = explanation.lines(hasMore: hasMore).joined(separator: "\n")
    }
}
