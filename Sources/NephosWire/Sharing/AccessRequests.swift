/// The answer of our own `records/requestAccess`: the failure for each short GUID of the request; nil for success. A
/// request for an unknown share succeeds too.
package struct AccessRequestsResponse: Hashable, Sendable {
    package var failures: [ErrorDictionary?]

    package init(failures: [ErrorDictionary?]) { self.failures = failures }
}

extension AccessRequestsResponse: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init(
            failures: try json.required("results", "an array") { (results) throws(WireError) in
                try results.elements("an array of results") { (result) throws(WireError) in
                    ErrorDictionary.describes(result) ? try ErrorDictionary(json: result) : nil
                }
            })
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("results")
        writer.beginArray()
        for failure in failures {
            if let failure {
                failure.write(to: &writer)
            } else {
                writer.beginObject()
                writer.endObject()
            }
        }
        writer.endArray()
        writer.endObject()
    }
}

/// The answer of our own `users/participants`: whether the invited users have accounts.
package struct ParticipantLookupResponse: Hashable, Sendable {
    /// One for each lookup info of the request, in their order.
    package var users: [UserIdentityDictionary]

    package init(users: [UserIdentityDictionary]) { self.users = users }
}

extension ParticipantLookupResponse: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init(
            users: try json.required("users", "an array") { (users) throws(WireError) in
                try users.elements("an array of user identities", UserIdentityDictionary.init(json:))
            })
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.identities("users", users)
        writer.endObject()
    }
}
