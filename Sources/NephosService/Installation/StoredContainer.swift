import NephosStorage

/// A container, by its identifier. Requests for other containers are answered as those without a valid API token.
struct StoredContainer: StoredEntry {
    static let kind = InstallationEntry.Kind.container
    var createdAt: Int64
}

/// An event of the audit, by its time.
package struct AuditedEvent: StoredEntry {
    static let kind = InstallationEntry.Kind.audit

    package var event: String
    package var actor: String
    package var address: String
    /// The object of the event, such as an account's ID; never a secret or an e-mail address.
    package var object: String
}

extension Installation {
    /// The events of the audit, the oldest first.
    package func auditedEvents() async throws(ServiceError) -> [AuditedEvent] {
        try await read { try $0.entries(AuditedEvent.self).map(\.value) }
    }

    /// Adds an event to the audit that changes nothing of the installation itself.
    package func audit(_ event: String, _ object: String, by actor: AuditActor) async throws(ServiceError) {
        try await write { try self.audit(event, object, by: actor, in: $0) }
    }

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
