extension TimestampDictionary {
    init(json: JSONValue, _ strings: inout RepeatedStrings) throws(WireError) {
        var time: JSONValue?
        var user: JSONValue?
        var device: JSONValue?
        for (key, value) in try json.members("a dictionary with the key \"timestamp\"") {
            switch key {
            case "timestamp": time = value.nonNull
            case "userRecordName": user = value.nonNull
            case "deviceID": device = value.nonNull
            default: break
            }
        }
        guard let time else { throw json.missing("timestamp", "a date in whole milliseconds") }
        let userRecordName = try user.map { (user) throws(WireError) in try strings.string(user) }
        self.init(
            timestamp: try time.milliseconds(), userRecordName: userRecordName ?? "", deviceID: try device?.string())
    }
}

extension RecordDictionary {
    init(json: JSONValue) throws(WireError) {
        var strings = RepeatedStrings()
        try self.init(json: json, &strings)
    }

    init(json: JSONValue, _ strings: inout RepeatedStrings) throws(WireError) {
        var name: JSONValue?
        var type: JSONValue?
        var tag: JSONValue?
        var fields: JSONValue?
        self.init(recordName: "", recordType: "", recordChangeTag: "")
        for (key, value) in try json.members("a record") {
            let value = value.nonNull
            switch key {
            case "recordName": name = value
            case "recordType": type = value
            case "recordChangeTag": tag = value
            case "fields": fields = value
            case "zoneID": zoneID = try value.map(ZoneIDDictionary.init(json:))
            case "created": if let value { created = try TimestampDictionary(json: value, &strings) }
            case "modified": if let value { modified = try TimestampDictionary(json: value, &strings) }
            case "parent": parent = try value.map(ReferenceValue.init(json:))
            case "share": share = try value.map(ReferenceValue.init(json:))
            case "shortGUID": shortGUID = try value?.string()
            default: break
            }
        }
        guard let name else { throw json.missing("recordName", "a string") }
        guard let type else { throw json.missing("recordType", "a string") }
        guard let tag else { throw json.missing("recordChangeTag", "a string") }
        recordName = try name.string()
        recordType = try strings.string(type)
        recordChangeTag = try tag.string()
        if let fields { self.fields = EncodedFields(decoded: try RecordFields(json: fields)) }
        if recordType == Self.shareType {
            shareDetails = try ShareDictionary(json: json)
            shortGUID = nil
        }
    }

    /// Writes the record with its stored fields byte for byte.
    package func write(to writer: inout JSONWriter) {
        fields.bytes.withUnsafeBytes { fields in
            writer.record(
                name: recordName, type: recordType, changeTag: recordChangeTag, fields: fields,
                created: created.map(RecordStamp.init), modified: modified.map(RecordStamp.init), zoneID: zoneID,
                parent: { parent }, share: { share }, shortGUID: shortGUID, details: shareDetails)
        }
    }
}

extension RecordStamp<String> {
    fileprivate init(_ time: TimestampDictionary) {
        self.init(
            time: time.timestamp, userRecordName: time.userRecordName,
            hasAnyDevice: time.deviceID == TimestampDictionary.anyDevice, deviceID: time.deviceID)
    }
}

extension DeletedRecord {
    init(json: JSONValue) throws(WireError) {
        var name: JSONValue?
        self.init(recordName: "")
        for (key, value) in try json.members("a record") {
            let value = value.nonNull
            switch key {
            case "recordName": name = value
            case "recordType": recordType = try value?.string()
            case "zoneID": zoneID = try value.map(ZoneIDDictionary.init(json:))
            default: break
            }
        }
        guard let name else { throw json.missing("recordName", "a string") }
        recordName = try name.string()
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("recordName", recordName)
        writer.key("deleted")
        writer.bool(true)
        writer.member("recordType", recordType)
        if let zoneID {
            writer.key("zoneID")
            zoneID.write(to: &writer, withType: true)
        }
        writer.endObject()
    }
}
