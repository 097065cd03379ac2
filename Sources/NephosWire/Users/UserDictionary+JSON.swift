extension UserDictionary: WireMessage {
    /// Decodes the form of `users/current` (`firstName`) or of `users/caller` (`nameComponents`).
    package init(json: JSONValue) throws(WireError) {
        var name: JSONValue?
        var first: JSONValue?
        var last: JSONValue?
        var components: JSONValue?
        for (key, value) in try json.members("a user") {
            switch key {
            case "userRecordName": name = value.nonNull
            case "firstName": first = value.nonNull
            case "lastName": last = value.nonNull
            case "nameComponents": components = value.nonNull
            default: break
            }
        }
        guard let name else { throw json.missing("userRecordName", "a string") }
        if let components {
            for (key, value) in try components.members("a dictionary of name components") {
                switch key {
                case "givenName": first = first ?? value.nonNull
                case "familyName": last = last ?? value.nonNull
                default: break
                }
            }
        }
        self.init(
            userRecordName: try name.string(), firstName: try first?.string(), lastName: try last?.string())
    }

    /// Writes one object that contains the members of both forms.
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("userRecordName", userRecordName)
        writer.member("firstName", firstName)
        writer.member("lastName", lastName)
        if firstName != nil || lastName != nil {
            writer.key("nameComponents")
            writer.beginObject()
            writer.member("givenName", firstName)
            writer.member("familyName", lastName)
            writer.endObject()
        }
        writer.endObject()
    }
}
