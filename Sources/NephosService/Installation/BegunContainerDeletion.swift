import NephosStorage
import NephosWire

/// The deletion of a container that has begun and not ended, by the container's identifier. From its beginning the
/// container does not exist.
struct BegunContainerDeletion: StoredEntry {
    static let kind = InstallationEntry.Kind.begunContainerDeletion

    /// The administrator who deletes the container, as the audit names them, and the network address.
    var actor: String
    var address: String
    /// The time in milliseconds since 1970.
    var begunAt: Int64
    /// The server that removes the container, and the last time at which it claimed that; empty for none.
    var worker = ""
    var claimedAt: Int64 = 0
}

extension Installation {
    /// Begins the deletion of a container. Its credentials and roles are not valid from then on.
    /// - Throws: `badContainer` if there is no such container.
    func beginDeletion(ofContainer container: String, by actor: AuditActor) async throws(ServiceError) {
        let deletion = BegunContainerDeletion(
            actor: actor.name, address: actor.address, begunAt: environment.now())
        try await write { transaction in
            try transaction.requireNoDeletion(ofContainer: container)
            guard try transaction.removeInstallationEntry(.container, container) else {
                throw ServiceError.noContainer(container)
            }
            try transaction.put(deletion, container)
            try self.audit("container deletion begun", container, by: actor, in: transaction)
        }
        evictCredentials()
    }

    /// The deletions of containers that have begun and not ended, by the container's identifier.
    func containerDeletions() async throws(ServiceError) -> [String: BegunContainerDeletion] {
        let deletions = try await read { try $0.entries(BegunContainerDeletion.self) }
        return Dictionary(deletions.map { ($0.name, $0.value) }) { $1 }
    }

    /// The identifiers of the containers that are being deleted, in ascending order.
    package func containersBeingDeleted() async throws(ServiceError) -> [String] {
        try await read { try $0.entries(BegunContainerDeletion.self).map(\.name) }
    }

    /// The containers that are being deleted, and those of `names` that do not exist.
    func deletedContainers(among names: Set<String>) async throws(ServiceError) -> Set<String> {
        try await read { reader in
            try names.filter { try !reader.hasContainer($0) }.union(
                reader.entries(BegunContainerDeletion.self).map(\.name))
        }
    }

    /// Whether a server may remove a container: once every server has closed its stores, and no other server removes it.
    func isDue(_ deletion: BegunContainerDeletion, for worker: String, at now: Int64) -> Bool {
        // The data directory has one server.
        if !engine.isShared || deletion.worker == worker { return true }
        // A time far in the future is that of a clock that was ahead.
        func isPast(_ time: Int64, by pause: Int64) -> Bool {
            now - time >= pause || time - now >= Limits.containerDeletionLease
        }
        return isPast(deletion.begunAt, by: Limits.containerDeletionNotice)
            && (deletion.worker.isEmpty || isPast(deletion.claimedAt, by: Limits.containerDeletionLease))
    }

    /// Claims the deletion of a container for a server, or renews its claim.
    /// - Returns: false if the deletion has ended or another server has it.
    func claimDeletion(ofContainer container: String, by worker: String) async throws(ServiceError) -> Bool {
        let now = environment.now()
        return try await write { transaction in
            guard var deletion = try transaction.entry(BegunContainerDeletion.self, container),
                self.isDue(deletion, for: worker, at: now)
            else { return false }
            (deletion.worker, deletion.claimedAt) = (worker, now)
            try transaction.put(deletion, container)
            return true
        }
    }

    /// Whether a server still has its claim of a container's deletion, which it renews at intervals.
    func keepsDeletion(ofContainer container: String, by worker: String) async throws(ServiceError) -> Bool {
        guard let deletion = try await read({ try $0.entry(BegunContainerDeletion.self, container) }),
            deletion.worker == worker
        else { return false }
        if environment.now() - deletion.claimedAt < Limits.credentialRecheck { return true }
        return try await claimDeletion(ofContainer: container, by: worker)
    }

