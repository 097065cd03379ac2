import NephosStorage
import NephosWire

/// Work that a commit leaves to the background. The row is written in that commit, so a crash loses none.
enum BackgroundJob: String {
    /// Deletes the records that a deleted record of the default zone owned. The subject is the sequence of the deletion
    /// and the record's name.
    case cascade
    /// Removes what a deleted zone held.
    case purgeZone

    static func cascade(from tombstone: RecordRow) -> JobRow {
        JobRow(kind: cascade.rawValue, zone: tombstone.zone, subject: "\(tombstone.sequence) \(tombstone.name)")
    }
}

/// One step of a job, small enough that other writers get their turn.
struct BackgroundStep {
    let job: JobRow
    let environment: ServiceEnvironment
    let indexes: IndexWriter
    let notifier: Notifier

    /// Does a step in the transaction and removes the job when nothing is left.
    func run(in transaction: any StorageTransaction) throws -> Notices {
        let changes = notifier.changes(in: job.zone)
        let isDone =
            switch BackgroundJob(rawValue: job.kind) {
            case .cascade: try cascade(changes, in: transaction)
            case .purgeZone:
                try transaction.purgeRecords(zone: job.zone, limit: Limits.recordsPerBackgroundStep)
                    < Limits.recordsPerBackgroundStep
            case nil: true
            }
        if isDone { try transaction.removeJob(id: job.id) }
        // Only the default zone leaves deletions to the background.
        guard let changes, !changes.all.isEmpty,
            let zone = try transaction.zone(owner: job.zone.owner, named: ZoneIDDictionary.defaultZoneName)
        else { return Notices() }
        return try notifier.notify(of: changes, in: zone, by: nil, transaction)
    }

    /// Deletes a step's worth of the records that the deleted one owned, each leaving a job for those it owns itself.
    private func cascade(_ changes: RecordChanges?, in transaction: any StorageTransaction) throws -> Bool {
        guard let space = job.subject.firstIndex(of: " "), let deletedAt = Int64(job.subject[..<space]) else {
            return true
        }
        let target = String(job.subject[job.subject.index(after: space)...])
        // The record may have been saved anew meanwhile: then only those that belonged to the deleted one go.
        let isBack = try transaction.record(zone: job.zone, named: target).map { !$0.isDeleted } ?? false
        let sources = try transaction.references(
            zone: job.zone, to: target, kinds: [.deleteSelf], after: nil, limit: Limits.recordsPerBackgroundStep)
        var deleted = 0
        for source in sources {
            guard let row = try transaction.record(zone: job.zone, named: source.source), !row.isDeleted,
                !isBack || row.sequence < deletedAt
            else { continue }
            try delete(row, changes, in: transaction)
            deleted += 1
        }
        return deleted == 0 || sources.count < Limits.recordsPerBackgroundStep
    }

    private func delete(
        _ row: RecordRow, _ changes: RecordChanges?, in transaction: any StorageTransaction
    ) throws {
        let merge = FieldMerge(zone: row.zone, now: environment.now(), account: row.modifiedBy)
        let tombstone = try RecordWriter.delete(row, merge, indexes, changes, in: transaction)
        let owned = try transaction.references(
            zone: row.zone, to: row.name, kinds: [.deleteSelf], after: nil, limit: 1)
        if !owned.isEmpty { try transaction.insert(BackgroundJob.cascade(from: tombstone)) }
    }
}
