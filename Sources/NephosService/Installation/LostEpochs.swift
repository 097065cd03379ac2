import NephosStorage
import Synchronization

/// Notices sessions of an earlier token epoch. A database in place of another may lack the end of a session, such as a
/// sign-out or a new password, so all sessions of before are over.
final class LostEpochs: Sendable {
    /// The latest epoch that was logged.
    private let logged = Mutex<Int64>(0)
    private let log: @Sendable (String) -> Void

    init(log: @escaping @Sendable (String) -> Void) { self.log = log }

    /// Whether the session is of the store's epoch. The first session that is not is logged.
    func isCurrent(_ session: StoredSession, _ reader: StorageReader) throws -> Bool {
        let epoch = try reader.tokenEpoch()
        if session.epoch == epoch { return true }
        let isNew = logged.withLock { logged in
            defer { logged = max(logged, epoch) }
            return logged < epoch
        }
        if isNew {
            log("the database was replaced by one that may lack sign-outs: all sessions of before are over")
        }
        return false
    }
}
