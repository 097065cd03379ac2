import NephosStorage
import NephosThreads
package import NephosWire
import Synchronization

extension NephosService {
    /// Deletes a container of an installation: it does not exist from now on. Its stores and credentials are removed in pieces
    /// by `deleteContainers`, of this server or of the next.
    /// - Returns: what its environments had.
    /// - Throws: `badContainer` if there is no such container; `serverRejectedRequest` if it is being deleted.
    package func deleteContainer(
        _ container: String, of installation: Installation, by actor: AuditActor
    ) async throws(ServiceError) -> [ServiceOverview.Container] {
        let content = await contents(of: container)
        try await installation.beginDeletion(ofContainer: container, by: actor)
        // A restored backup has the container again, and nothing else says so.
        environment.log("container deleted: \(container)")
        _ = await closeDeletedContainers(of: installation)
        return content
    }

    /// Creates a container of an installation, whose name a deleted container may have had.
    /// - Throws: `exists` if there is such a container, or one that is being deleted.
    package func createContainer(
        _ container: String, of installation: Installation, by actor: AuditActor
    ) async throws(ServiceError) {
        try await installation.createContainer(container, by: actor)
        _ = await closeDeletedContainers(of: installation)
    }

    /// Closes the stores of containers that are being deleted, on whichever server that began, and removes them, at intervals
    /// until the task is cancelled.
    package func deleteContainers(of installation: Installation) async {
        repeat {
            guard await closeDeletedContainers(of: installation) else { continue }
            containerDeletions.loop.wake { [self] in
                do {
                    try await removeDeletedContainers(of: installation)
                    return true
                } catch {
                    environment.log("deleting containers: \(error)")
                    containerDeletions.nextAttempt.withLock { $0 = environment.now() + Limits.containerDeletionRetry }
                    return false
                }
            }
        } while (try? await environment.sleep(milliseconds: Limits.credentialRecheck)) != nil
    }

    /// - Returns: whether there may be work.
    private func closeDeletedContainers(of installation: Installation) async -> Bool {
        do {
            let deleted = try await stores.deleted.update { present async throws(ServiceError) in
                try await installation.deletedContainers(among: present)
            }
            if deleted.isEmpty { return false }
            await stores.closeDeletedStores()
            return containerDeletions.nextAttempt.withLock { $0 } <= environment.now()
        } catch {
            environment.log("looking for containers that are being deleted: \(error)")
            return false
        }
    }

    /// Removes the containers whose deletion is this server's to do.
    /// - Throws: the last failure. One container does not keep the others waiting.
    private func removeDeletedContainers(of installation: Installation) async throws {
        var failure: (any Error)?
        for (container, deletion) in try await installation.containerDeletions() {
            guard installation.isDue(deletion, for: containerDeletions.worker, at: environment.now()) else { continue }
            do {
                try await remove(container, of: installation)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
    }

    /// Removes a container in pieces, as long as this server has the claim of its deletion: once another server has ended it,
    /// a container of the same name may be made. So the claim is checked between finding a piece and removing it.
    private func remove(_ container: String, of installation: Installation) async throws {
        let worker = containerDeletions.worker
        guard try await installation.claimDeletion(ofContainer: container, by: worker) else { return }
        await stores.closeStores(of: container)
        var size = PieceSize()
        while let piece = try await stores.removalPiece(of: container, limit: size.count(of: Limits.rowsPerRemoval)) {
            if containerDeletions.loop.isClosed { return }
            guard try await installation.keepsDeletion(ofContainer: container, by: worker) else { return }
            let start = ContinuousClock.now
            try await BlockingPool.network.run { try piece.remove() }
            size.took(start.duration(to: .now))
        }
        try await installation.endDeletion(ofContainer: container, by: worker) { containerDeletions.loop.isClosed }
        _ = await closeDeletedContainers(of: installation)
    }

    /// What a container's environments have. One that cannot be read is passed over.
    private func contents(of container: String) async -> [ServiceOverview.Container] {
        var contents: [ServiceOverview.Container] = []
        for environment in [ContainerEnvironment.development, .production] {
            let id = StoreID(container: container, environment: environment.rawValue)
            let content = try? await stores.usingExisting(id) { store in
                try await store?.engine.read { try Self.overview(id, Limits.overviewRecords, $0) }
            }
            if let content { contents.append(content) }
        }
        return contents
    }
}
