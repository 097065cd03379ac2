extension ModifyRecordsRequest: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        var operations: JSONValue?
        self.init(operations: [])
        for (key, value) in try json.members("an object") {
            let value = value.nonNull
            switch key {
            case "operations": operations = value
            case "zoneID": zoneID = try value.map(ZoneIDDictionary.init(json:))
            case "atomic": atomic = try value?.bool()
            case "desiredKeys": desiredKeys = try value?.desiredNames()
            case "numbersAsStrings": numbersAsStrings = try value?.bool() ?? false
            case "nephosServerRecord": wantsServerRecord = try value?.bool() ?? false
            case "nephosLacksKeys": lacksKeys = try value?.bool() ?? false
            case "clientChangeToken": clientChangeToken = try value?.string()
            case "nephosRequestKey": requestKey = try value?.string()
            default: break
            }
        }
        guard let operations else { throw json.missing("operations", "an array of operations") }
        self.operations = try operations.elements("an array of operations", RecordOperation.init(json:))
    }

    package var estimatedSize: Int { 256 + 512 * operations.count }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("operations")
        writer.beginArray()
        for operation in operations { operation.write(to: &writer) }
        writer.endArray()
        writer.members(zoneID: zoneID, desiredKeys: desiredKeys, numbersAsStrings: numbersAsStrings)
        if let atomic {
            writer.key("atomic")
            writer.bool(atomic)
        }
        if wantsServerRecord {
            writer.key("nephosServerRecord")
            writer.bool(true)
        }
        if lacksKeys {
            writer.key("nephosLacksKeys")
            writer.bool(true)
        }
        writer.member("clientChangeToken", clientChangeToken)
        writer.member("nephosRequestKey", requestKey)
        writer.endObject()
    }
}

extension LookupRecordsRequest.Item {
    init(json: JSONValue) throws(WireError) {
        var name: JSONValue?
        self.init(recordName: "")
        for (key, value) in try json.members("a dictionary with the key \"recordName\"") {
            let value = value.nonNull
            switch key {
            case "recordName": name = value
            case "zoneID": zoneID = try value.map(ZoneIDDictionary.init(json:))
            case "desiredKeys": desiredKeys = try value?.desiredNames()
            default: break
            }
        }
        guard let name else { throw json.missing("recordName", "a string") }
        recordName = try name.string()
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("recordName", recordName)
        writer.members(zoneID: zoneID, desiredKeys: desiredKeys, numbersAsStrings: false)
        writer.endObject()
    }
}

extension LookupRecordsRequest: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        var records: JSONValue?
        self.init(records: [])
        for (key, value) in try json.members("an object") {
            let value = value.nonNull
            switch key {
            case "records": records = value
            case "zoneID": zoneID = try value.map(ZoneIDDictionary.init(json:))
            case "desiredKeys": desiredKeys = try value?.desiredNames()
            case "numbersAsStrings": numbersAsStrings = try value?.bool() ?? false
            default: break
            }
        }
        guard let records else { throw json.missing("records", "an array of records") }
        self.records = try records.elements("an array of records", Item.init(json:))
    }

    package var estimatedSize: Int { 256 + 96 * records.count }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("records")
        writer.beginArray()
        for record in records { record.write(to: &writer) }
        writer.endArray()
        writer.members(zoneID: zoneID, desiredKeys: desiredKeys, numbersAsStrings: numbersAsStrings)
        writer.endObject()
    }
}

extension JSONWriter {
    fileprivate mutating func members(zoneID: ZoneIDDictionary?, desiredKeys: [String]?, numbersAsStrings: Bool) {
        if let zoneID {
            key("zoneID")
            zoneID.write(to: &self)
        }
        member("desiredKeys", desiredKeys)
        if numbersAsStrings {
            key("numbersAsStrings")
            bool(true)
        }
    }
}
