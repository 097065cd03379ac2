/// The answer of `users/current` and `users/caller` (CloudKit Web Services, users/current).
package struct UserDictionary: Hashable, Sendable {
    package var userRecordName: String
    package var firstName: String?
    package var lastName: String?

    package init(userRecordName: String, firstName: String? = nil, lastName: String? = nil) {
        self.userRecordName = userRecordName
        self.firstName = firstName
        self.lastName = lastName
    }
}
