extension ZoneIDDictionary {
    /// Decodes a zone ID. An owner that is only a placeholder for the caller becomes nil.
    init(json: JSONValue) throws(WireError) {
        var name: JSONValue?
        var owner: JSONValue?
        for (key, value) in try json.members("a zone ID") {
            switch key {
            case "zoneName": name = value.nonNull
            case "ownerRecordName": owner = value.nonNull
            default: break
            }
        }
        guard let name else { throw json.missing("zoneName", "a string") }
        self.init(zoneName: try name.string(), ownerRecordName: try owner?.string())
        if let ownerRecordName, CurrentUserName.isOne(ownerRecordName) { self.ownerRecordName = nil }
    }

    /// Writes the zone ID. If `withType` is true, as in responses, writes the zone's type too.
    func write(to writer: inout JSONWriter, withType: Bool = false) {
        writer.beginObject()
        writer.key("zoneName")
        writer.string(zoneName)
        writer.member("ownerRecordName", ownerRecordName)
        if withType {
            writer.key("zoneType")
            writer.plain(zoneName == Self.defaultZoneName ? "DEFAULT_ZONE" : "REGULAR_CUSTOM_ZONE")
        }
        writer.endObject()
    }
}

extension ZoneDictionary {
    init(json: JSONValue) throws(WireError) {
        var zoneID: JSONValue?
        var syncToken: JSONValue?
        self.init(zoneID: .defaultZone, atomic: false)
        for (key, value) in try json.members("a zone") {
            switch key {
            case "zoneID": zoneID = value.nonNull
            case "syncToken": syncToken = value.nonNull
            case "atomic": atomic = try value.nonNull?.bool() ?? false
            case "deleted": deleted = try value.nonNull?.bool() ?? false
            case "nephosShare": share = try value.nonNull?.string()
            case "nephosEncryptionScope":
                // An unknown scope, as of a later version, becomes `perRecord`, because this version cannot encrypt by
                // it.
                encryptionScope =
                    try value.nonNull.flatMap { (json) throws(WireError) in
                        ZoneEncryptionScope(rawValue: try json.string())
                    } ?? .perRecord
            case "nephosDeletionReason":
                if let name = try value.nonNull?.string() {
                    deletionReason = ZoneDeletionReason(rawValue: name) ?? .deleted
                }
            default: break
            }
        }
        guard let zoneID else { throw json.missing("zoneID", "a zone ID") }
        self.zoneID = try ZoneIDDictionary(json: zoneID)
        self.syncToken = try syncToken?.string()
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("zoneID")
        zoneID.write(to: &writer, withType: true)
        writer.member("syncToken", syncToken)
        writer.key("atomic")
        writer.bool(atomic)
        writer.key("deleted")
        writer.bool(deleted)
        writer.member("nephosShare", share)
        if encryptionScope != .perRecord { writer.member("nephosEncryptionScope", encryptionScope.rawValue) }
        if deletionReason != .deleted { writer.member("nephosDeletionReason", deletionReason.rawValue) }
        writer.endObject()
    }
}

extension ZonesResponse: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init, .required("zones", \.zones, .array("an array of zones", of: ZoneResult.codec)))
}

extension ZoneResult {
    fileprivate static let codec = Codec<Self>("a zone") { (json) throws(WireError) in
        ErrorDictionary.describes(json)
            ? .failure(try ErrorDictionary(json: json)) : .zone(try ZoneDictionary(json: json))
    } write: { result, writer in
        switch result {
        case .zone(let zone): zone.write(to: &writer)
        case .failure(let error): error.write(to: &writer)
        }
    }
}
