extension RecordZoneChangesRequest.Zone {
    /// Decodes one zone's request. `defaults` has the values of the whole request for keys that the zone's object
    /// lacks.
    init(json: JSONValue, defaults: Self?, zoneID known: ZoneIDDictionary? = nil) throws(WireError) {
        var zoneID: ZoneIDDictionary?
        self = defaults ?? Self(zoneID: .defaultZone)
        for (key, value) in try json.members("a dictionary with the key \"zoneID\"") {
            let value = value.nonNull
            switch key {
            case "zoneID": zoneID = try value.map(ZoneIDDictionary.init(json:))
            case "syncToken": syncToken = try value?.position()
            case "resultsLimit": resultsLimit = try value.map { (value) throws(WireError) in Int(try value.int64()) }
            case "desiredKeys": desiredKeys = try value?.desiredNames()
            case "desiredRecordTypes": desiredRecordTypes = try value?.desiredNames()
            case "numbersAsStrings": numbersAsStrings = try value?.bool() ?? false
            case "reverse": reverse = try value?.bool() ?? false
            case "nephosFetchEnd": fetchEnd = try value?.string()
            case "nephosPacked": packed = try value?.bool() ?? false
            case "nephosDeletionsSince": deletionsSince = try value?.position()
            default: break
            }
        }
        guard let zoneID = zoneID ?? known else { throw json.missing("zoneID", "a zone ID") }
        self.zoneID = zoneID
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writeMembers(to: &writer)
        writer.endObject()
    }

    func writeMembers(to writer: inout JSONWriter) {
        writer.key("zoneID")
        zoneID.write(to: &writer)
        writer.member("syncToken", syncToken)
        writer.member("resultsLimit", resultsLimit)
        writer.member("desiredKeys", desiredKeys)
        writer.member("desiredRecordTypes", desiredRecordTypes)
        if numbersAsStrings {
            writer.key("numbersAsStrings")
            writer.bool(true)
        }
        if reverse {
            writer.key("reverse")
            writer.bool(true)
        }
        writer.member("nephosFetchEnd", fetchEnd)
        if packed {
            writer.key("nephosPacked")
            writer.bool(true)
        }
        writer.member("nephosDeletionsSince", deletionsSince)
    }
}

extension JSONWriter {
    /// Writes a member of an object. Writes nothing for nil.
    mutating func member(_ name: StaticString, _ value: Int?) {
        guard let value else { return }
        key(name)
        int64(Int64(value))
    }
}

extension RecordZoneChangesRequest: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        let defaults = try Zone(json: json, defaults: nil, zoneID: .defaultZone)
        self.init(
            zones: try json.required("zones", "an array") { (zones) throws(WireError) in
                try zones.elements("an array of zones") { (zone) throws(WireError) in
                    try Zone(json: zone, defaults: defaults)
                }
            })
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("zones")
        writer.beginArray()
        for zone in zones { zone.write(to: &writer) }
        writer.endArray()
        writer.endObject()
    }
}

extension RecordChangesRequest: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init(zone: try RecordZoneChangesRequest.Zone(json: json, defaults: nil, zoneID: .defaultZone))
    }

    package func write(to writer: inout JSONWriter) { zone.write(to: &writer) }
}

extension DatabaseChangesRequest: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init()
        for (key, value) in try json.members("an object") {
            let value = value.nonNull
            switch key {
            case "syncToken", "metaSyncToken": syncToken = try value?.position() ?? syncToken
            case "resultsLimit": resultsLimit = try value.map { (value) throws(WireError) in Int(try value.int64()) }
            case "nephosFetchEnd": fetchEnd = try value?.string()
            default: break
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("syncToken", syncToken)
        writer.member("resultsLimit", resultsLimit)
        writer.member("nephosFetchEnd", fetchEnd)
        writer.endObject()
    }
}
