extension ZoneOperation {
    init(json: JSONValue) throws(WireError) {
        var type: JSONValue?
        var zone: JSONValue?
        for (key, value) in try json.members("an operation") {
            switch key {
            case "operationType": type = value.nonNull
            case "zone": zone = value.nonNull
            default: break
            }
        }
        let names = ["create", "delete"]
        guard let type else { throw json.missing("operationType", "one of " + names.joined(separator: ", ")) }
        guard let zone else { throw json.missing("zone", "a dictionary with the key \"zoneID\"") }
        self.init(
            operationType: try type.oneOf(OperationType.self, names: names),
            zoneID: try zone.required("zoneID", "a zone ID", ZoneIDDictionary.init(json:)),
            encryptionScope: try zone.member("nephosEncryptionScope")?.oneOf(
                ZoneEncryptionScope.self, names: ZoneEncryptionScope.allCases.map(\.rawValue)) ?? .perRecord)
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("operationType")
        writer.string(operationType.rawValue)
        writer.key("zone")
        writer.beginObject()
        writer.key("zoneID")
        zoneID.write(to: &writer)
        if encryptionScope != .perRecord { writer.member("nephosEncryptionScope", encryptionScope.rawValue) }
        writer.endObject()
        writer.endObject()
    }
}

extension ModifyZonesRequest: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init(
            operations: try json.required("operations", "an array") { (operations) throws(WireError) in
                try operations.elements("an array of operations", ZoneOperation.init(json:))
            })
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("operations")
        writer.beginArray()
        for operation in operations { operation.write(to: &writer) }
        writer.endArray()
        writer.endObject()
    }
}

extension LookupZonesRequest: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init(
            zones: try json.required("zones", "an array") { (zones) throws(WireError) in
                try zones.elements("an array of zone IDs", ZoneIDDictionary.init(json:))
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
