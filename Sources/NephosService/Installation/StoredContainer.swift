import NephosStorage

/// A container, by its identifier. Requests for other containers are answered as those without a valid API token.
struct StoredContainer: StoredEntry {
    static let kind = InstallationEntry.Kind.container
    var createdAt: Int64
}

/// An event of the audit, by its time.
struct AuditedEvent: StoredEntry {
    static let kind = InstallationEntry.Kind.audit

    var event: String
    var actor: String
    var address: String
    /// The object of the event, such as an account's ID; never a secret or an e-mail address.
    var object: String
}

extension Installation {
    /// Adds an event to the audit, in the transaction of the change.
    func audit(
        _ event: String, _ object: String, by actor: AuditActor, in transaction: StorageTransaction
    ) throws {
        let now = environment.now()
        let digits = String(now)
        let time = String(repeating: "0", count: max(0, 16 - digits.count)) + digits
        try transaction.put(
            AuditedEvent(event: event, actor: actor.name, address: actor.address, object: object),
            "\(time) \(environment.makeUUID())", expiresAt: now + Limits.auditRetention)
    }
}
