import NephosStorage
import NephosWire

/// A validated query, whose values are converted to the types of their fields.
struct ValidQuery: Sendable {
    var recordType: String
    /// The condition in normal form.
    var condition: QueryExpression
    var sort: [QuerySortDescriptor]
    /// The fields of a search that names no field.
    var searchableFields: [String]
    /// The numeric and date fields, which no index truncates.
    var numericFields: Set<String> = []
    /// The restriction to the caller's own records; nil if the caller may read all records.
    var restriction: CreatorRestriction?
}

/// The condition that is added to a query if only the creator of a record may read it.
struct CreatorRestriction: Sendable {
    /// The ID of the caller's account.
    var account: Int64
    /// The added condition, which is one of the query's conditions.
    var filter: Filter
}

/// Validates queries (CKQuery, Apple's documentation; CloudKit Web Services, records/query):
///
/// - the type exists and is not `Users`;
/// - a query without a condition needs `___recordID` QUERYABLE;
/// - equality and membership need a QUERYABLE field, orderings and prefixes a SORTABLE field, searches a SEARCHABLE
///   field, and `NEAR` a QUERYABLE or SORTABLE field;
/// - a comparator fits the field's type; lists have comparators of their own;
/// - `parent` and `share` are the type's fields of that name if it has them, else the record's own parent and share;
/// - a value has the field's type; INT64 and DOUBLE count as one type, and an untyped value may be read as the field's
///   type;
/// - a sort key is SORTABLE; a location sorts only by distance;
/// - encrypted fields, BYTES and assets cannot be queried. Sorting by an encrypted field has no effect.
struct QueryValidation {
    let schema: Schema
    let caller: Caller
    let container: String
    let bounds: QueryBounds
    /// Whether a condition needs the index of its field; otherwise each record is read.
    var needsIndexes = true

    func validate(_ query: Query) throws(ServiceError) -> ValidQuery {
        try checkSize(query)
        let check = try typeCheck(query)
        let condition = try query.condition.mapFilters { (filter) throws(ServiceError) in try check.filter(filter) }
        if condition == .all {
            try check.require(.queryable, .system(.recordName))
        }
        return ValidQuery(
            recordType: query.recordType, condition: condition, sort: try check.sort(query.sortBy),
            searchableFields: check.type.searchableFields, numericFields: check.numericFields)
    }

    /// The query with its values converted to the types of their fields, for matching records when they change.
    func fitted(_ query: Query) throws(ServiceError) -> Query {
        try checkSize(query)
        let check = try typeCheck(query)
        var fitted = query
        fitted.filterBy = []
        for filter in query.filterBy { fitted.filterBy.append(try check.filter(filter)) }
        fitted.extendedFilter = try query.extendedFilter?.mapFilters { (filter) throws(ServiceError) in
            try check.filter(filter)
        }
        return fitted
    }

    /// The filters of a list, which has no other rules of a query. A type that the schema lacks has no records.
    func fitted(_ filters: [Filter], of recordType: String) throws(ServiceError) -> [Filter] {
        guard recordType.hasASCIIOnly, let type = schema.recordTypes[recordType] else { return filters }
        let check = TypeCheck(validation: self, recordType: recordType, type: type)
        var fitted: [Filter] = []
        for filter in filters { fitted.append(try check.filter(filter)) }
        return fitted
    }

