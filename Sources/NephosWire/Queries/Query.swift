/// One condition of a query (CloudKit Web Services, Filter).
package struct Filter: Hashable, Sendable {
    package var comparator: FilterComparator
    package var key: QueryKey
    package var fieldValue: Field
    /// Metres; of `NEAR` only.
    package var distance: Double?

    package init(_ key: QueryKey, _ comparator: FilterComparator, _ fieldValue: Field, distance: Double? = nil) {
        self.comparator = comparator
        self.key = key
        self.fieldValue = fieldValue
        self.distance = distance
    }

    package init(_ key: QueryKey, _ comparator: FilterComparator, _ value: FieldValue, distance: Double? = nil) {
        self.init(key, comparator, Field(value), distance: distance)
    }

    /// Matches no record: the form of "none" in `filterBy`.
    package static let matchesNothing = Filter(.system(.recordName), .in, .list(of: .reference, []))

    /// A list of values to compare with may mix integers and other numbers.
    private var valueProblem: String? {
        guard case .list(_, let elements) = fieldValue.value else { return fieldValue.value?.problem }
        return elements.lazy.compactMap(\.problem).first
    }

    fileprivate var problem: String? {
        if let problem = valueProblem { return "the condition on '\(key.displayName)': \(problem)" }
        // A negative distance is a valid condition: nothing lies within it.
        guard let distance, distance.isNaN || distance == .infinity else { return nil }
        return "the condition on '\(key.displayName)': expected a distance in metres, found \(distance)"
    }

    /// The filter that matches the complement, if a single comparator expresses it.
    package var complement: Filter? {
        comparator.complement.map { Filter(key, $0, fieldValue, distance: distance) }
    }
}

/// One criterion of the order of a query's results (CloudKit Web Services, Sort Descriptor).
package struct QuerySortDescriptor: Hashable, Sendable {
    package var key: QueryKey
    package var ascending: Bool
    /// Orders by the distance of the field's location from this one, nearest first.
    package var relativeLocation: LocationValue?

    package init(_ key: QueryKey, ascending: Bool = true, relativeLocation: LocationValue? = nil) {
        self.key = key
        self.ascending = ascending
        self.relativeLocation = relativeLocation
    }
}

/// A query for records, with their order (CloudKit Web Services, Query Dictionary).
package struct Query: Hashable, Sendable {
    package var recordType: String
    /// All filters have to match; an empty array matches every record.
    package var filterBy: [Filter]
    package var sortBy: [QuerySortDescriptor]
    /// Our addition, `nephosFilter` on the wire: a condition that has to match besides `filterBy`. Only
    /// `CloudKitExtras` sends it.
    package var extendedFilter: QueryExpression?

    package init(
        recordType: String, filterBy: [Filter] = [], sortBy: [QuerySortDescriptor] = [],
        extendedFilter: QueryExpression? = nil
    ) {
        self.recordType = recordType
        self.filterBy = filterBy
        self.sortBy = sortBy
        self.extendedFilter = extendedFilter
    }

    /// Why a value in the query is invalid; nil if all are valid.
    package var problem: String? {
        for filter in filterBy + (extendedFilter?.filters ?? []) {
            if let problem = filter.problem { return problem }
        }
        for descriptor in sortBy {
            guard let problem = descriptor.relativeLocation.map(FieldValue.location)?.problem else { continue }
            return "the order by distance from '\(descriptor.key.displayName)': \(problem)"
        }
        return nil
    }

    /// The query's whole condition in normal form.
    package var condition: QueryExpression {
        QueryExpression.and(filterBy.map(QueryExpression.filter) + [extendedFilter].compactMap(\.self)).normalized
    }
}

/// `records/query`.
package struct QueryRecordsRequest: Hashable, Sendable {
    package var query: Query
    /// Nil: the default zone, unless the query is `zoneWide`.
    package var zoneID: ZoneIDDictionary?
    /// Searches every zone of the database; `zoneID` is ignored then.
    package var zoneWide: Bool
    /// The maximum number of records in the answer; nil leaves it to the service.
    package var resultsLimit: Int?
    /// The position after the previous page, which must be of the same query.
    package var continuationMarker: String?
    package var desiredKeys: [String]?
    package var numbersAsStrings: Bool
    /// Our addition, `nephosCount` on the wire: requests the number of matching records, and none of them.
    package var wantsCount: Bool
    /// Our addition, `nephosExplain` on the wire: requests an explanation of the query's execution.
    package var wantsExplanation: Bool

    package init(
        query: Query, zoneID: ZoneIDDictionary? = nil, zoneWide: Bool = false, resultsLimit: Int? = nil,
        continuationMarker: String? = nil, desiredKeys: [String]? = nil, numbersAsStrings: Bool = false,
        wantsCount: Bool = false, wantsExplanation: Bool = false
    ) {
        self.query = query
        self.zoneID = zoneID
        self.zoneWide = zoneWide
        self.resultsLimit = resultsLimit
        self.continuationMarker = continuationMarker
        self.desiredKeys = desiredKeys
        self.numbersAsStrings = numbersAsStrings
        self.wantsCount = wantsCount
        self.wantsExplanation = wantsExplanation
    }
}

/// The answer of `records/query`: one page.
package struct QueryRecordsResponse: Hashable, Sendable {
    /// In the query's order; each names its zone if the query was `zoneWide`.
    package var records: [RecordResult]
    /// The marker for the next request; nil on the last page. A page with a marker may be short or empty.
    package var continuationMarker: String?
    /// The number of matching records, if requested; with a marker only those counted so far.
    package var count: Int?
    package var explanation: QueryExplanation?
    /// The JSON array `records`, instead of `records`, which is then empty: a server writes records while it reads
    /// them.
    package var encodedRecords: JSONBytes?
    /// The current position of the zone's change feed, for clients that request it.
    package var syncToken: String?

    package init(
        records: [RecordResult], continuationMarker: String? = nil, count: Int? = nil,
        explanation: QueryExplanation? = nil
    ) {
        self.records = records
        self.continuationMarker = continuationMarker
        self.count = count
        self.explanation = explanation
    }
}

/// The plan by which the service executed a query: our addition.
package struct QueryExplanation: Hashable, Sendable {
    /// A scanned range of index entries.
    package struct Scan: Hashable, Sendable {
        /// The indexed field's schema name; empty for the records themselves.
        package var field: String
        /// The kind of entry: `QUERYABLE`, `SORTABLE`, `SEARCHABLE`, ….
        package var index: String
        /// The range in words: `= "red"`, `from 3 to 9`, ….
        package var range: String
        package var entriesRead: Int

        package init(field: String, index: String, range: String, entriesRead: Int) {
            self.field = field
            self.index = index
            self.range = range
            self.entriesRead = entriesRead
        }
    }

    package var scans: [Scan]
    /// The residual conditions, checked on the records read, in words.
    package var checkedOnRecords: [String]
    package var entriesRead: Int
    package var recordsRead: Int
    package var recordsReturned: Int
    /// The schema line of an index that would serve more of the query; nil if there is none.
    package var helpfulIndex: String?

    package init(
        scans: [Scan], checkedOnRecords: [String] = [], entriesRead: Int, recordsRead: Int, recordsReturned: Int
    ) {
        self.scans = scans
        self.checkedOnRecords = checkedOnRecords
        self.entriesRead = entriesRead
        self.recordsRead = recordsRead
        self.recordsReturned = recordsReturned
    }
}
