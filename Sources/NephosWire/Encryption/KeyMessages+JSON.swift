extension JSONValue {
    /// Decodes a base64 string to its bytes.
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
        writer.flag("inherited", isInherited)
        writer.flag("spent", isSpent)
        if !groupKeyID.isEmpty { writer.member("groupKey", base64: groupKeyID) }
        writer.endObject()
    }
}

extension WrappedGroupKey: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init,
        .required("version", \.version, .int64),
        .required("recipient", \.recipient, .base64),
        .required("box", \.box, .base64),
        .required("previous", \.previous, .base64),
        .required("signer", \.signer, .base64),
        .required("signature", \.signature, .base64),
        .member("administrators", \.administrators, .listOfBase64, ifAbsent: [], omits: true))
}

extension AccountKeyBox: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init, .required("device", \.device, .base64), .required("version", \.version, .int64),
        .required("box", \.box, .base64))
}

extension DeviceMessage: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init, .required("id", \.id, .base64), .member("request", \.request, .base64, ifAbsent: [], omits: true),
        .member("reply", \.reply, .base64, ifAbsent: [], omits: true))
}

extension EmptyKeysRequest: WireMessage {
    package init(json: JSONValue) throws(WireError) {}

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.endObject()
    }
}

extension EnrollRequest: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init,
        .required("position", \.position, .int64),
        .required("entry", \.entry, .base64),
        .member("boxes", \.boxes, .array("an array of boxes", of: AccountKeyBox.codec), ifAbsent: []),
        .optional("escrow", \.escrow, .base64),
        .optional("message", \.message, DeviceMessage.codec))
}

extension AccountKeysResponse: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init,
        .member("escrows", \.escrows, .bool, ifAbsent: false),
        .optional("escrow", \.escrow, .base64),
        .member("entries", \.entries, .listOfBase64, ifAbsent: []),
        .member("boxes", \.boxes, .array("an array of boxes", of: AccountKeyBox.codec), ifAbsent: []),
        .member(
            "messages", \.messages, .array("an array of messages", of: DeviceMessage.codec), ifAbsent: [], omits: true))
}

extension WrappedLink: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init, .required("version", \.version, .int64), .required("key", \.key, .base64),
        .required("secret", \.secret, .base64))
}

extension OneTimeLink {
    static let codec = Codec<Self>(
        Self.init, .required("participantId", \.participantID, .string),
        .required("link", \.link, WrappedLink.codec, "a link"))
}

extension GroupSigner: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init, .required("userRecordName", \.userRecordName, .string),
        .required("entries", \.entries, .listOfBase64))
}
