/// One condition of a query (CloudKit Web Services, Filter).
package struct Filter: Hashable, Sendable {
    package var comparator: FilterComparator
    package var key: QueryKey
    package var fieldValue: Field
    /// The radius of `NEAR` in metres; nil for other comparators.
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

    /// The filter that matches no record: the form in `filterBy` of a condition that is always false.
    package static let matchesNothing = Filter(.system(.recordName), .in, .list(of: .reference, []))

    /// The reason why the filter's value is invalid; nil if it is valid. A list of values can mix integers and other
    /// numbers, so each element is checked by itself.
    private var valueProblem: String? {
        guard case .list(_, let elements) = fieldValue.value else { return fieldValue.value?.problem }
        return elements.lazy.compactMap(\.problem).first
    }

    fileprivate var problem: String? {
        if let problem = valueProblem { return "the condition on '\(key.displayName)': \(problem)" }
        // A negative distance is valid: no record lies within it.
        guard let distance, distance.isNaN || distance == .infinity else { return nil }
        return "the condition on '\(key.displayName)': expected a distance in metres, found \(distance)"
    }

    /// The filter that matches exactly the other records; nil if no comparator expresses it.
    package var complement: Filter? {
        comparator.complement.map { Filter(key, $0, fieldValue, distance: distance) }
    }
}

/// One criterion of the order of a query's results (CloudKit Web Services, Sort Descriptor).
package struct QuerySortDescriptor: Hashable, Sendable {
    package var key: QueryKey
    package var ascending: Bool
    /// The location for ordering by distance: records whose field is nearest to it come first. Nil to order by the
    /// field's value.
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
    /// The filters, all of which a record must match. If empty, the query matches every record.
    package var filterBy: [Filter]
    package var sortBy: [QuerySortDescriptor]
    /// Our addition, `nephosFilter` on the wire: a condition that a record must match in addition to `filterBy`; nil if
    /// there is none. Only `CloudKitExtras` sends it.
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

    /// The reason why a value in the query is invalid; nil if all values are valid.
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

    /// The query's whole condition, `filterBy` and `extendedFilter`, in normal form.
    package var condition: QueryExpression {
        QueryExpression.and(filterBy.map(QueryExpression.filter) + [extendedFilter].compactMap(\.self)).normalized
    }
}

/// The request of `records/query`.
package struct QueryRecordsRequest: Hashable, Sendable {
    package var query: Query
    /// The zone to search; nil for the default zone, unless `zoneWide` is true.
    package var zoneID: ZoneIDDictionary?
    /// Whether to search every zone of the database. If so, `zoneID` is ignored.
    package var zoneWide: Bool
    /// The maximum number of records per answer; nil leaves the limit to the service.
    package var resultsLimit: Int?
    /// The marker from the previous page of the same query; nil for the first page.
    package var continuationMarker: String?
    package var desiredKeys: [String]?
    package var numbersAsStrings: Bool
    /// Our addition, `nephosCount` on the wire: whether the answer returns the number of matching records instead of
    /// the records.
    package var wantsCount: Bool
    /// Our addition, `nephosExplain` on the wire: whether the answer explains the query's execution.
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

/// The answer of `records/query`: one page of records.
package struct QueryRecordsResponse: Hashable, Sendable {
    /// The records in the query's order. Each record names its zone if the query was `zoneWide`.
    package var records: [RecordResult]
    /// The marker for the request of the next page; nil on the last page. A page with a marker can be short or empty.
    package var continuationMarker: String?
    /// The number of matching records; nil if not requested. If there is a marker, only the number of records counted
    /// so far.
    package var count: Int?
    package var explanation: QueryExplanation?
    /// The encoded JSON array of the records. If it is not nil, `records` is empty. A server fills it, because the
    /// server encodes records while it reads them.
    package var encodedRecords: JSONBytes?
    /// The current position in the zone's change feed, for clients that request it.
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

/// The plan by which the service executed a query; our addition.
package struct QueryExplanation: Hashable, Sendable {
    /// A scan of a range of index entries.
    package struct Scan: Hashable, Sendable {
        /// The indexed field's name in the schema; empty for a scan of the records themselves.
        package var field: String
        /// The kind of index: `QUERYABLE`, `SORTABLE`, `SEARCHABLE`, ….
        package var index: String
        /// The scanned range in words: `= "red"`, `from 3 to 9`, ….
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
    /// The residual conditions in words. The service checked them on the records it read.
    package var checkedOnRecords: [String]
    package var entriesRead: Int
    package var recordsRead: Int
    package var recordsReturned: Int
    /// The schema's line for an index that would answer more of the query; nil if there is none.
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
