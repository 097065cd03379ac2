extension QueryRecordsRequest: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        var query: JSONValue?
        self.init(query: Query(recordType: ""))
        for (key, value) in try json.members("an object") {
            guard let value = value.nonNull else { continue }
            switch key {
            case "query": query = value
            case "zoneID": zoneID = try ZoneIDDictionary(json: value)
            case "zoneWide": zoneWide = try value.bool()
            case "resultsLimit": resultsLimit = try Self.limit(value)
            case "continuationMarker": continuationMarker = try value.position()
            case "desiredKeys": desiredKeys = try value.desiredNames()
            case "numbersAsStrings": numbersAsStrings = try value.bool()
            case "nephosCount": wantsCount = try value.bool()
            case "nephosExplain": wantsExplanation = try value.bool()
            default: break
            }
        }
        guard let query else { throw json.missing("query", "a query dictionary") }
        self.query = try Query(json: query)
    }

    private static func limit(_ json: JSONValue) throws(WireError) -> Int {
        let limit = try json.int64("a number of records")
        guard limit > 0, let limit = Int(exactly: limit) else { throw json.mismatch("a number of records above 0") }
        return limit
    }

    package var estimatedSize: Int { 512 + 256 * query.filterBy.count }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("query")
        query.write(to: &writer)
        if let zoneID {
            writer.key("zoneID")
            zoneID.write(to: &writer)
        }
        if let resultsLimit {
            writer.key("resultsLimit")
            writer.int64(Int64(resultsLimit))
        }
        writer.member("continuationMarker", continuationMarker)
        writer.member("desiredKeys", desiredKeys)
        writer.flag("zoneWide", zoneWide)
        writer.flag("numbersAsStrings", numbersAsStrings)
        writer.flag("nephosCount", wantsCount)
        writer.flag("nephosExplain", wantsExplanation)
        writer.endObject()
    }
}

extension QueryRecordsResponse: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init(records: [])
        for (key, value) in try json.members("an object") {
            guard let value = value.nonNull else { continue }
            switch key {
            case "records": records = try RecordResult.results(json: value)
            case "continuationMarker": continuationMarker = try value.string()
            case "count": count = Int(try value.int64())
            case "explain": explanation = try QueryExplanation(json: value)
            default: break
            }
        }
    }

    package var estimatedSize: Int {
        512 + (continuationMarker?.utf8.count ?? 0) + records.estimatedSize(encodedRecords)
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.records(records, encodedRecords)
        writer.member("continuationMarker", continuationMarker)
        writer.member("syncToken", syncToken)
        if let count {
            writer.key("count")
            writer.int64(Int64(count))
        }
        if let explanation {
            writer.key("explain")
            explanation.write(to: &writer)
        }
        writer.endObject()
    }
}

extension QueryExplanation: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init(scans: [], entriesRead: 0, recordsRead: 0, recordsReturned: 0)
        for (key, value) in try json.members("an explanation") {
            guard let value = value.nonNull else { continue }
            switch key {
            case "scans": scans = try value.elements("an array of scans", Scan.init(json:))
            case "checkedOnRecords": checkedOnRecords = try value.arrayOfStrings()
            case "entriesRead": entriesRead = Int(try value.int64())
            case "recordsRead": recordsRead = Int(try value.int64())
            case "recordsReturned": recordsReturned = Int(try value.int64())
            case "helpfulIndex": helpfulIndex = try value.string()
            default: break
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("scans")
        writer.beginArray()
        for scan in scans { scan.write(to: &writer) }
        writer.endArray()
        writer.member("checkedOnRecords", checkedOnRecords)
        writer.number("entriesRead", entriesRead)
        writer.number("recordsRead", recordsRead)
        writer.number("recordsReturned", recordsReturned)
        if let helpfulIndex { writer.member("helpfulIndex", helpfulIndex) }
        writer.endObject()
    }
}

extension QueryExplanation.Scan {
    init(json: JSONValue) throws(WireError) {
        self.init(field: "", index: "", range: "", entriesRead: 0)
        for (key, value) in try json.members("a scan") {
            guard let value = value.nonNull else { continue }
            switch key {
            case "field": field = try value.string()
            case "index": index = try value.string()
            case "range": range = try value.string()
            case "entriesRead": entriesRead = Int(try value.int64())
            default: break
            }
        }
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("field", field)
        writer.member("index", index)
        writer.member("range", range)
        writer.number("entriesRead", entriesRead)
        writer.endObject()
    }
}

extension JSONWriter {
    /// Writes a Boolean member. Writes nothing for false.
    mutating func flag(_ name: StaticString, _ value: Bool) {
        guard value else { return }
        key(name)
        bool(true)
    }

    fileprivate mutating func number(_ name: StaticString, _ value: Int) {
        key(name)
        int64(Int64(value))
    }
}
