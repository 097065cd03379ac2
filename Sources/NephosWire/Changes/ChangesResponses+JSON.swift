extension RecordZoneChanges {
    init(json: JSONValue, zoneID known: ZoneIDDictionary? = nil) throws(WireError) {
        var zoneID = known
        var token: JSONValue?
        var records: JSONValue?
        self.init(zoneID: .defaultZone, records: [], syncToken: "", moreComing: false)
        for (key, value) in try json.members("a zone's changes") {
            let value = value.nonNull
            switch key {
            case "zoneID": zoneID = try value.map(ZoneIDDictionary.init(json:))
            case "records": records = value
            case "syncToken": token = value
            case "moreComing": moreComing = try value?.bool() ?? false
            case "clientChangeToken": clientChangeToken = try value?.string()
            case "nephosFetchEnd": fetchEnd = try value?.string()
            default: break
            }
        }
        guard let zoneID else { throw json.missing("zoneID", "a zone ID") }
        guard let token else { throw json.missing("syncToken", "a string") }
        self.zoneID = zoneID
        syncToken = try token.string()
        self.records = try records.map(RecordResult.results(json:)) ?? []
    }

    func write(to writer: inout JSONWriter, withZoneID: Bool) {
        writer.beginObject()
        if withZoneID {
            writer.key("zoneID")
            zoneID.write(to: &writer, withType: true)
        }
        writer.records(records, encodedRecords)
        writer.key("syncToken")
        writer.string(syncToken)
        writer.key("moreComing")
        writer.bool(moreComing)
        writer.member("clientChangeToken", clientChangeToken)
        writer.member("nephosFetchEnd", fetchEnd)
        writer.endObject()
    }

    var estimatedSize: Int { 512 + records.estimatedSize(encodedRecords) }
}

extension RecordZoneChangesResponse: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init(
            zones: try json.required("zones", "an array") { (zones) throws(WireError) in
                try zones.elements("an array of zones") { (zone) throws(WireError) in
                    ErrorDictionary.describes(zone)
                        ? .failure(try ErrorDictionary(json: zone)) : .changes(try RecordZoneChanges(json: zone))
                }
            })
    }

    package var estimatedSize: Int {
        zones.reduce(64) { size, zone in
            if case .changes(let changes) = zone { size + changes.estimatedSize } else { size + 512 }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("zones")
        writer.beginArray()
        for zone in zones {
            switch zone {
            case .changes(let changes): changes.write(to: &writer, withZoneID: true)
            case .failure(let error): error.write(to: &writer)
            }
        }
        writer.endArray()
        writer.endObject()
    }
}

extension RecordChangesResponse: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init(changes: try RecordZoneChanges(json: json, zoneID: .defaultZone))
    }

    package var estimatedSize: Int { changes.estimatedSize }

    package func write(to writer: inout JSONWriter) { changes.write(to: &writer, withZoneID: false) }
}

extension DatabaseChangesResponse: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        let zones = try ZonesResponse(json: json).zones
        self.init(zones: [], syncToken: "", moreComing: false)
        for case .zone(let zone) in zones { self.zones.append(zone) }
        for (key, value) in try json.members("an object") {
            switch key {
            case "syncToken": syncToken = try value.nonNull?.string() ?? syncToken
            case "moreComing": moreComing = try value.nonNull?.bool() ?? false
            case "nephosFetchEnd": fetchEnd = try value.nonNull?.string()
            default: break
            }
        }
    }

    package var estimatedSize: Int { 256 + 256 * zones.count }

    /// The token goes by both names, so that one answer serves `changes/database` and `zones/changes`.
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("zones")
        writer.beginArray()
        for zone in zones { zone.write(to: &writer) }
        writer.endArray()
        writer.key("syncToken")
        writer.string(syncToken)
        writer.key("metaSyncToken")
        writer.string(syncToken)
        writer.key("moreComing")
        writer.bool(moreComing)
        writer.member("nephosFetchEnd", fetchEnd)
        writer.endObject()
    }
}
