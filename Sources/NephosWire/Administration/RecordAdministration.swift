/// The request of `records/list`, one of Nephos' own routes: the records of a zone, the last changed first.
package struct ListRecordsRequest: Hashable, Sendable {
    /// The zone.
    package var place: AdministeredZone
    /// The type of the records; nil for every type.
    package var recordType: String?
    /// The conditions that the records match.
    package var filterBy: [Filter] = []
    /// The order of the records of a page; empty for the last changed first.
    package var sortBy: [QuerySortDescriptor] = []
    /// The `continuationMarker` of the previous page; nil for the first page.
    package var continuationMarker: String?
    /// The maximum number of records; nil for the service's.
    package var resultsLimit: Int?

    package init(_ place: AdministeredZone, recordType: String? = nil, filterBy: [Filter] = []) {
        self.place = place
        self.recordType = recordType
        self.filterBy = filterBy
    }
}

/// A zone as an administrator names it.
package struct AdministeredZone: Hashable, Sendable {
    /// The account whose private database has the zone; nil for the public database.
    package var account: String?
    package var zoneName: String

    package init(account: String?, zoneName: String = ZoneIDDictionary.defaultZoneName) {
        self.account = account
        self.zoneName = zoneName
    }
}

/// The answer of `records/list`.
package struct ListRecordsResponse: Hashable, Sendable {
    package var records: [RecordResult]
    /// The records as JSON, for a server; nil if `records` has them.
    package var encodedRecords: JSONBytes?
    /// The number of records and tombstones that were read for the page.
    package var scanned: Int
    /// The marker for the request of the next page; nil on the last page.
    package var continuationMarker: String?

    package init(records: [RecordResult] = [], scanned: Int = 0) {
        self.records = records
        self.scanned = scanned
    }
}

/// The request of `records/show`, one of Nephos' own routes: a record, and the records that refer to it.
package struct ShowRecordRequest: Hashable, Sendable {
    package var place: AdministeredZone
    package var recordName: String

    package init(_ place: AdministeredZone, recordName: String) {
        self.place = place
        self.recordName = recordName
    }
}

/// The answer of `records/show`.
package struct ShowRecordResponse: Hashable, Sendable {
    /// A reference to the record from another one of its zone. References whose action is `NONE` are not among them.
    package struct Referrer: Hashable, Sendable {
        package var recordName: String
        /// `PARENT`, `SHARE`, `DELETE_SELF` or `VALIDATE`.
        package var kind: String

        package init(recordName: String, kind: String) {
            self.recordName = recordName
            self.kind = kind
        }
    }

    package var record: RecordResult
    package var encodedRecord: JSONBytes?
    package var referredBy: [Referrer]
    /// Whether `referredBy` has every such reference.
    package var isComplete: Bool

    package init(record: RecordResult, referredBy: [Referrer], isComplete: Bool) {
        self.record = record
        self.referredBy = referredBy
        self.isComplete = isComplete
    }
}

extension AdministeredZone {
    /// Decodes `database`, `account` and `zoneName` of a request.
    fileprivate init(json: JSONValue) throws(WireError) {
        let database = try json.member("database").map { (json) throws(WireError) in try json.string() } ?? "private"
        let account = try json.member("account").map { (json) throws(WireError) in try json.string() }
        switch (database, account) {
        case ("public", nil), ("private", _?): break
        case ("public", _?): throw json.failure("the public database has no account")
        case ("private", nil): throw json.missing("account", "the name of an account")
        default: throw json.failure("expected the database private or public")
        }
        let zone = try json.member("zoneName").map { (json) throws(WireError) in try json.string() }
        self.init(account: account, zoneName: zone ?? ZoneIDDictionary.defaultZoneName)
    }

    fileprivate func write(to writer: inout JSONWriter) {
        writer.member("database", account == nil ? "public" : "private")
        writer.member("account", account)
        writer.member("zoneName", zoneName)
    }
}

extension ListRecordsRequest: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init(try AdministeredZone(json: json))
        for (key, value) in try json.members("an object") {
            guard let value = value.nonNull else { continue }
            switch key {
            case "recordType": recordType = try value.string()
            case "filterBy": filterBy = try value.elements("an array of filters", Filter.init(json:))
            case "sortBy":
                sortBy = try value.elements("an array of sort descriptors", QuerySortDescriptor.init(json:))
            case "continuationMarker": continuationMarker = try value.string()
            case "resultsLimit": resultsLimit = Int(try value.int64("a number of records"))
            default: break
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        place.write(to: &writer)
        writer.member("recordType", recordType)
        writer.key("filterBy")
        writer.beginArray()
        for filter in filterBy { filter.write(to: &writer) }
        writer.endArray()
        if !sortBy.isEmpty {
            writer.key("sortBy")
            writer.beginArray()
            for descriptor in sortBy { descriptor.write(to: &writer) }
            writer.endArray()
        }
        writer.member("continuationMarker", continuationMarker)
        if let resultsLimit {
            writer.key("resultsLimit")
            writer.int64(Int64(resultsLimit))
        }
        writer.endObject()
    }
}

extension ListRecordsResponse: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init()
        for (key, value) in try json.members("an object") {
            guard let value = value.nonNull else { continue }
            switch key {
            case "records": records = try RecordResult.results(json: value)
            case "scanned": scanned = Int(try value.int64())
            case "continuationMarker": continuationMarker = try value.string()
            default: break
            }
        }
    }

    package var estimatedSize: Int { 256 + records.estimatedSize(encodedRecords) }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.records(records, encodedRecords)
        writer.key("scanned")
        writer.int64(Int64(scanned))
        writer.member("continuationMarker", continuationMarker)
        writer.endObject()
    }
}

extension ShowRecordRequest: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        guard let name = json.member("recordName") else { throw json.missing("recordName", "the name of a record") }
        self.init(try AdministeredZone(json: json), recordName: try name.string())
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        place.write(to: &writer)
        writer.member("recordName", recordName)
        writer.endObject()
    }
}

extension ShowRecordResponse: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        guard let records = json.member("records"), let record = try RecordResult.results(json: records).first else {
            throw json.missing("records", "an array of a record")
        }
        let referrers = try json.member("referredBy").map { (json) throws(WireError) in
            try json.elements("an array of references", Referrer.codec.read)
        }
        let isComplete = try json.member("isComplete").map { (json) throws(WireError) in try json.bool() }
        self.init(record: record, referredBy: referrers ?? [], isComplete: isComplete ?? true)
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.records([record], encodedRecord)
        writer.key("referredBy")
        writer.beginArray()
        for referrer in referredBy { Referrer.codec.write(referrer, &writer) }
        writer.endArray()
        writer.key("isComplete")
        writer.bool(isComplete)
        writer.endObject()
    }
}

extension ShowRecordResponse.Referrer {
    fileprivate static let codec = Codec<Self>(
        Self.init, .required("recordName", \.recordName, .string), .required("kind", \.kind, .string))
}
