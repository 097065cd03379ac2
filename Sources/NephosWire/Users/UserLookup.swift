/// The request of `users/discover`, `users/lookup/email` and `users/lookup/id` of CloudKit Web Services.
package struct UserLookupRequest: Hashable, Sendable {
    /// The known identifiers of a user (User Lookup Info Dictionary): at least one of the three.
    package struct LookupInfo: Hashable, Sendable {
        package var emailAddress: String?
        package var phoneNumber: String?
        package var userRecordName: String?

        package init(emailAddress: String? = nil, phoneNumber: String? = nil, userRecordName: String? = nil) {
            self.emailAddress = emailAddress
            self.phoneNumber = phoneNumber
            self.userRecordName = userRecordName
        }
    }

    /// The users to look up; nil for all of the caller's contacts.
    package var lookupInfos: [LookupInfo]?

    package init(lookupInfos: [LookupInfo]? = nil) { self.lookupInfos = lookupInfos }
}

/// The answer of `users/discover` and `users/lookup/…`.
package struct UsersResponse: Hashable, Sendable {
    package var users: [UserDictionary]

    package init(users: [UserDictionary]) { self.users = users }
}
