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
        if wantsMembers {
            writer.key("wantsMembers")
            writer.bool(true)
        }
        if !missingBelow.isEmpty { writer.member("missingBelow", missingBelow) }
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
                ownerEntries = try value.elements("an array") { (json) throws(WireError) in try json.bytes() }
            case "members": members = try value.elements("an array of members", Member.init(json:))
            case "shared": isShared = try value.bool()
            case "stale": isStale = try value.bool()
            case "attention": attention = try value.int64()
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
        if !boxes.isEmpty {
            writer.key("boxes")
            writer.array(boxes) { $0.write(to: &$1) }
        }
        if let link {
            writer.key("link")
            link.write(to: &writer)
        }
        if !oneTimeLinks.isEmpty {
            writer.key("oneTimeLinks")
            writer.array(oneTimeLinks) { $0.write(to: &$1) }
        }
        if !signers.isEmpty {
            writer.key("signers")
            writer.array(signers) { $0.write(to: &$1) }
        }
        if !ownerEntries.isEmpty {
            writer.key("ownerEntries")
            writer.array(ownerEntries) { $1.base64($0) }
        }
        if !members.isEmpty {
            writer.key("members")
            writer.array(members) { $0.write(to: &$1) }
        }
        if isShared {
            writer.key("shared")
            writer.bool(true)
        }
        if isStale {
            writer.key("stale")
            writer.bool(true)
        }
        if attention != 0 { writer.member("attention", int64: attention) }
        writer.key("records")
        writer.array(records) { $0.write(to: &$1) }
        if hasMore {
            writer.key("hasMore")
            writer.bool(true)
        }
        writer.endObject()
    }
}

extension KeysResponse.Record {
    init(json: JSONValue) throws(WireError) {
        self.init(
            recordName: try json.required("recordName", "a string") { (json) throws(WireError) in try json.string() },
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
            userRecordName: try json.required("userRecordName", "a string") { (json) throws(WireError) in
                try json.string()
            },
            entries: try json.required("entries", "an array") { (json) throws(WireError) in
                try json.elements("an array") { (json) throws(WireError) in try json.bytes() }
            },
            recipient: try json.required("recipient", "a base64 string") { (json) throws(WireError) in
                try json.bytes()
            })
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
        if isAdministrator {
            writer.key("administrator")
            writer.bool(true)
        }
        if let oneTimeID { writer.member("oneTimeId", oneTimeID) }
        writer.endObject()
    }
}

extension GroupBox {
    init(json: JSONValue) throws(WireError) {
        self.init(
            userRecordName: try json.required("userRecordName", "a string") { (json) throws(WireError) in
                try json.string()
            }, key: try json.required("key", "a key", WrappedGroupKey.init(json:)))
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
        if !boxes.isEmpty {
            writer.key("boxes")
            writer.array(boxes) { $0.write(to: &$1) }
        }
        if let link {
            writer.key("link")
            link.write(to: &writer)
        }
        if !oneTimeLinks.isEmpty {
            writer.key("oneTimeLinks")
            writer.array(oneTimeLinks) { $0.write(to: &$1) }
        }
        if !records.isEmpty {
            writer.key("records")
            writer.array(records) { $0.write(to: &$1) }
        }
        if let settled { writer.member("settled", int64: settled) }
        writer.endObject()
    }
}
