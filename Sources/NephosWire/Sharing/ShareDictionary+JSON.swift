extension ShareDictionary {
    init(json: JSONValue) throws(WireError) {
        self.init(publicPermission: .none, participants: [])
        for (key, value) in try json.members("a share") {
            guard let value = value.nonNull else { continue }
            switch key {
            case "shortGUID": shortGUID = try value.string()
            case "publicPermission": publicPermission = try SharePermission(json: value)
            case "participants": participants = try value.participants()
            case "owner": owner = try ParticipantDictionary(json: value)
            case "currentUserParticipant": currentUserParticipant = try ParticipantDictionary(json: value)
            case "denyAccessRequests": deniesAccessRequests = try value.bool()
            case "requesters": requesters = try value.identities()
            case "blocked": blocked = try value.identities()
            case "nephosRootRecordName": rootRecordName = try value.string()
            case "nephosHasKeys": hasKeys = try value.bool()
            case "nephosWantsKeys": wantsKeys = try value.bool()
            default: break
            }
        }
    }

    /// Writes the share's members into the object of its record.
    func writeMembers(to writer: inout JSONWriter) {
        writer.member("shortGUID", shortGUID)
        writer.member("publicPermission", publicPermission.rawValue)
        writer.participants("participants", participants)
        if let owner {
            writer.key("owner")
            owner.write(to: &writer)
        }
        if let currentUserParticipant {
            writer.key("currentUserParticipant")
            currentUserParticipant.write(to: &writer)
        }
        writer.key("denyAccessRequests")
        writer.bool(deniesAccessRequests)
        writer.identities("requesters", requesters)
        writer.identities("blocked", blocked)
        writer.member("nephosRootRecordName", rootRecordName)
        if hasKeys {
            writer.key("nephosHasKeys")
            writer.bool(true)
        }
        if wantsKeys {
            writer.key("nephosWantsKeys")
            writer.bool(true)
        }
    }
}

extension ShareToModify {
    /// Decodes the share's members in a record's object; nil if there are none.
    init?(json: JSONValue) throws(WireError) {
        self.init()
        for (key, value) in try json.members("a record") {
            guard let value = value.nonNull else { continue }
            switch key {
            case "forRecord": forRecord = try Root(json: value)
            case "publicPermission": publicPermission = try value.permission()
            case "participants": participants = try value.requestedParticipants()
            case "denyAccessRequests": deniesAccessRequests = try value.bool()
            case "requesters": requesters = try value.identities()
            case "blocked": blocked = try value.identities()
            case "nephosParticipants": signedParticipants = try value.bytes()
            default: break
            }
        }
        if self == Self() { return nil }
    }

    /// Writes the share's members into the object of its record.
    func writeMembers(to writer: inout JSONWriter) {
        if let forRecord {
            writer.key("forRecord")
            writer.beginObject()
            writer.member("recordName", forRecord.recordName)
            writer.member("recordChangeTag", forRecord.recordChangeTag)
            writer.endObject()
        }
        writer.member("publicPermission", publicPermission?.rawValue)
        writer.participants("participants", participants)
        if let deniesAccessRequests {
            writer.key("denyAccessRequests")
            writer.bool(deniesAccessRequests)
        }
        writer.identities("requesters", requesters)
        writer.identities("blocked", blocked)
        if let signedParticipants { writer.member("nephosParticipants", base64: signedParticipants) }
    }
}

extension ShareToModify.Root {
    fileprivate init(json: JSONValue) throws(WireError) {
        var name: JSONValue?
        self.init(recordName: "")
        for (key, value) in try json.members("a dictionary with the key \"recordName\"") {
            switch key {
            case "recordName": name = value.nonNull
            case "recordChangeTag": recordChangeTag = try value.nonNull?.string()
            default: break
            }
        }
        guard let name else { throw json.missing("recordName", "a string") }
        recordName = try name.string()
    }
}

extension JSONValue {
    fileprivate func participants() throws(WireError) -> [ParticipantDictionary] {
        try elements("an array of participants", ParticipantDictionary.init(json:))
    }

    /// Decodes the participants of a request. Throws for misspelt names. An answer, in contrast, can have names of a
    /// later version.
    fileprivate func requestedParticipants() throws(WireError) -> [ParticipantDictionary] {
        try elements("an array of participants") { (json) throws(WireError) in
            for (key, value) in try json.members("a participant") {
                switch (key, value.nonNull) {
                case ("permission", let value?): _ = try value.permission()
                case ("type", let value?) where try value.string() != ParticipantRole.olderPrivateUser:
                    _ = try value.oneOf(ParticipantRole.self, names: ParticipantRole.allCases.map(\.rawValue))
                default: break
                }
            }
            return try ParticipantDictionary(json: json)
        }
    }

    fileprivate func permission() throws(WireError) -> SharePermission {
        try oneOf(SharePermission.self, names: SharePermission.allCases.map(\.rawValue))
    }

    fileprivate func identities() throws(WireError) -> [UserIdentityDictionary] {
        try elements("an array of user identities", UserIdentityDictionary.init(json:))
    }
}
