extension TimestampDictionary {
    init(json: JSONValue) throws(WireError) {
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
        self.init(
            timestamp: try time.milliseconds(), userRecordName: try user?.string() ?? "",
            deviceID: try device?.string())
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("timestamp")
        writer.int64(timestamp)
        writer.key("userRecordName")
        writer.string(userRecordName)
        writer.member("deviceID", deviceID)
        writer.endObject()
    }
}

extension RecordDictionary {
    init(json: JSONValue) throws(WireError) {
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
            case "created": created = try value.map(TimestampDictionary.init(json:))
            case "modified": modified = try value.map(TimestampDictionary.init(json:))
            case "parent": parent = try value.map(ReferenceValue.init(json:))
            case "share": share = try value.map(ReferenceValue.init(json:))
            default: break
            }
        }
        guard let name else { throw json.missing("recordName", "a string") }
        guard let type else { throw json.missing("recordType", "a string") }
        guard let tag else { throw json.missing("recordChangeTag", "a string") }
        recordName = try name.string()
        recordType = try type.string()
        recordChangeTag = try tag.string()
        if let fields { self.fields = try RecordFields(json: fields).encoded() }
    }

    /// Writes the record with its stored fields byte for byte.
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("recordName")
        writer.string(recordName)
        writer.key("recordType")
        writer.string(recordType)
        writer.key("recordChangeTag")
        writer.string(recordChangeTag)
        writer.key("fields")
        writer.verbatim(fields.bytes)
        writer.key("pluginFields")
        writer.beginObject()
        writer.endObject()
        writer.key("deleted")
        writer.bool(false)
        if let created {
            writer.key("created")
            created.write(to: &writer)
        }
        if let modified {
            writer.key("modified")
            modified.write(to: &writer)
        }
        if let zoneID {
            writer.key("zoneID")
            zoneID.write(to: &writer, withType: true)
        }
        if let parent {
            writer.key("parent")
            parent.write(to: &writer, withAction: false)
        }
        if let share {
            writer.key("share")
            share.write(to: &writer, withAction: false)
        }
        writer.endObject()
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
