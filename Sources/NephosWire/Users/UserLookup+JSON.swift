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

extension UserLookupRequest: WireMessage {
    /// `users/discover` calls them `lookupInfos`, `users/lookup/…` calls them `users`.
    package init(json: JSONValue) throws(WireError) {
        self.init()
        for (key, value) in try json.members("an object") {
            switch key {
            case "lookupInfos", "users":
                guard let value = value.nonNull else { continue }
                lookupInfos = try value.elements("an array of lookup infos", LookupInfo.init(json:))
            default: break
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        if let lookupInfos {
            writer.key("lookupInfos")
            writer.beginArray()
            for info in lookupInfos { info.write(to: &writer) }
            writer.endArray()
        }
        writer.endObject()
    }
}

extension UsersResponse: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init(
            users: try json.required("users", "an array") { (users) throws(WireError) in
                try users.elements("an array of users", UserDictionary.init(json:))
            })
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("users")
        writer.beginArray()
        for user in users { user.write(to: &writer) }
        writer.endArray()
        writer.endObject()
    }
}
