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

extension ModifyZonesRequest: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init, .required("operations", \.operations, .array("an array of operations", of: ZoneOperation.codec)))
}

extension ZoneOperation {
    fileprivate static let codec = Codec<Self>("an operation", read: Self.init(json:)) { $0.write(to: &$1) }
}

extension LookupZonesRequest: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init, .required("zones", \.zones, .array("an array of zone IDs", of: .zoneID)))
}
