extension LookupKeysRequest: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init(zoneID: nil, wantsGroup: false)
        for (key, value) in try json.members("an object") {
            let value = value.nonNull
            switch key {
            case "zoneID": zoneID = try value.map(ZoneIDDictionary.init(json:))
            case "group": group = try value?.string() ?? ""
            case "wantsGroup": wantsGroup = try value?.bool() ?? false
            case "wantsMembers": wantsMembers = try value?.bool() ?? false
            case "missingBelow": missingBelow = try value?.arrayOfStrings() ?? []
            case "wantsLeft": wantsLeft = try value?.bool() ?? false
            case "recordNames": recordNames = try value?.arrayOfStrings() ?? []
            default: break
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("zoneID", zoneID: zoneID)
        if !group.isEmpty { writer.member("group", group) }
        writer.key("wantsGroup")
        writer.bool(wantsGroup)
        writer.member("wantsMembers", flag: wantsMembers)
        if !missingBelow.isEmpty { writer.member("missingBelow", missingBelow) }
        writer.member("wantsLeft", flag: wantsLeft)
        writer.member("recordNames", recordNames)
        writer.endObject()
    }
}

extension KeysResponse: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init()
        for (key, value) in try json.members("an object") {
            guard let value = value.nonNull else { continue }
            switch key {
            case "group": group = try value.elements("an array of keys", WrappedGroupKey.init(json:))
            case "boxes": boxes = try value.elements("an array of keys", WrappedGroupKey.init(json:))
            case "link": link = try WrappedLink(json: value)
            case "oneTimeLinks": oneTimeLinks = try value.elements("an array of links", OneTimeLink.init(json:))
            case "signers": signers = try value.elements("an array of signers", GroupSigner.init(json:))
            case "ownerEntries":
                ownerEntries = try value.arrayOfBytes()
            case "members": members = try value.elements("an array of members", Member.init(json:))
            case "perZone": isPerZone = try value.bool()
            case "shared": isShared = try value.bool()
            case "wantsLink": wantsLink = try value.bool()
            case "stale": isStale = try value.bool()
            case "attention": attention = try value.int64()
            case "left": hasLeft = try value.bool()
            case "records": records = try value.elements("an array of records", Record.init(json:))
            case "hasMore": hasMore = try value.bool()
            default: break
            }
        }
    }

    package var estimatedSize: Int { 256 + 512 * (group.count + boxes.count + members.count) + 256 * records.count }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("group")
        writer.array(group) { $0.write(to: &$1) }
        writer.member("boxes", array: boxes) { $0.write(to: &$1) }
        if let link {
            writer.key("link")
            link.write(to: &writer)
        }
        writer.member("oneTimeLinks", array: oneTimeLinks) { $0.write(to: &$1) }
        writer.member("signers", array: signers) { $0.write(to: &$1) }
        writer.member("ownerEntries", array: ownerEntries) { $1.base64($0) }
        writer.member("members", array: members) { $0.write(to: &$1) }
        writer.member("perZone", flag: isPerZone)
        writer.member("shared", flag: isShared)
        writer.member("wantsLink", flag: wantsLink)
        writer.member("stale", flag: isStale)
        if attention != 0 { writer.member("attention", int64: attention) }
        writer.member("left", flag: hasLeft)
        writer.key("records")
        writer.array(records) { $0.write(to: &$1) }
        writer.member("hasMore", flag: hasMore)
        writer.endObject()
    }
}

extension KeysResponse.Record {
    init(json: JSONValue) throws(WireError) {
        self.init(
            recordName: try json.requiredString("recordName"),
            keys: try json.required("keys", "an array of keys") { (json) throws(WireError) in
                try json.elements("an array of keys", WrappedRecordKey.init(json:))
            })
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("recordName", recordName)
        writer.key("keys")
        writer.array(keys) { $0.write(to: &$1) }
        writer.endObject()
    }
}

extension KeysResponse.Member {
    init(json: JSONValue) throws(WireError) {
        self.init(
            userRecordName: try json.requiredString("userRecordName"),
            entries: try json.requiredArrayOfBytes("entries"),
            recipient: try json.requiredBytes("recipient"))
        for (key, value) in try json.members("an object") {
            switch key {
            case "administrator": isAdministrator = try value.nonNull?.bool() ?? false
            case "oneTimeId": oneTimeID = try value.nonNull?.string()
            default: break
            }
        }
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("userRecordName", userRecordName)
        writer.key("entries")
        writer.array(entries) { $1.base64($0) }
        writer.member("recipient", base64: recipient)
        writer.member("administrator", flag: isAdministrator)
        if let oneTimeID { writer.member("oneTimeId", oneTimeID) }
        writer.endObject()
    }
}

extension GroupBox {
    init(json: JSONValue) throws(WireError) {
        self.init(
            userRecordName: try json.requiredString("userRecordName"),
            key: try json.required("key", "a key", WrappedGroupKey.init(json:)))
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("userRecordName", userRecordName)
        writer.key("key")
        key.write(to: &writer)
        writer.endObject()
    }
}

extension PutGroupKeyRequest: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init(zoneID: nil)
        for (key, value) in try json.members("an object") {
            guard let value = value.nonNull else { continue }
            switch key {
            case "zoneID": zoneID = try ZoneIDDictionary(json: value)
            case "group": group = try value.string()
            case "key": self.key = try WrappedGroupKey(json: value)
            case "boxes": boxes = try value.elements("an array of keys", GroupBox.init(json:))
            case "link": link = try WrappedLink(json: value)
            case "oneTimeLinks": oneTimeLinks = try value.elements("an array of links", OneTimeLink.init(json:))
            case "records": records = try value.elements("an array of records", KeysResponse.Record.init(json:))
            case "settled": settled = try value.int64()
            default: break
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("zoneID", zoneID: zoneID)
        if !group.isEmpty { writer.member("group", group) }
        if let key {
            writer.key("key")
            key.write(to: &writer)
        }
        writer.member("boxes", array: boxes) { $0.write(to: &$1) }
        if let link {
            writer.key("link")
            link.write(to: &writer)
        }
        writer.member("oneTimeLinks", array: oneTimeLinks) { $0.write(to: &$1) }
        writer.member("records", array: records) { $0.write(to: &$1) }
        if let settled { writer.member("settled", int64: settled) }
        writer.endObject()
    }
}