    /// Checks the size of a query first, because the cost of later steps grows faster than the number of conditions.
    private func checkSize(_ query: Query) throws(ServiceError) {
        var filters = query.filterBy.count
        var bytes = query.filterBy.reduce(0) { $0 + $1.fieldValue.storedSize }
        var listValues = query.filterBy.reduce(0) { $0 + $1.listValues }
        _ = query.extendedFilter?.mapFilters { filter in
            filters += 1
            bytes += filter.fieldValue.storedSize
            listValues += filter.listValues
            return filter
        }
        if listValues > bounds.listValuesPerQuery {
            throw .limitExceeded(
                "the query compares lists with \(listValues) values; at most \(bounds.listValuesPerQuery) are allowed")
        }
        if bytes > bounds.filterBytesPerQuery {
            throw .limitExceeded(
                "the values of the query's filters have \(bytes) bytes; at most \(bounds.filterBytesPerQuery) are allowed"
            )
        }
        if filters > bounds.filtersPerQuery {
            throw .limitExceeded("the query has \(filters) filters; at most \(bounds.filtersPerQuery) are allowed")
        }
        if query.sortBy.count > bounds.sortsPerQuery {
            throw .limitExceeded(
                "the query has \(query.sortBy.count) sort descriptors; at most \(bounds.sortsPerQuery) are allowed")
        }
    }

    private func typeCheck(_ query: Query) throws(ServiceError) -> TypeCheck {
        if let problem = query.problem { throw .invalid("Invalid query: \(problem)") }
        if query.recordType == SystemRecordType.user {
            throw .invalid("Can't query system types: records of type 'Users' are fetched by their names")
        }
        // Schema names are ASCII, but other strings may be canonically equivalent to a schema name.
        guard query.recordType.hasASCIIOnly, let type = schema.recordTypes[query.recordType] else {
            throw ServiceError(
                .badRequest, .unknownItem,
                "Did not find record type: \(Identifier.excerpt(query.recordType))"
                    + suggestion(for: query.recordType, among: schema.recordTypes.keys))
        }
        return TypeCheck(validation: self, recordType: query.recordType, type: type)
    }

    /// Suggests a similar name in development only, because a caller that guesses names must not learn production's
    /// schema.
    fileprivate func suggestion(for name: String, among known: some Sequence<String>) -> String {
        guard caller.storeID.environment == ContainerEnvironment.development.rawValue else { return "" }
        return Suggestion.clause(for: name, among: known)
    }
}

private struct TypeCheck {
    let validation: QueryValidation
    let recordType: String
    let type: RecordTypeSchema

    var numericFields: Set<String> {
        Set(type.fields.filter { $0.value.type.isNumeric }.keys)
    }

    /// The type and the index options of a key; nil if the record type has no such field.
    private func definition(of key: QueryKey) -> SchemaField? {
        switch key {
        // The schema cannot declare the fields `parent` and `share`: they are always QUERYABLE.
        case .system(.parent), .system(.share): SchemaField(SchemaType(.reference), .queryable)
        case .system(let field): type.fields[field.schemaName]
        case .field(let name): name.hasASCIIOnly ? type.fields[name] : nil
        case .allSearchableFields:
            SchemaField(SchemaType(.string), type.searchableFields.isEmpty ? [] : .searchable)
        }
    }

    // MARK: - Options

    func require(_ options: IndexOptions..., of key: QueryKey) throws(ServiceError) {
        let has = definition(of: key)?.indexes ?? []
        if options.contains(where: { has.contains($0) }) { return }
        let option = options[0].names.first ?? ""
        throw .invalid("Field '\(key.displayName)' is not marked \(option.lowercased())\(remedy(key, option))")
    }

    func require(_ option: IndexOptions, _ key: QueryKey) throws(ServiceError) { try require(option, of: key) }

    private func remedy(_ key: QueryKey, _ option: String) -> String {
        switch key {
        case .field(let name) where type.fields[name] == nil:
            ": the type '\(recordType)' has no field of that name; "
                + "add it to the schema, or save a record with it where saves extend the schema"
                + validation.suggestion(for: name, among: type.fields.keys.filter { !$0.hasPrefix("_") })
        case .allSearchableFields: ": the type '\(recordType)' has no field that is \(option)"
        case .field(let name):
            ": add \(option) to the field '\(Identifier.excerpt(name))' of '\(recordType)' in the schema"
        case .system(let field): ": add \(option) to \"\(field.schemaName)\" of '\(recordType)' in the schema"
        }
    }

