import NephosWire

/// How the service found the records of a page of a query. Not part of Apple's API.
public struct QueryExplanation: Hashable, Sendable, CustomStringConvertible {
    /// An index that was read.
    public struct Scan: Hashable, Sendable {
        /// The fields it is of, by their names in the schema; empty for the list of all records of the type.
        public var fields: [String]
        /// For each field, how it is in the index: `QUERYABLE`, `SORTABLE`, `SEARCHABLE` or `LOCATION`.
        public var options: [String]
        /// The conditions it answered, in words.
        public var conditions: String
        /// How many of its entries were read.
        public var entriesRead: Int
    }

    /// The indexes that were read, in the order in which reading began.
    public var scans: [Scan]
    /// The conditions that no index answered alone, in words: they were checked on records.
    public var checkedOnRecords: [String]
    /// Entries of indexes that were read, those that were counted to choose an index included.
    public var entriesRead: Int
    /// Records that were read.
    public var recordsRead: Int
    /// Records of the page.
    public var recordsReturned: Int
    /// The line for the schema of an index that would answer more of the query, as several fields have one index only
    /// where the schema declares it; nil where none would.
    public var helpfulIndex: String?
    /// Whether more records may match than the page has.
    public var hasMore: Bool

    /// As `nephos query --explain` prints it.
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
