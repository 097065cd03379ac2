extension RecordToModify {
    init(json: JSONValue) throws(WireError) {
        var fields: JSONValue?
        self.init()
        for (key, value) in try json.members("a record") {
            switch key {
            case "recordName": recordName = try value.nonNull?.string()
            case "recordType": recordType = try value.nonNull?.string()
            case "recordChangeTag": recordChangeTag = try value.nonNull?.string()
            case "zoneID": zoneID = try value.nonNull.map(ZoneIDDictionary.init(json:))
            case "fields": fields = value.nonNull
            case "createShortGUID": createShortGUID = try value.nonNull?.bool() ?? false
            case "nephosKeys":
                keys = try value.nonNull?.elements("an array of keys", WrappedRecordKey.init(json:)) ?? []
            case "nephosKeep": keep = try value.nonNull?.arrayOfStrings() ?? []
            // Here `null` differs from an absent key: `null` removes the parent.
            case "parent":
                parent =
                    try value.nonNull.map { (value) throws(WireError) in
                        .set(try ReferenceValue(json: value))
                    } ?? .clear
            default: break
            }
        }
        if let fields { self.fields = try RecordFields(json: fields) }
        // An update can omit the type, so a record without a type is decoded as a share too.
        if recordType == nil || recordType == RecordDictionary.shareType { share = try ShareToModify(json: json) }
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("recordName", recordName)
        writer.member("recordType", recordType)
        writer.member("recordChangeTag", recordChangeTag)
        if let zoneID {
            writer.key("zoneID")
            zoneID.write(to: &writer)
        }
        if !fields.isEmpty {
            writer.key("fields")
            fields.writeRequest(to: &writer)
        }
        switch parent {
        case .keep: break
        case .clear:
            writer.key("parent")
            writer.null()
        case .set(let reference):
            writer.key("parent")
            reference.write(to: &writer, withAction: reference.action != .none)
        }
        if createShortGUID {
            writer.key("createShortGUID")
            writer.bool(true)
        }
        share?.writeMembers(to: &writer)
        if !keys.isEmpty {
            writer.key("nephosKeys")
            writer.array(keys) { $0.write(to: &$1) }
        }
        if !keep.isEmpty { writer.member("nephosKeep", keep) }
        writer.endObject()
    }
}

extension RecordOperation {
    private static let typeNames = OperationType.allCases.map(\.rawValue)

    init(json: JSONValue) throws(WireError) {
        var type: JSONValue?
        var record: JSONValue?
        var keys: JSONValue?
        var numbersAsStrings: JSONValue?
        for (key, value) in try json.members("an operation") {
            switch key {
            case "operationType": type = value.nonNull
            case "record": record = value.nonNull
            case "desiredKeys": keys = value.nonNull
            case "numbersAsStrings": numbersAsStrings = value.nonNull
            default: break
            }
        }
        guard let type else {
            throw json.missing("operationType", "one of " + Self.typeNames.joined(separator: ", "))
        }
        guard let record else { throw json.missing("record", "a record") }
        self.init(
            operationType: try type.oneOf(OperationType.self, names: Self.typeNames),
            record: try RecordToModify(json: record), desiredKeys: try keys?.desiredNames(),
            numbersAsStrings: try numbersAsStrings?.bool())
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("operationType")
        writer.string(operationType.rawValue)
        writer.key("record")
        record.write(to: &writer)
        writer.member("desiredKeys", desiredKeys)
        if let numbersAsStrings {
            writer.key("numbersAsStrings")
            writer.bool(numbersAsStrings)
        }
        writer.endObject()
    }
}
