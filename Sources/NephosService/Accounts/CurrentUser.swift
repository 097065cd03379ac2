import NephosWire

/// The caller, where a request means them: `__defaultOwner__` in a record ID, a reference, a condition, a zone's owner or a
/// share's participant is the caller's user record (`CKCurrentUserDefaultName`, Apple's documentation).
///
/// Whatever a client names passes here before anything is looked up or stored. So what is stored has the real name, which
/// means the same to every account; the library turns it back where Apple shows `__defaultOwner__`.
struct CurrentUser: Hashable, Sendable {
    /// Nil without an account: then the names mean no account.
    let userRecordName: String?

    /// The record name that is meant.
    func resolve(_ recordName: String) -> String {
        guard CurrentUserName.isOne(recordName), let userRecordName else { return recordName }
        return userRecordName
    }

    /// Whether `resolve` would change the name.
    func isPlaceholder(_ recordName: String) -> Bool {
        userRecordName != nil && CurrentUserName.isOne(recordName)
    }

    func resolve(_ reference: ReferenceValue) -> ReferenceValue {
        guard isPlaceholder(reference.recordName) else { return reference }
        var reference = reference
        reference.recordName = resolve(reference.recordName)
        return reference
    }

    /// Whether a zone ID's owner is the caller. A zone ID without an owner is the caller's.
    func isOwner(_ ownerRecordName: String?) -> Bool {
        guard let ownerRecordName else { return true }
        return ownerRecordName == userRecordName || CurrentUserName.isOne(ownerRecordName)
    }
}
