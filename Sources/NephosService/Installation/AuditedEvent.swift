import NephosStorage

/// An event of the audit that no batch has yet, by its time.
package struct AuditedEvent: StoredEntry, Hashable {
    static let kind = InstallationEntry.Kind.audit

    package var event: String
    /// The account's ID, or the user of this machine; empty if unknown.
    package var actor: String
    /// The network of the caller; empty for a user of this machine.
    package var address: String
    /// The object of the event, such as an account's ID, or a container with its environment; never a secret or an e-mail
    /// address.
    package var object: String
    /// How often the event came; nil for once.
    package var count: Int?
    /// In milliseconds since 1970; nil before the event is in a batch, as its entry's name has the time.
    package var time: Int64?

    /// The object of an event in a container's environment. A deployment, which is asked of development, changes production.
    package static func object(_ container: String, _ environment: String?, of event: String = "") -> String {
        let environment = event.hasSuffix("/schema/deploy") ? ContainerEnvironment.production.rawValue : environment
        return environment.map { "\(container) \($0)" } ?? container
    }

    /// The name of an entry: events sort by their times.
    static func name(at time: Int64, _ suffix: String) -> String { "\(AuditBatch.padded(time)) \(suffix)" }

    /// The time of an entry.
    static func time(ofEntryNamed name: String) -> Int64 { Int64(name.prefix { $0 != " " }) ?? 0 }
}

extension Installation {
    /// Adds an event to the audit that changes nothing of the installation itself.
    package func audit(_ event: String, _ object: String, by actor: AuditActor) async throws(ServiceError) {
        try await write { try self.audit(event, object, by: actor, in: $0) }
    }

    /// Notes a refused request of the administration.
    /// - Parameter actor: the caller; nil for one without a session, of whose request nothing is noted but the route.
    package func noteRefusal(_ route: String, _ container: String, by actor: AuditActor?, address: String) {
        let isName = container.utf8.count <= Limits.identifierLength
        refusals.note(
            "refused: \(route)", object: actor != nil && isName ? container : "", actor: actor?.name ?? "",
            address: address)
    }

    /// Adds an event to the audit, in the transaction of the change.
    func audit(
        _ event: String, _ object: String, by actor: AuditActor, in transaction: StorageTransaction
    ) throws {
        try audit(
            AuditedEvent(event: event, actor: actor.name, address: actor.address, object: object), in: transaction)
    }

    func audit(_ event: AuditedEvent, in transaction: StorageTransaction) throws {
        let now = environment.now()
        try transaction.put(
            event, AuditedEvent.name(at: now, environment.makeUUID()), expiresAt: now + Limits.auditRetention)
    }
}
