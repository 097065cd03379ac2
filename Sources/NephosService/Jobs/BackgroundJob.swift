import NephosStorage

/// A job that a commit defers to the background. The commit inserts its row, so a crash loses no job.
enum BackgroundJob: String {
    /// Cascades the deletion of a default zone's record to the records that it owned. The subject is the sequence of
    /// the deletion and the record's name.
    case cascade
    /// Purges the contents of a deleted zone.
    case purgeZone
    /// Removes the entries of a dropped index (`IndexRemoval`).
    case removeIndex
    /// Updates a subtree's records to the share that they are now under (`ShareMove`).
    case moveShared
    /// Notifies the participants of a share (`ShareNotification`).
    case notifyShare
    /// Notes shares whose keys are missing (`KeyAttentionJob`). It belongs to no zone.
    case noteKeys
    /// Erases a deleted account's data (`AccountErasure`). The zone key has the account's owner and the ID 0.
    case eraseAccount

    static func cascade(from tombstone: RecordRow) -> JobRow {
        JobRow(kind: cascade.rawValue, zone: tombstone.zone, subject: "\(tombstone.sequence) \(tombstone.name)")
    }
}
