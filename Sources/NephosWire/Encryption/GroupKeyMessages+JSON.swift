extension LookupKeysRequest: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init,
        .optional("zoneID", \.zoneID, .zoneID),
        .member("group", \.group, .string, ifAbsent: "", omits: true),
        .member("wantsGroup", \.wantsGroup, .bool, ifAbsent: false),
        .flag("wantsMembers", \.wantsMembers),
        .member("missingBelow", \.missingBelow, .strings, ifAbsent: [], omits: true),
        .flag("wantsLeft", \.wantsLeft),
        .member("recordNames", \.recordNames, .strings, ifAbsent: []))
}

extension KeysResponse: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init,
        .member("group", \.group, keys, ifAbsent: []),
        .member("boxes", \.boxes, keys, ifAbsent: [], omits: true),
        .optional("link", \.link, WrappedLink.codec),
        .member("oneTimeLinks", \.oneTimeLinks, OneTimeLink.list, ifAbsent: [], omits: true),
        .member(
            "signers", \.signers, .array("an array of signers", of: GroupSigner.codec), ifAbsent: [], omits: true),
        .member("ownerEntries", \.ownerEntries, .listOfBase64, ifAbsent: [], omits: true),
        .member("members", \.members, .array("an array of members", of: Member.codec), ifAbsent: [], omits: true),
        .flag("perZone", \.isPerZone),
        .flag("shared", \.isShared),
        .flag("wantsLink", \.wantsLink),
        .flag("stale", \.isStale),
        .member("attention", \.attention, .int64, ifAbsent: Int64(0), omits: true),
        .flag("left", \.hasLeft),
        .optional("participants", \.participants, .base64),
        .member("unsigned", \.unsigned, .strings, ifAbsent: [], omits: true),
        .flag("open", \.isOpen),
        .member("records", \.records, Record.list, ifAbsent: []),
        .flag("hasMore", \.hasMore))

    private static let keys = Codec<[WrappedGroupKey]>.array("an array of keys", of: WrappedGroupKey.codec)

    package var estimatedSize: Int { 256 + 512 * (group.count + boxes.count + members.count) + 256 * records.count }
}

extension KeysResponse.Record {
    fileprivate static let list = Codec<[Self]>.array("an array of records", of: codec)

    private static let codec = Codec<Self>(
        Self.init, .required("recordName", \.recordName, .string),
        .required("keys", \.keys, .array("an array of keys", of: .message("a key")), "an array of keys"))
}

extension KeysResponse.Member {
    fileprivate static let codec = Codec<Self>(
        Self.init,
        .required("userRecordName", \.userRecordName, .string),
        .required("entries", \.entries, .listOfBase64),
        .required("recipient", \.recipient, .base64),
        .flag("administrator", \.isAdministrator),
        .optional("oneTimeId", \.oneTimeID, .string),
        .member("participantId", \.participantID, .string, ifAbsent: "", omits: true),
        .flag("joinedByUrl", \.joinedByURL))
}

extension OneTimeLink {
    fileprivate static let list = Codec<[Self]>.array("an array of links", of: codec)
}

extension GroupBox {
    fileprivate static let codec = Codec<Self>(
        Self.init, .required("userRecordName", \.userRecordName, .string),
        .required("key", \.key, WrappedGroupKey.codec, "a key"))
}

extension PutGroupKeyRequest: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init,
        .optional("zoneID", \.zoneID, .zoneID),
        .member("group", \.group, .string, ifAbsent: "", omits: true),
        .optional("key", \.key, WrappedGroupKey.codec),
        .member("boxes", \.boxes, .array("an array of keys", of: GroupBox.codec), ifAbsent: [], omits: true),
        .optional("link", \.link, WrappedLink.codec),
        .member("oneTimeLinks", \.oneTimeLinks, OneTimeLink.list, ifAbsent: [], omits: true),
        .member("records", \.records, KeysResponse.Record.list, ifAbsent: [], omits: true),
        .optional("settled", \.settled, .int64),
        .optional("participants", \.participants, .base64))
}