    // MARK: - Filters

    func filter(_ filter: Filter) throws(ServiceError) -> Filter {
        var filter = filter
        filter.key = named(filter.key)
        if let definition = definition(of: filter.key) {
            try checkType(filter, definition.type)
        }
        if validation.needsIndexes { try checkOption(filter) } else { try checkExists(filter.key) }
        try checkTokens(filter)
        guard let definition = definition(of: filter.key), let value = filter.fieldValue.value else { return filter }
        filter.fieldValue.value = try fit(value, filter, definition.type)
        return filter
    }

    /// Maps `parent` and `share` to the record's properties, unless the type has a field of that name.
    private func named(_ key: QueryKey) -> QueryKey {
        guard case .field(let name) = key, type.fields[name] == nil,
            let property = NephosWire.SystemField(property: name)
        else {
            return key
        }
        return .system(property)
    }

    private func checkTokens(_ filter: Filter) throws(ServiceError) {
        guard [.containsAllTokens, .containsAnyTokens].contains(filter.comparator.positive),
            let value = filter.fieldValue.value
        else { return }
        let count = Tokenizer.tokens(of: value).count
        if count > validation.bounds.tokensPerFilter {
            throw .limitExceeded(
                "Field '\(filter.key.displayName)' is searched for \(count) words; at most"
                    + " \(validation.bounds.tokensPerFilter) are allowed")
        }
    }

    private func checkExists(_ key: QueryKey) throws(ServiceError) {
        guard case .field = key, definition(of: key) == nil else { return }
        throw .invalid("Field '\(key.displayName)' is unknown\(remedy(key, ""))")
    }

    private func checkOption(_ filter: Filter) throws(ServiceError) {
        switch filter.comparator.positive {
        case .equals, .in, .listContains, .listContainsAny, .listContainsAll, .listMemberBeginsWith, .notEquals,
            .notIn, .notListContains, .notListContainsAny, .notListContainsAll, .notListMemberBeginsWith:
            try require(.queryable, of: filter.key)
        case .lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals, .beginsWith, .notBeginsWith:
            try require(.sortable, of: filter.key)
        case .containsAllTokens, .containsAnyTokens:
            try require(.searchable, of: filter.key)
        case .near:
            try require(.queryable, .sortable, of: filter.key)
        }
    }

    private func checkType(_ filter: Filter, _ type: SchemaType) throws(ServiceError) {
        if type.isEncrypted || type.scalar == .bytes || type.scalar == .asset {
            let name = (type.isEncrypted ? "ENCRYPTED_" : "") + type.scalar.rawValue + (type.isList ? "_LIST" : "")
            throw .invalid(
                "Field '\(filter.key.displayName)' has a value type of \(name) and cannot be queried using filter type"
                    + " \(filter.comparator.rawValue)")
        }
        let comparator = filter.comparator.positive
        let fits =
            switch comparator {
            case .near: type.scalar == .location && !type.isList
            case .beginsWith: type.scalar == .string && !type.isList
            case .listMemberBeginsWith: type.scalar == .string && type.isList
            case .containsAllTokens, .containsAnyTokens: type.scalar == .string
            case _ where comparator.isOrdering: !type.isList && type.scalar != .reference && type.scalar != .location
            default: comparator.needsListField == type.isList
            }
        if fits { return }
        var reason =
            "Field '\(filter.key.displayName)' has a value type of \(type.text) and cannot be queried using filter type"
            + " \(filter.comparator.rawValue)"
        if comparator == .listContains, type.scalar == .string {
            reason +=
                ": CONTAINS on a field is for lists; a string is searched for a prefix with BEGINSWITH, and all of a record's"
                + " for a word with `self CONTAINS 'word'`"
        }
        throw .invalid(reason)
    }

    // MARK: - Values

