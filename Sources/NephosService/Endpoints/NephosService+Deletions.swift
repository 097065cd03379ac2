import NephosStorage

extension NephosService {
    /// Purges the tombstones in every open store that are older than a time (milliseconds since 1970), and returns once
    /// they are purged. Background work purges without this call after the configured retention.
    package func forgetDeletions(before time: Int64) async throws(ServiceError) {
        do {
            for store in stores.all { _ = try await store.background.forgetDeletions(before: time) }
        } catch {
            environment.log("forgetting deletions: \(error)")
            throw .internalError
        }
    }

    /// Wakes the purge of tombstones and the collection of unneeded asset files at intervals until the task is
    /// cancelled: both age even without changes.
    package func forgetOldDeletions() async {
        // With unlimited retention, there are still unneeded asset files to collect.
        let retention = configuration.deletionRetention ?? .max
        let interval = max(Limits.shortestPurgeInterval, min(retention, Limits.purgeInterval))
        while !Task.isCancelled {
            do {
                try await environment.sleep(milliseconds: interval)
            } catch {
                return
            }
            for store in stores.all {
                store.background.wakeToForget()
                store.assets.collectNow()
            }
        }
    }
}
