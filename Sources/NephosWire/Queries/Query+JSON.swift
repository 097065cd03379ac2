extension QueryKey {
    /// Decodes a key from the two members that can name a field; nil if both are absent. Throws if both are present.
    fileprivate init?(_ json: JSONValue, field: JSONValue?, systemField: JSONValue?) throws(WireError) {
        switch (field, systemField) {
        case (nil, nil): return nil
        case (let field?, nil): self = QueryKey(name: try field.string())
        case (nil, let systemField?):
            let name = try systemField.string()
            guard let field = SystemField(rawValue: name) ?? SystemField(schemaName: name) else {
                throw systemField.mismatch("one of " + SystemField.allCases.map(\.rawValue).joined(separator: ", "))
            }
            self = .system(field)
        case (_?, _?): throw json.failure("expected fieldName or systemFieldName, found both")
        }
    }

    fileprivate func write(to writer: inout JSONWriter) {
        switch self {
        case .field(let name): writer.member("fieldName", name)
        case .system(let field): writer.member("systemFieldName", field.rawValue)
        case .allSearchableFields: break
        }
    }
}

extension Filter {
    init(json: JSONValue) throws(WireError) {
        var comparator: JSONValue?
        var field: JSONValue?
        var systemField: JSONValue?
        var value: JSONValue?
        var distance: JSONValue?
        for (key, member) in try json.members("a filter") {
            switch key {
            case "comparator": comparator = member.nonNull
            case "fieldName": field = member.nonNull
            case "systemFieldName": systemField = member.nonNull
            case "fieldValue": value = member.nonNull
            case "distance": distance = member.nonNull
            default: break
            }
        }
        let names = FilterComparator.allCases.map(\.rawValue)
        guard let comparator else { throw json.missing("comparator", "one of " + names.joined(separator: ", ")) }
        self.comparator = try comparator.oneOf(FilterComparator.self, names: names)
        if let key = try QueryKey(json, field: field, systemField: systemField) {
            self.key = key
        } else if self.comparator.isFullText {
            key = .allSearchableFields
        } else {
            throw json.missing("fieldName", "the name of a field (or systemFieldName)")
        }
        guard let value else { throw json.missing("fieldValue", "a dictionary with the key \"value\"") }
        fieldValue = try Self.fieldValue(value, of: key)
        try checkValue(value)
        guard self.comparator == .near else { return }
        guard let distance else { throw json.missing("distance", "a number of metres") }
        self.distance = try distance.double("a number of metres")
    }

    /// Decodes a filter's value. The types of system fields are known. If the value does not match its declared type,
    /// as in `{"value": {"recordName": "…"}, "type": "STRING"}`, the form of its JSON determines the type.
    private static func fieldValue(_ json: JSONValue, of key: QueryKey) throws(WireError) -> Field {
        do throws(WireError) {
            return try Field(json: json)
        } catch {
            guard case .system = key, let type = json.member("type"), (try? DeclaredType(json: type)) != nil,
                let value = json.member("value"), let inferred = try? FieldValue(inferring: value)
            else { throw error }
            return Field(inferred, hasDeclaredType: false)
        }
    }

    /// Checks the form of a comparator's value, which does not depend on the field.
    private func checkValue(_ json: JSONValue) throws(WireError) {
        guard let value = fieldValue.value else {
            throw json.missing("value", "a value to compare with")
        }
        let expected: String? =
            if comparator.takesList {
                value.type.isList ? nil : "a list of values"
            } else if comparator.isFullText {
                value.type.scalar == .string || value.type == .unknownList ? nil : "a string"
            } else if value.type.isList {
                "a single value"
            } else {
                switch comparator.positive {
                case .near: value.type == .location ? nil : "a location"
                case .beginsWith, .listMemberBeginsWith: value.type == .string ? nil : "a string"
                default: nil
                }
            }
        guard let expected else { return }
        throw json.failure("\(comparator.rawValue) expects \(expected), found a value of type \(value.type.wireName)")
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("comparator", comparator.rawValue)
        key.write(to: &writer)
        writer.key("fieldValue")
        fieldValue.write(to: &writer, withType: fieldValue.hasDeclaredType)
        if let distance {
            writer.key("distance")
            writer.double(distance)
        }
        writer.endObject()
    }
}

