extension JSONValue {
    /// Decodes one of an enumeration's names, or one of its synonyms. An unknown name, as of a later version, is
    /// `unknown`.
    fileprivate func named<Name: RawRepresentable<String>>(
        _ unknown: Name, synonyms: [String: Name] = [:]
    ) throws(WireError) -> Name {
        let name = try string()
        return Name(rawValue: name) ?? synonyms[name] ?? unknown
    }
}

extension SharePermission {
    init(json: JSONValue) throws(WireError) { self = try json.named(.unknown) }
}

extension ParticipantRole {
    /// The spelling of a private user's type in Apple's samples.
    static let olderPrivateUser = "USER"

    init(json: JSONValue) throws(WireError) {
        self = try json.named(.unknown, synonyms: [Self.olderPrivateUser: .privateUser])
    }
}

extension AcceptanceStatus {
    /// Decodes a status. Apple's samples write `INVITED` for a pending invitation.
    init(json: JSONValue) throws(WireError) { self = try json.named(.unknown, synonyms: ["INVITED": .pending]) }
}

extension UserIdentityDictionary {
    init(json: JSONValue) throws(WireError) {
        self.init()
        for (key, value) in try json.members("a user identity") {
            let value = value.nonNull
            switch key {
            case "userRecordName": userRecordName = try value?.string()
            case "lookupInfo": lookupInfo = try value.map(UserLookupRequest.LookupInfo.init(json:))
            case "nameComponents":
                givenName = try value?.member("givenName")?.string()
                familyName = try value?.member("familyName")?.string()
            case "nephosHasAccount": hasAccount = try value?.bool()
            default: break
            }
        }
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("userRecordName", userRecordName)
        if let lookupInfo {
            writer.key("lookupInfo")
            lookupInfo.write(to: &writer)
        }
        if givenName != nil || familyName != nil {
            writer.key("nameComponents")
            writer.beginObject()
            writer.member("givenName", givenName)
            writer.member("familyName", familyName)
            writer.endObject()
        }
        if let hasAccount {
            writer.key("nephosHasAccount")
            writer.bool(hasAccount)
        }
        writer.endObject()
    }
}

extension ParticipantDictionary {
    init(json: JSONValue) throws(WireError) {
        self.init()
        for (key, value) in try json.members("a participant") {
            guard let value = value.nonNull else { continue }
            switch key {
            case "participantId": participantID = try value.string()
            case "userIdentity": userIdentity = try UserIdentityDictionary(json: value)
            case "type": role = try ParticipantRole(json: value)
            case "permission": permission = try SharePermission(json: value)
            case "acceptanceStatus": acceptanceStatus = try AcceptanceStatus(json: value)
            case "isApprovedRequester": isApprovedRequester = try value.bool()
            case "nephosDateAdded": dateAdded = try value.int64()
            case "nephosOneTimeGUID": oneTimeGUID = try value.string()
            default: break
            }
        }
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("participantId", participantID)
        writer.key("userIdentity")
        userIdentity.write(to: &writer)
        writer.member("type", role?.rawValue)
        writer.member("permission", permission?.rawValue)
        writer.member("acceptanceStatus", acceptanceStatus?.rawValue)
        if isApprovedRequester {
            writer.key("isApprovedRequester")
            writer.bool(true)
        }
        if let dateAdded {
            writer.key("nephosDateAdded")
            writer.int64(dateAdded)
        }
        writer.member("nephosOneTimeGUID", oneTimeGUID)
        writer.endObject()
    }
}

extension JSONWriter {
    mutating func participants(_ name: StaticString, _ participants: [ParticipantDictionary]?) {
        guard let participants else { return }
        key(name)
        beginArray()
        for participant in participants { participant.write(to: &self) }
        endArray()
    }

    mutating func identities(_ name: StaticString, _ identities: [UserIdentityDictionary]?) {
        guard let identities else { return }
        key(name)
        beginArray()
        for identity in identities { identity.write(to: &self) }
        endArray()
    }
}