    private func fit(
        _ value: FieldValue, _ filter: Filter, _ type: SchemaType
    ) throws(ServiceError) -> FieldValue {
        guard case .list(_, let elements) = value else { return try fitElement(value, filter, type) }
        if elements.count > validation.bounds.valuesPerFilter {
            throw .limitExceeded(
                "Query filter exceeds the limit of values: \(validation.bounds.valuesPerFilter) for container"
                    + " '\(validation.container)'")
        }
        var fitted: [FieldValue] = []
        for element in elements { fitted.append(try fitElement(element, filter, type)) }
        return .list(of: fitted.first?.type.scalar ?? type.scalar.wire, fitted)
    }

    private func fitElement(
        _ value: FieldValue, _ filter: Filter, _ type: SchemaType
    ) throws(ServiceError) -> FieldValue {
        let isDeclared = filter.fieldValue.hasDeclaredType
        switch (type.scalar, value) {
        case (.number, .int64), (.number, .double), (.int64, .int64), (.int64, .double), (.double, .int64),
            (.double, .double), (.string, .string), (.timestamp, .timestamp), (.location, .location):
            return value
        case (.timestamp, .int64(let time)) where !isDeclared: return .timestamp(Timestamp(milliseconds: time))
        case (.timestamp, .double(let time)) where !isDeclared && Int64(exactly: time) != nil:
            return .timestamp(Timestamp(milliseconds: Int64(time)))
        case (.reference, .reference(let reference)): return .reference(fit(reference, filter.key))
        case (.reference, .string(let name)):
            // For system fields a plain record name is enough: `recordName = "…"`.
            guard case .system = filter.key else { break }
            return .reference(fit(ReferenceValue(recordName: name), filter.key))
        case (_, .string) where !isDeclared:
            // INT64 and DOUBLE count as one type.
            if let number = FieldTypeRules.rereadScalar(value, as: type.isNumber ? .number : type.scalar) {
                return number
            }
        default: break
        }
        throw .invalid(
            "Field '\(filter.key.displayName)' has a value type of \(type.text) and cannot be queried using filter"
                + " value type \(value.type.wireName)")
    }

    /// Resolves the caller's own zone and the current-user placeholder to their actual names.
    private func fit(_ reference: ReferenceValue, _ key: QueryKey) -> ReferenceValue {
        var reference = validation.caller.currentUser.resolve(reference)
        reference.action = .none
        guard case .system(let field) = key, field.isUser else {
            if let zone = reference.zoneID {
                let address = validation.caller.address(zone)
                if address.isOwn { reference.zoneID = validation.caller.zoneID(zone.zoneName) }
            }
            return reference
        }
        reference.zoneID = nil
        return reference
    }

    // MARK: - Order

    func sort(_ descriptors: [QuerySortDescriptor]) throws(ServiceError) -> [QuerySortDescriptor] {
        var sort: [QuerySortDescriptor] = []
        for descriptor in descriptors {
            if let type = definition(of: descriptor.key)?.type {
                if type.isEncrypted { continue }
                let isOrdered = IndexOptions.possible(for: type).contains(.sortable)
                if !isOrdered || (type.scalar == .location) != (descriptor.relativeLocation != nil) {
                    throw .invalid(
                        "Field '\(descriptor.key.displayName)' has a value type of \(type.text) and cannot be sorted"
                            + (descriptor.relativeLocation != nil ? " by distance" : ""))
                }
            }
            try require(.sortable, of: descriptor.key)
            // A key that repeats an earlier sort key has no effect.
            if descriptor.relativeLocation == nil,
                sort.contains(where: { $0.key == descriptor.key && $0.relativeLocation == nil })
            {
                continue
            }
            sort.append(descriptor)
        }
        return sort
    }
}

extension Filter {
    /// The number of values with which the filter compares a list.
    fileprivate var listValues: Int {
        guard [.listContainsAny, .listContainsAll].contains(comparator.positive),
            case .list(_, let values) = fieldValue.value
        else { return 0 }
        return values.count
    }
}
