import NephosWire

/// The caller as the target of placeholders: `__defaultOwner__` in a record ID, a reference, a condition, a zone's
/// owner or a share's participant resolves to the caller's user record (`CKCurrentUserDefaultName`, Apple's
/// documentation).
///
/// Every name from a client is resolved here before it is looked up or stored. So rows hold the real name, which has
/// one meaning for every account; the library maps it back where Apple shows `__defaultOwner__`.
struct CurrentUser: Hashable, Sendable {
    /// Nil without an account: then a placeholder resolves to no account.
    let userRecordName: String?

    /// Resolves a placeholder to the caller's record name; returns other names unchanged.
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
