import NephosStorage

extension NephosService {
    /// Has the feeds of every open store forget the deletions that are older than a time (milliseconds since 1970), and
    /// returns when that is done. The background does the same by itself, with the retention that is configured.
    package func forgetDeletions(before time: Int64) async throws(ServiceError) {
        do {
            for store in stores.all { _ = try await store.background.forgetDeletions(before: time) }
        } catch {
            environment.log("forgetting deletions: \(error)")
            throw .internalError
        }
    }

    /// Has the background look for old deletions from time to time, until the task is cancelled: they grow old also where
    /// nothing changes.
    package func forgetOldDeletions() async {
        // Where deletions are remembered for ever there are still files that are not needed any more.
        let retention = configuration.deletionRetention ?? .max
        let interval = max(Limits.shortestPurgeInterval, min(retention, Limits.purgeInterval))
        while !Task.isCancelled {
            do {
                try await environment.sleep(.milliseconds(interval))
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
