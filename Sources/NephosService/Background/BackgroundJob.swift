import NephosStorage

/// Work that a commit leaves to the background. The row is written in that commit, so a crash loses none.
enum BackgroundJob: String {
    /// Deletes the records that a deleted record of the default zone owned. The subject is the sequence of the deletion
    /// and the record's name.
    case cascade
    /// Removes what a deleted zone held.
    case purgeZone
    /// Removes the entries of an index that is gone (`IndexRemoval`).
    case removeIndex
    /// Puts the records of a subtree under the share that they are under (`ShareMove`).
    case moveShared
    /// Notifies the participants of a share (`ShareNotification`).
    case notifyShare
    /// Notes shares whose keys are missing (`KeyAttentionJob`). It is of no zone.
    case noteKeys
    /// Erases what a deleted account had (`AccountErasure`). The zone has the account's owner and no number.
    case eraseAccount

    static func cascade(from tombstone: RecordRow) -> JobRow {
        JobRow(kind: cascade.rawValue, zone: tombstone.zone, subject: "\(tombstone.sequence) \(tombstone.name)")
    }
}
