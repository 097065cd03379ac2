extension JSONValue {
    /// Bytes in base64.
    func bytes() throws(WireError) -> [UInt8] {
        guard tag == JSONValue.Tag.string, let bytes = Base64.decodeLines(text.bytes) else {
            throw mismatch("a base64 string")
        }
        return bytes
    }

    func arrayOfBytes() throws(WireError) -> [[UInt8]] {
        try elements("an array") { (json) throws(WireError) in try json.bytes() }
    }
}

extension JSONWriter {
    mutating func array<Element>(_ elements: [Element], _ write: (Element, inout JSONWriter) -> Void) {
        beginArray()
        for element in elements { write(element, &self) }
        endArray()
    }

    /// Omits an empty array.
    mutating func member<Element>(
        _ name: StaticString, array elements: [Element], _ write: (Element, inout JSONWriter) -> Void
    ) {
        if elements.isEmpty { return }
        key(name)
        array(elements, write)
    }

    /// Omits false.
    mutating func member(_ name: StaticString, flag: Bool) {
        if !flag { return }
        key(name)
        bool(true)
    }

    mutating func member(_ name: StaticString, base64 bytes: [UInt8]) {
        key(name)
        base64(bytes)
    }

    mutating func member(_ name: StaticString, int64 value: Int64) {
        key(name)
        int64(value)
    }

    mutating func member(_ name: StaticString, zoneID: ZoneIDDictionary?) {
        guard let zoneID else { return }
        key(name)
        zoneID.write(to: &self)
    }
}

extension WrappedRecordKey: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init(
            id: try json.requiredBytes("id"),
            version: try json.requiredInt64("version"),
            wrapped: try json.requiredBytes("wrapped"))
        for (key, value) in try json.members("an object") {
            switch key {
            case "group": group = try value.nonNull?.string() ?? ""
            case "inherited": isInherited = try value.nonNull?.bool() ?? false
            case "spent": isSpent = try value.nonNull?.bool() ?? false
            case "groupKey": groupKeyID = try value.nonNull?.bytes() ?? []
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
        writer.member("inherited", flag: isInherited)
        writer.member("spent", flag: isSpent)
        if !groupKeyID.isEmpty { writer.member("groupKey", base64: groupKeyID) }
        writer.endObject()
    }
}

extension WrappedGroupKey: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        func bytes(_ name: StaticString) throws(WireError) -> [UInt8] {
            try json.required(name, "a base64 string") { (json) throws(WireError) in try json.bytes() }
        }
        self.init(
            version: try json.requiredInt64("version"),
            recipient: try bytes("recipient"), box: try bytes("box"), previous: try bytes("previous"),
            signer: try bytes("signer"), signature: try bytes("signature"))
        for (key, value) in try json.members("an object") {
            switch key {
            case "administrators":
                administrators =
                    try value.nonNull?.arrayOfBytes() ?? []
            default: break
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("version", int64: version)
        writer.member("recipient", base64: recipient)
        writer.member("box", base64: box)
        writer.member("previous", base64: previous)
        writer.member("signer", base64: signer)
        writer.member("signature", base64: signature)
        writer.member("administrators", array: administrators) { $1.base64($0) }
        writer.endObject()
    }
}

extension AccountKeyBox: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init(
            device: try json.requiredBytes("device"),
            version: try json.requiredInt64("version"),
            box: try json.requiredBytes("box"))
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
        self.init(id: try json.requiredBytes("id"))
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
            position: try json.requiredInt64("position"),
            entry: try json.requiredBytes("entry"))
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
                entries = try value?.arrayOfBytes() ?? []
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
        writer.member("messages", array: messages) { $0.write(to: &$1) }
        writer.endObject()
    }
}

extension WrappedLink: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init(
            version: try json.requiredInt64("version"),
            key: try json.requiredBytes("key"),
            secret: try json.requiredBytes("secret"))
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("version", int64: version)
        writer.member("key", base64: key)
        writer.member("secret", base64: secret)
        writer.endObject()
    }
}

extension ResetKeysRequest: WireMessage {
    package init(json: JSONValue) throws(WireError) {}

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.endObject()
    }
}

extension OneTimeLink {
    init(json: JSONValue) throws(WireError) {
        self.init(
            participantID: try json.requiredString("participantId"),
            link: try json.required("link", "a link", WrappedLink.init(json:)))
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("participantId", participantID)
        writer.key("link")
        link.write(to: &writer)
        writer.endObject()
    }
}

extension GroupSigner: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init(
            userRecordName: try json.requiredString("userRecordName"),
            entries: try json.requiredArrayOfBytes("entries"))
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("userRecordName", userRecordName)
        writer.key("entries")
        writer.array(entries) { $1.base64($0) }
        writer.endObject()
    }
}
