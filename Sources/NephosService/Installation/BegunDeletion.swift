import NephosStorage

/// The deletion of an account that has begun and not ended, by the account's ID. A server that stops meanwhile leaves it
/// to the next one.
struct BegunDeletion: StoredEntry {
    static let kind = InstallationEntry.Kind.begunDeletion

    /// The person who deletes the account, as in the audit, and that person's network address.
    var actor: String
    var address: String
    /// Whether the records that the account created in public databases go, too.
    var erasesPublicRecords: Bool
    /// The time in milliseconds since 1970.
    var begunAt: Int64
}

extension Installation {
    /// The deletions that were interrupted, by the account's ID: at the start all that began, unless another server of the
    /// database may be at work, otherwise those that began long ago. A time in the future is that of a clock that was
    /// ahead.
    func interruptedDeletions(
        atStart: Bool
    ) async throws(ServiceError) -> [(account: String, deletion: BegunDeletion)] {
        let now = environment.now()
        let age = atStart && !engine.isShared ? 0 : Limits.interruptedDeletion
        return try await read { try $0.entries(BegunDeletion.self) }
            .filter { $0.value.begunAt <= now - age || $0.value.begunAt > now }
            .map { ($0.name, $0.value) }
    }
}
