/// The answer of our own `records/requestAccess`: one element for each short GUID of the request, either the failure or
/// nil for success. A request for an unknown share succeeds too.
package struct AccessRequestsResponse: Hashable, Sendable {
    package var failures: [ErrorDictionary?]

    package init(failures: [ErrorDictionary?]) { self.failures = failures }
}

extension AccessRequestsResponse: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init, .required("results", \.failures, .array("an array of results", of: result)))

    /// The codec of one result: an error dictionary, or an empty object for success.
    private static let result = Codec<ErrorDictionary?>("a result") { (json) throws(WireError) in
        ErrorDictionary.describes(json) ? try ErrorDictionary(json: json) : nil
    } write: { failure, writer in
        if let failure { return failure.write(to: &writer) }
        writer.beginObject()
        writer.endObject()
    }
}

/// An element of the `users` array of `users/participants`.
package enum ParticipantLookupResult: Hashable, Sendable {
    case user(UserIdentityDictionary)
    case failure(ErrorDictionary)
}

/// The answer of our own `users/participants`: the invited users, and whether they have accounts.
package struct ParticipantLookupResponse: Hashable, Sendable {
    /// One result for each lookup info of the request, in the request's order.
    package var users: [ParticipantLookupResult]

    package init(users: [ParticipantLookupResult]) { self.users = users }
}

extension ParticipantLookupResponse: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init, .required("users", \.users, .array("an array of user identities", of: ParticipantLookupResult.codec))
    )
}

extension ParticipantLookupResult {
    fileprivate static let codec = Codec<Self>("a user identity") { (json) throws(WireError) in
        ErrorDictionary.describes(json)
            ? .failure(try ErrorDictionary(json: json)) : .user(try UserIdentityDictionary(json: json))
    } write: { result, writer in
        switch result {
        case .user(let user): user.write(to: &writer)
        case .failure(let error): error.write(to: &writer)
        }
    }
}