extension QuerySortDescriptor {
    init(json: JSONValue) throws(WireError) {
        var field: JSONValue?
        var systemField: JSONValue?
        var ascending: JSONValue?
        var location: JSONValue?
        for (key, member) in try json.members("a sort descriptor") {
            switch key {
            case "fieldName": field = member.nonNull
            case "systemFieldName": systemField = member.nonNull
            case "ascending": ascending = member.nonNull
            case "relativeLocation": location = member.nonNull
            default: break
            }
        }
        guard let key = try QueryKey(json, field: field, systemField: systemField) else {
            throw json.missing("fieldName", "the name of a field (or systemFieldName)")
        }
        self.init(key, ascending: try ascending?.bool() ?? true)
        guard let location else { return }
        // The location is a field dictionary, or the location's own object.
        let value =
            try location.members("a location").contains { key, _ in "value" ~= key }
            ? try Field(json: location).value : .location(try LocationValue(json: location))
        guard case .location(let relativeLocation) = value else { throw location.mismatch("a location") }
        self.relativeLocation = relativeLocation
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        key.write(to: &writer)
        writer.key("ascending")
        writer.bool(ascending)
        if let relativeLocation {
            writer.key("relativeLocation")
            Field(.location(relativeLocation)).write(to: &writer, withType: true)
        }
        writer.endObject()
    }
}

extension QueryExpression {
    /// Decodes `{"and": […]}`, `{"or": […]}`, `{"not": …}`, `{"all": true}`, `{"none": true}` or a filter.
    init(json: JSONValue, depth: Int = 0) throws(WireError) {
        guard depth < Self.depthLimit else {
            throw json.failure("expected at most \(Self.depthLimit) levels of nesting")
        }
        for (key, value) in try json.members("a filter, or one of and, or, not, all and none") {
            switch key {
            case "and", "or":
                let parts = try value.elements("an array of conditions") { (part) throws(WireError) in
                    try QueryExpression(json: part, depth: depth + 1)
                }
                self = "and" ~= key ? .and(parts) : .or(parts)
                return
            case "not":
                self = .not(try QueryExpression(json: value, depth: depth + 1))
                return
            case "all", "none":
                guard try value.bool() else { throw value.mismatch("true") }
                self = "all" ~= key ? .all : .none
                return
            default: continue
            }
        }
        self = .filter(try Filter(json: json))
    }

    package func write(to writer: inout JSONWriter) {
        switch self {
        case .filter(let filter):
            filter.write(to: &writer)
            return
        case .all, .none, .and, .or, .not: writer.beginObject()
        }
        switch self {
        case .all:
            writer.key("all")
            writer.bool(true)
        case .none:
            writer.key("none")
            writer.bool(true)
        case .and(let parts):
            writer.key("and")
            Self.write(parts, to: &writer)
        case .or(let parts):
            writer.key("or")
            Self.write(parts, to: &writer)
        case .not(let inner):
            writer.key("not")
            inner.write(to: &writer)
        case .filter: break
        }
        writer.endObject()
    }

    private static func write(_ parts: [QueryExpression], to writer: inout JSONWriter) {
        writer.beginArray()
        for part in parts { part.write(to: &writer) }
        writer.endArray()
    }
}

extension Query {
    package init(json: JSONValue) throws(WireError) {
        var type: JSONValue?
        self.init(recordType: "")
        for (key, value) in try json.members("a query") {
            guard let value = value.nonNull else { continue }
            switch key {
            case "recordType": type = value
            case "filterBy": filterBy = try Self.oneOrMore(value, "an array of filters", Filter.init(json:))
            case "sortBy":
                sortBy = try Self.oneOrMore(value, "an array of sort descriptors", QuerySortDescriptor.init(json:))
            case "nephosFilter": extendedFilter = try QueryExpression(json: value)
            default: break
            }
        }
        guard let type else { throw json.missing("recordType", "a string") }
        recordType = try type.string()
    }

    /// CloudKit JS accepts a single filter or sort descriptor without its array.
    private static func oneOrMore<Element>(
        _ json: JSONValue, _ expected: String, _ decode: (JSONValue) throws(WireError) -> Element
    ) throws(WireError) -> [Element] {
        json.isObject ? [try decode(json)] : try json.elements(expected, decode)
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("recordType", recordType)
        if !filterBy.isEmpty {
            writer.key("filterBy")
            writer.beginArray()
            for filter in filterBy { filter.write(to: &writer) }
            writer.endArray()
        }
        if !sortBy.isEmpty {
            writer.key("sortBy")
            writer.beginArray()
            for descriptor in sortBy { descriptor.write(to: &writer) }
            writer.endArray()
        }
        if let extendedFilter {
            writer.key("nephosFilter")
            extendedFilter.write(to: &writer)
        }
        writer.endObject()
    }
}
