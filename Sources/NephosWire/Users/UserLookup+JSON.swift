extension UserLookupRequest.LookupInfo {
    init(json: JSONValue) throws(WireError) {
        self.init()
        for (key, value) in try json.members("a lookup info") {
            switch key {
            case "emailAddress": emailAddress = try value.nonNull?.string()
            case "phoneNumber": phoneNumber = try value.nonNull?.string()
            case "userRecordName": userRecordName = try value.nonNull?.string()
            default: break
            }
        }
        if self == Self() { throw json.failure("expected one of emailAddress, phoneNumber, userRecordName") }
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("emailAddress", emailAddress)
        writer.member("phoneNumber", phoneNumber)
        writer.member("userRecordName", userRecordName)
        writer.endObject()
    }
}

extension UserLookupRequest: CodedMessage {
    /// `users/discover` calls the lookup infos `lookupInfos`, and `users/lookup/…` calls them `users`.
    package static let codec = Codec<Self>(
        Self.init,
        .optional(
            "lookupInfos", or: "users", \.lookupInfos, .array("an array of lookup infos", of: LookupInfo.codec)))
}

extension UserLookupRequest.LookupInfo {
    fileprivate static let codec = Codec<Self>("a lookup info", read: Self.init(json:)) { $0.write(to: &$1) }
}

extension UsersResponse: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init, .required("users", \.users, .array("an array of users", of: .message("a user"))))
}
