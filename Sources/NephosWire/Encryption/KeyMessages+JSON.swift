extension JSONValue {
    /// Bytes in base64.
    func bytes() throws(WireError) -> [UInt8] {
        guard tag == JSONValue.Tag.string, let bytes = Base64.decodeLines(text.bytes) else {
            throw mismatch("a base64 string")
        }
        return bytes
    }
}

extension JSONWriter {
    mutating func array<Element>(_ elements: [Element], _ write: (Element, inout JSONWriter) -> Void) {
        beginArray()
        for element in elements { write(element, &self) }
        endArray()
    }

    mutating func member(_ name: StaticString, base64 bytes: [UInt8]) {
        key(name)
        base64(bytes)
    }

    mutating func member(_ name: StaticString, int64 value: Int64) {
        key(name)
        int64(value)
    }

    fileprivate mutating func member(_ name: StaticString, zoneID: ZoneIDDictionary?) {
        guard let zoneID else { return }
        key(name)
        zoneID.write(to: &self)
    }
}

extension WrappedRecordKey: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init(
            id: try json.required("id", "a base64 string") { (json) throws(WireError) in try json.bytes() },
            version: try json.required("version", "an integer") { (json) throws(WireError) in try json.int64() },
            wrapped: try json.required("wrapped", "a base64 string") { (json) throws(WireError) in try json.bytes() })
        for (key, value) in try json.members("an object") {
            switch key {
            case "group": group = try value.nonNull?.string() ?? ""
            case "inherited": isInherited = try value.nonNull?.bool() ?? false
            default: break
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("id", base64: id)
        if !group.isEmpty { writer.member("group", group) }
        writer.member("version", int64: version)
        writer.member("wrapped", base64: wrapped)
        if isInherited {
            writer.key("inherited")
            writer.bool(true)
        }
        writer.endObject()
    }
}

extension WrappedGroupKey: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        func bytes(_ name: StaticString) throws(WireError) -> [UInt8] {
            try json.required(name, "a base64 string") { (json) throws(WireError) in try json.bytes() }
        }
        self.init(
            version: try json.required("version", "an integer") { (json) throws(WireError) in try json.int64() },
            recipient: try bytes("recipient"), box: try bytes("box"), previous: try bytes("previous"),
            signer: try bytes("signer"), signature: try bytes("signature"))
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("version", int64: version)
        writer.member("recipient", base64: recipient)
        writer.member("box", base64: box)
        writer.member("previous", base64: previous)
        writer.member("signer", base64: signer)
        writer.member("signature", base64: signature)
        writer.endObject()
    }
}

extension AccountKeyBox: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init(
            device: try json.required("device", "a base64 string") { (json) throws(WireError) in try json.bytes() },
            version: try json.required("version", "an integer") { (json) throws(WireError) in try json.int64() },
            box: try json.required("box", "a base64 string") { (json) throws(WireError) in try json.bytes() })
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("device", base64: device)
        writer.member("version", int64: version)
        writer.member("box", base64: box)
        writer.endObject()
    }
}

extension DeviceMessage: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init(id: try json.required("id", "a base64 string") { (json) throws(WireError) in try json.bytes() })
        for (key, value) in try json.members("an object") {
            switch key {
            case "request": request = try value.nonNull?.bytes() ?? []
            case "reply": reply = try value.nonNull?.bytes() ?? []
            default: break
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("id", base64: id)
        if !request.isEmpty { writer.member("request", base64: request) }
        if !reply.isEmpty { writer.member("reply", base64: reply) }
        writer.endObject()
    }
}

extension AccountKeysRequest: WireMessage {
    package init(json: JSONValue) throws(WireError) {}

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.endObject()
    }
}

extension EnrollRequest: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init(
            position: try json.required("position", "an integer") { (json) throws(WireError) in try json.int64() },
            entry: try json.required("entry", "a base64 string") { (json) throws(WireError) in try json.bytes() })
        for (key, value) in try json.members("an object") {
            switch key {
            case "boxes": boxes = try value.nonNull?.elements("an array of boxes", AccountKeyBox.init(json:)) ?? []
            case "escrow": escrow = try value.nonNull?.bytes()
            case "message":
                message = try value.nonNull.map { (json) throws(WireError) in try DeviceMessage(json: json) }
            default: break
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("position", int64: position)
        writer.member("entry", base64: entry)
        writer.key("boxes")
        writer.array(boxes) { $0.write(to: &$1) }
        if let escrow { writer.member("escrow", base64: escrow) }
        if let message {
            writer.key("message")
            message.write(to: &writer)
        }
        writer.endObject()
    }
}

extension AccountKeysResponse: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init(escrows: false)
        for (key, value) in try json.members("an object") {
            let value = value.nonNull
            switch key {
            case "escrows": escrows = try value?.bool() ?? false
            case "escrow": escrow = try value?.bytes()
            case "entries":
                entries = try value?.elements("an array") { (json) throws(WireError) in try json.bytes() } ?? []
            case "boxes": boxes = try value?.elements("an array of boxes", AccountKeyBox.init(json:)) ?? []
            case "messages":
                messages = try value?.elements("an array of messages", DeviceMessage.init(json:)) ?? []
            default: break
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("escrows")
        writer.bool(escrows)
        if let escrow { writer.member("escrow", base64: escrow) }
        writer.key("entries")
        writer.array(entries) { $1.base64($0) }
        writer.key("boxes")
        writer.array(boxes) { $0.write(to: &$1) }
        if !messages.isEmpty {
            writer.key("messages")
            writer.array(messages) { $0.write(to: &$1) }
        }
        writer.endObject()
    }
}

extension WrappedLink: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init(
            version: try json.required("version", "an integer") { (json) throws(WireError) in try json.int64() },
            key: try json.required("key", "a base64 string") { (json) throws(WireError) in try json.bytes() },
            secret: try json.required("secret", "a base64 string") { (json) throws(WireError) in try json.bytes() })
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("version", int64: version)
        writer.member("key", base64: key)
        writer.member("secret", base64: secret)
        writer.endObject()
    }
}

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
            case "ownerEntries":
                ownerEntries = try value.elements("an array") { (json) throws(WireError) in try json.bytes() }
            case "members": members = try value.elements("an array of members", Member.init(json:))
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
        if !ownerEntries.isEmpty {
            writer.key("ownerEntries")
            writer.array(ownerEntries) { $1.base64($0) }
        }
        if !members.isEmpty {
            writer.key("members")
            writer.array(members) { $0.write(to: &$1) }
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
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("userRecordName", userRecordName)
        writer.key("entries")
        writer.array(entries) { $1.base64($0) }
        writer.member("recipient", base64: recipient)
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
        if !records.isEmpty {
            writer.key("records")
            writer.array(records) { $0.write(to: &$1) }
        }
        if let settled { writer.member("settled", int64: settled) }
        writer.endObject()
    }
}
