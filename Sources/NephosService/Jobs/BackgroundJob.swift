import NephosStorage

/// A job that a commit defers to the background. The commit inserts the job's row, so a crash loses no job.
enum BackgroundJob: String {
    /// Cascades the deletion of a record in a default zone to the records that it owned. The job's subject is the
    /// sequence of the deletion and the record's name.
    case cascade
    /// Purges the contents of a deleted zone.
    case purgeZone
    /// Removes the entries of a dropped index (`IndexRemoval`).
    case removeIndex
    /// Updates the records of a subtree to the share that they are now under (`ShareMove`).
    case moveShared
    /// Notifies the participants of a share (`ShareNotification`).
    case notifyShare
    /// Notes shares whose keys are missing (`KeyAttentionJob`). The job belongs to no zone.
    case noteKeys
    /// Erases a deleted account's data (`AccountErasure`). The job's zone key has the account's owner and the ID 0.
    case eraseAccount

    static func cascade(from tombstone: RecordRow) -> JobRow {
        JobRow(kind: cascade.rawValue, zone: tombstone.zone, subject: "\(tombstone.sequence) \(tombstone.name)")
    }
}