    /// Removes what the installation has of a deleted container, in pieces, and ends the deletion.
    /// - Parameters:
    ///   - worker: the server that has claimed the deletion. Nothing is removed once another has it, or it has ended.
    ///   - isStopped: whether to stop after a piece.
    func endDeletion(
        ofContainer container: String, by worker: String, isStopped: () -> Bool
    ) async throws(ServiceError) {
        for kind in Self.kindsOfContainers {
            var last = ""
            while true {
                if isStopped() { return }
                let after = last
                let (found, name) = try await read { reader in
                    let page = try reader.installationEntries(kind, after: after, limit: Limits.entriesPerRead)
                    return (try page.filter { try $0.isOf(container) }.map(\.name), page.last?.name)
                }
                for start in stride(from: 0, to: found.count, by: Limits.entriesPerDeletionStep) {
                    let some = found[start..<min(start + Limits.entriesPerDeletionStep, found.count)]
                    try await write { transaction in
                        guard try transaction.hasDeletion(ofContainer: container, by: worker) else { return }
                        for name in some { try transaction.remove(kind, name, of: container) }
                    }
                }
                guard let name else { break }
                last = name
            }
        }
        try await write { transaction in
            guard let deletion = try transaction.entry(BegunContainerDeletion.self, container),
                deletion.worker == worker
            else { return }
            try transaction.removeInstallationEntry(.begunContainerDeletion, container)
            let actor = AuditActor(name: deletion.actor, address: deletion.address)
            try self.audit("container removed", container, by: actor, in: transaction)
        }
        evictCredentials()
    }

    private func evictCredentials() {
        apiTokens.evictAll()
        serverKeys.evictAll()
        sessions.evictAll()
        programTokens.evictAll()
    }

    /// The kinds of the entries that belong to a container.
    private static let kindsOfContainers: [InstallationEntry.Kind] = [
        .apiToken, .serverKey, .role, .session, .programToken, .login,
    ]
}

extension InstallationEntry {
    /// Whether the entry belongs to a container. A program token may reach others, too.
    fileprivate func isOf(_ container: String) throws -> Bool {
        switch kind {
        case .apiToken: try APIToken.decoded(self).container == container
        case .serverKey: try StoredServerKey.decoded(self).container == container
        case .role: name.hasSuffix("/\(container)")
        case .session: try StoredSession.decoded(self).container == container
        case .programToken: try StoredProgramToken.decoded(self).places.contains { $0.container == container }
        case .login: try StoredLogin.decoded(self).container == container
        default: false
        }
    }
}

extension StorageReader {
    /// Whether a container exists: one that is being deleted does not.
    func hasContainer(_ container: String) throws -> Bool { try installationEntry(.container, container) != nil }

    fileprivate func hasDeletion(ofContainer container: String, by worker: String) throws -> Bool {
        try entry(BegunContainerDeletion.self, container)?.worker == worker
    }

    /// - Throws: `serverRejectedRequest` for a container of which something is left.
    func requireNoDeletion(ofContainer container: String) throws {
        guard try installationEntry(.begunContainerDeletion, container) != nil else { return }
        throw ServiceError.containerIsBeingDeleted(container)
    }
}

extension StorageTransaction {
    /// Removes an entry of a deleted container. A program token stays if it reaches another one.
    fileprivate func remove(_ kind: InstallationEntry.Kind, _ name: String, of container: String) throws {
        switch kind {
        case .serverKey:
            guard let key = try entry(StoredServerKey.self, name) else { return }
            // Its user's records are gone.
            try removeInstallationEntry(.serverKeyUser, key.user)
        case .session:
            guard let session = try entry(StoredSession.self, name) else { return }
            try removeInstallationEntry(.accountSession, AccountSession.name(session.account, name))
        case .programToken:
            guard var token = try entry(StoredProgramToken.self, name) else { return }
            token.places.removeAll { $0.container == container }
            if !token.places.isEmpty { return try put(token, hash: name) }
            try removeInstallationEntry(.accountProgramToken, AccountProgramToken.name(token.account, name))
        default: break
        }
        try removeInstallationEntry(kind, name)
    }
}

extension ServiceError {
    fileprivate static func containerIsBeingDeleted(_ container: String) -> ServiceError {
        ServiceError(
            .exists, .serverRejectedRequest,
            "the container \(container) is being deleted: 'nephos containers list' lists it until all of it is gone")
    }
}
