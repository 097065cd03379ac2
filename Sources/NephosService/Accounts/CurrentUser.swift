import NephosWire

/// Resolves the placeholder `__defaultOwner__` to the caller's user record name (`CKCurrentUserDefaultName`, Apple's
/// documentation). A request may name the placeholder in a record ID, a reference, a condition, a zone's owner or a
/// share's participant.
///
/// Every name from a client is resolved here before it is looked up or stored. So rows hold real names, which mean the
/// same for every account. The library maps the caller's name back to `__defaultOwner__` where Apple shows it.
struct CurrentUser: Hashable, Sendable {
    /// The caller's user record name. Nil without an account: a placeholder then resolves to no account.
    let userRecordName: String?

    /// Resolves a placeholder to the caller's user record name. Other names are returned unchanged.
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

    /// Whether a zone ID's owner is the caller. A zone ID without an owner belongs to the caller.
    func isOwner(_ ownerRecordName: String?) -> Bool {
        guard let ownerRecordName else { return true }
        return ownerRecordName == userRecordName || CurrentUserName.isOne(ownerRecordName)
    }
}
