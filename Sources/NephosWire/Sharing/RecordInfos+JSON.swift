extension ShortGUIDsRequest.Item {
    private static let dictionary = Codec<Self>(
        as: "a short GUID", Self.init,
        .required("value", \.value, .string),
        .member("shouldFetchRootRecord", \.shouldFetchRootRecord, .bool, ifAbsent: false),
        .optional("rootRecordDesiredKeys", \.rootRecordDesiredKeys, .strings))

    /// The codec of a short GUID dictionary, which also decodes a plain string.
    static let codec = Codec<Self>("a short GUID") { (json) throws(WireError) in
        json.isObject ? try dictionary.read(json) : Self(value: try json.string())
    } write: {
        dictionary.write($0, &$1)
    }
}

extension ShortGUIDsRequest: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init, .required("shortGUIDs", \.shortGUIDs, .array("an array of short GUIDs", of: Item.codec)))
}

extension RecordInfo {
    init(json: JSONValue) throws(WireError) {
        var guid: JSONValue?
        var share: JSONValue?
        var zone: JSONValue?
        var owner = UserIdentityDictionary()
        var container = ""
        var environment = ""
        var scope = ""
        var rootName: String?
        var root: RecordDictionary?
        var role = ParticipantRole.unknown
        var status = AcceptanceStatus.unknown
        var permission = SharePermission.unknown
        for (key, value) in try json.members("a record info") {
            guard let value = value.nonNull else { continue }
            switch key {
            case "shortGUID": guid = value
            case "containerIdentifier": container = try value.string()
            case "environment": environment = try value.string()
            case "databaseScope": scope = try value.string()
            case "zoneID": zone = value
            case "share": share = value
            case "rootRecordName": rootName = try value.string()
            case "rootRecord": root = try RecordDictionary(json: value)
            case "ownerIdentity": owner = try UserIdentityDictionary(json: value)
            case "participantType": role = try ParticipantRole(json: value)
            case "participantStatus": status = try AcceptanceStatus(json: value)
            case "participantPermission": permission = try SharePermission(json: value)
            default: break
            }
        }
        guard let guid else { throw json.missing("shortGUID", "a short GUID") }
        guard let zone else { throw json.missing("zoneID", "a zone ID") }
        guard let share else { throw json.missing("share", "a record") }
        self.init(
            shortGUID: try ShortGUIDsRequest.Item.codec.read(guid), containerIdentifier: container,
            environment: environment, databaseScope: scope, zoneID: try ZoneIDDictionary(json: zone),
            share: try RecordDictionary(json: share), rootRecordName: rootName, rootRecord: root, ownerIdentity: owner,
            participantRole: role, participantStatus: status, participantPermission: permission)
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("shortGUID")
        ShortGUIDsRequest.Item.codec.write(shortGUID, &writer)
        writer.member("containerIdentifier", containerIdentifier)
        writer.member("environment", environment)
        writer.member("databaseScope", databaseScope)
        writer.key("zoneID")
        zoneID.write(to: &writer, withType: true)
        writer.key("share")
        share.write(to: &writer)
        writer.member("rootRecordName", rootRecordName)
        if let rootRecord {
            writer.key("rootRecord")
            rootRecord.write(to: &writer)
        }
        writer.key("ancestorRecords")
        writer.beginArray()
        writer.endArray()
        writer.key("ownerIdentity")
        ownerIdentity.write(to: &writer)
        writer.member("participantType", participantRole.rawValue)
        writer.member("participantStatus", participantStatus.rawValue)
        writer.member("participantPermission", participantPermission.rawValue)
        writer.endObject()
    }
}

extension RecordInfosResponse: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init, .required("results", \.results, .array("an array of record infos", of: RecordInfoResult.codec)))
}

extension RecordInfoResult {
    fileprivate static let codec = Codec<Self>("a record info") { (json) throws(WireError) in
        ErrorDictionary.describes(json) ? .failure(try ErrorDictionary(json: json)) : .info(try RecordInfo(json: json))
    } write: { result, writer in
        switch result {
        case .info(let info): info.write(to: &writer)
        case .failure(let error): error.write(to: &writer)
        }
    }
}
