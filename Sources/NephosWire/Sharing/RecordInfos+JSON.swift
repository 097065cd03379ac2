extension ShortGUIDsRequest.Item {
    /// Decodes a short GUID dictionary, or a plain string.
    init(json: JSONValue) throws(WireError) {
        self.init(value: "")
        guard json.isObject else {
            value = try json.string()
            return
        }
        var guid: JSONValue?
        for (key, member) in try json.members("a short GUID") {
            let member = member.nonNull
            switch key {
            case "value": guid = member
            case "shouldFetchRootRecord": shouldFetchRootRecord = try member?.bool() ?? false
            case "rootRecordDesiredKeys": rootRecordDesiredKeys = try member?.arrayOfStrings()
            default: break
            }
        }
        guard let guid else { throw json.missing("value", "a string") }
        value = try guid.string()
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("value", value)
        writer.key("shouldFetchRootRecord")
        writer.bool(shouldFetchRootRecord)
        writer.member("rootRecordDesiredKeys", rootRecordDesiredKeys)
        writer.endObject()
    }
}

extension ShortGUIDsRequest: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init(
            shortGUIDs: try json.required("shortGUIDs", "an array") { (guids) throws(WireError) in
                try guids.elements("an array of short GUIDs", Item.init(json:))
            })
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("shortGUIDs")
        writer.beginArray()
        for guid in shortGUIDs { guid.write(to: &writer) }
        writer.endArray()
        writer.endObject()
    }
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
            shortGUID: try ShortGUIDsRequest.Item(json: guid), containerIdentifier: container,
            environment: environment, databaseScope: scope, zoneID: try ZoneIDDictionary(json: zone),
            share: try RecordDictionary(json: share), rootRecordName: rootName, rootRecord: root, ownerIdentity: owner,
            participantRole: role, participantStatus: status, participantPermission: permission)
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("shortGUID")
        shortGUID.write(to: &writer)
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

extension RecordInfosResponse: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init(
            results: try json.required("results", "an array") { (results) throws(WireError) in
                try results.elements("an array of record infos") { (result) throws(WireError) in
                    ErrorDictionary.describes(result)
                        ? .failure(try ErrorDictionary(json: result)) : .info(try RecordInfo(json: result))
                }
            })
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("results")
        writer.beginArray()
        for result in results {
            switch result {
            case .info(let info): info.write(to: &writer)
            case .failure(let error): error.write(to: &writer)
            }
        }
        writer.endArray()
        writer.endObject()
    }
}
