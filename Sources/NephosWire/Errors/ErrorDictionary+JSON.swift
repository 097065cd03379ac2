extension ErrorDictionary: WireMessage {
    /// Returns whether an item of a result array is an error. An item is an error exactly if it has a
    /// `serverErrorCode`.
    static func describes(_ json: JSONValue) -> Bool {
        guard json.isObject else { return false }
        return JSONMembers(of: json).contains { key, value in "serverErrorCode" ~= key && !value.isNull }
    }

    /// Decodes an error. A code unknown to this library becomes `INTERNAL_ERROR`, and the reason names the code.
    package init(json: JSONValue) throws(WireError) {
        var code: JSONValue?
        self.init(uuid: "", serverErrorCode: .internalError, reason: "")
        for (key, value) in try json.members("an error") {
            let value = value.nonNull
            switch key {
            case "uuid": uuid = try value?.string() ?? ""
            case "serverErrorCode": code = value
            case "reason": reason = try value?.content() ?? ""
            case "retryAfter": retryAfter = try value?.double()
            case "redirectURL", "redirectUrl": redirectURL = try value?.string()
            case "recordName": recordName = try value?.string()
            case "zoneID": zoneID = try value.map(ZoneIDDictionary.init(json:))
            case "subscriptionID", "subscriptionId": subscriptionID = try value?.string()
            case "nephosErrorCode":
                clientErrorCode = try value.map { (value) throws(WireError) in Int(try value.int64()) }
            case "nephosUserDidResetEncryptedData": userDidResetEncryptedData = try value?.bool() ?? false
            case "nephosNeedsKeys": needsKeys = try value?.bool() ?? false
            case "nephosKeyGroup": keyGroup = try value?.string()
            case "nephosNeedsFile": needsFile = try value?.bool() ?? false
            case "nephosDuplicateOf": duplicateOf = try value?.string()
            case "serverRecord":
                serverRecord =
                    try value.map { (value) throws(WireError) in
                        [try RecordDictionary(json: value)]
                    } ?? []
            default: break
            }
        }
        guard let code else { throw json.missing("serverErrorCode", "a string") }
        let name = try code.string()
        if let known = ServerErrorCode(rawValue: name) {
            serverErrorCode = known
        } else {
            reason = reason.isEmpty ? name : "\(name): \(reason)"
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("uuid", uuid)
        writer.member("serverErrorCode", serverErrorCode.rawValue)
        writer.member("reason", reason)
        if let retryAfter {
            writer.key("retryAfter")
            // Whole seconds are sent as an integer, as Apple does.
            if let seconds = Int64(exactly: retryAfter) { writer.int64(seconds) } else { writer.double(retryAfter) }
        }
        writer.member("redirectURL", redirectURL)
        writer.member("recordName", recordName)
        if let zoneID {
            writer.key("zoneID")
            zoneID.write(to: &writer, withType: true)
        }
        writer.member("subscriptionID", subscriptionID)
        if let clientErrorCode {
            writer.key("nephosErrorCode")
            writer.int64(Int64(clientErrorCode))
        }
        func writeFlag(_ name: StaticString, _ isSet: Bool) {
            guard isSet else { return }
            writer.key(name)
            writer.bool(true)
        }
        writeFlag("nephosUserDidResetEncryptedData", userDidResetEncryptedData)
        writeFlag("nephosNeedsKeys", needsKeys)
        writer.member("nephosKeyGroup", keyGroup)
        writeFlag("nephosNeedsFile", needsFile)
        writer.member("nephosDuplicateOf", duplicateOf)
        if let record = serverRecord.first {
            writer.key("serverRecord")
            record.write(to: &writer)
        }
        writer.endObject()
    }
}
