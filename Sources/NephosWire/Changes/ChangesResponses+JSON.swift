extension RecordZoneChanges {
    init(json: JSONValue, zoneID known: ZoneIDDictionary? = nil) throws(WireError) {
        var size: Int64?
        try self.init(json: json, zoneID: known, packedSize: &size)
    }

    /// - Parameter size: receives the size of the zone's packed records in bytes (`nephosRecordsSize`). The packed
    ///   records follow the JSON.
    fileprivate init(
        json: JSONValue, zoneID known: ZoneIDDictionary? = nil, packedSize size: inout Int64?
    ) throws(WireError) {
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
            case "nephosRecordsSize": size = try value?.int64()
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
        if let packedRecords {
            writer.key("nephosRecordsSize")
            writer.int64(Int64(packedRecords.bytes.buffer.count))
            if !records.isEmpty { writer.records(records, nil) }
        } else {
            writer.records(records, encodedRecords)
        }
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
        try self.init(json: json) { (size) throws(WireError) in throw Self.missing(size, of: 0) }
    }

    /// - Parameter take: returns the next packed records, given their size in bytes; called for one zone after the
    ///   other.
    private init(json: JSONValue, take: (Int64) throws(WireError) -> PackedRecords) throws(WireError) {
        self.init(
            zones: try json.required("zones", "an array") { (zones) throws(WireError) in
                try zones.elements("an array of zones") { (zone) throws(WireError) in
                    if ErrorDictionary.describes(zone) { return .failure(try ErrorDictionary(json: zone)) }
                    var size: Int64?
                    var changes = try RecordZoneChanges(json: zone, packedSize: &size)
                    if let size { changes.packedRecords = try take(size) }
                    return .changes(changes)
                }
            })
    }

    package var estimatedSize: Int {
        zones.reduce(64) { size, zone in
            if case .changes(let changes) = zone { size + changes.estimatedSize } else { size + 512 }
        }
    }

    /// Writes the answer. If it has packed records, the JSON is one line that begins with `packedMark`, and the packed
    /// records follow the JSON.
    package func write(to writer: inout JSONWriter) {
        let packed = packedRecords
        writer.beginObject()
        if !packed.isEmpty {
            writer.key("nephosPacked")
            writer.bool(true)
        }
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
        guard !packed.isEmpty else { return }
        writer.append(UInt8(ascii: "\n"))
        for records in packed { writer.append(records.bytes) }
    }

    private static func missing(_ size: Int64, of count: Int) -> WireError {
        WireError(path: "", reason: "expected \(size) bytes of packed records, found \(count)")
    }

    private static let packedMark: StaticString = "{\"nephosPacked\":true,"

    package var mediaType: String { packedRecords.isEmpty ? Self.jsonMediaType : "application/vnd.nephos.packed" }

    private var packedRecords: [PackedRecords] {
        zones.compactMap { if case .changes(let changes) = $0 { changes.packedRecords } else { nil } }
    }

    package init(decoding body: UnsafeRawBufferPointer) throws(WireError) {
        let mark = Self.packedMark
        guard body.starts(with: UnsafeRawBufferPointer(start: mark.utf8Start, count: mark.utf8CodeUnitCount)),
            let end = body.firstIndex(of: UInt8(ascii: "\n"))
        else {
            self = try JSONDocument.parse(body) { (json) throws(WireError) in try Self(json: json) }
            return
        }
        let line = UnsafeRawBufferPointer(rebasing: body[..<end])
        var rest = body[(end + 1)...]
        self = try JSONDocument.parse(line) { (json) throws(WireError) in
            try Self(json: json) { (size) throws(WireError) in
                guard size >= 0, size <= rest.count, let size = Int(exactly: size) else {
                    throw Self.missing(size, of: rest.count)
                }
                defer { rest = rest.dropFirst(size) }
                return PackedRecords(bytes: JSONBytes(copying: UnsafeRawBufferPointer(rebasing: rest.prefix(size))))
            }
        }
        guard rest.isEmpty else { throw Self.missing(0, of: rest.count) }
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

    /// Writes the token under both names, so that one answer serves `changes/database` and `zones/changes`.
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
