import NephosStorage
import NephosWire

/// One step of a job, small enough that it does not block other writers for long.
struct BackgroundStep {
    let job: JobRow
    /// The maximum number of records per step that are deleted.
    let limit: Int
    let environment: ServiceEnvironment
    let indexes: IndexWriter
    let notifier: Notifier

    /// Runs a step in the transaction, and removes the job when no work is left.
    /// - Returns: whether change events were stored, so that subscribers must be notified.
    func run(in transaction: StorageTransaction) throws -> Bool {
        if BackgroundJob(rawValue: job.kind) == .notifyShare {
            try transaction.removeJob(id: job.id)
            return try ShareNotification(job)?.run(job.zone, notifier, in: transaction) ?? false
        }
        if BackgroundJob(rawValue: job.kind) == .eraseAccount { return try eraseAccount(in: transaction) }
        if BackgroundJob(rawValue: job.kind) == .noteKeys {
            try transaction.removeJob(id: job.id)
            return try KeyAttentionJob(job)?.step(
                limit: limit, indexes, notifier, now: environment.now(), in: transaction) ?? false
        }
        let changes = notifier.changes(in: job.zone)
        let isDone =
            switch BackgroundJob(rawValue: job.kind) {
            case .cascade: try cascade(changes, in: transaction)
            case .purgeZone: try purgeZone(in: transaction)
            case .removeIndex: try IndexRemoval(job)?.step(in: transaction) ?? true
            case .moveShared: try moveShared(in: transaction)
            case .notifyShare, .noteKeys, .eraseAccount, nil: true
            }
        if isDone { try transaction.removeJob(id: job.id) }
        // Only the default zone defers deletions to the background.
        guard let changes, changes.areTold,
            let zone = try transaction.zone(owner: job.zone.owner, named: ZoneIDDictionary.defaultZoneName)
        else { return false }
        return try notifier.notify(of: changes, in: zone, by: nil, transaction)
    }

    /// - Returns: whether change events were stored, so that subscribers must be notified.
    private func eraseAccount(in transaction: StorageTransaction) throws -> Bool {
        guard let account = try transaction.account(id: job.zone.owner.rawValue), account.isDeleted else {
            try transaction.removeJob(id: job.id)
            return false
        }
        let publicRecords = PublicErasure(subject: job.subject)
        let erasure = AccountErasure(
            account: account, publicRecords: publicRecords, environment: environment, indexes: indexes,
            notifier: notifier)
        let step = try erasure.step(limit: limit, in: transaction)
        if step.isDone || step.publicRecords != publicRecords { try transaction.removeJob(id: job.id) }
        if !step.isDone, step.publicRecords != publicRecords {
            try transaction.insert(
                JobRow(kind: job.kind, zone: job.zone, subject: step.publicRecords?.subject ?? ""))
        }
        return step.leftEvents
    }

    /// Runs a step of the move. The step inserts a job for the remainder of the move.
    private func moveShared(in transaction: StorageTransaction) throws -> Bool {
        let changes = SharedChanges(notifier.watched)
        try ShareMove(job)?.step(limit: limit, now: environment.now(), changes, in: transaction)
        _ = try changes.leaveJobs(zone: job.zone, by: nil, in: transaction)
        return true
    }

    /// Purges a step's worth of a deleted zone's contents. Asset references come first, so that their files are marked
    /// as unneeded.
    private func purgeZone(in transaction: StorageTransaction) throws -> Bool {
        let references = try transaction.purgeAssetReferences(
            zone: job.zone, limit: Limits.assetsPerCollectionStep,
            neededUntil: environment.now() + Limits.assetRetention)
        if references > 0 { return false }
        if try transaction.purgeKeys(zone: job.zone, limit: limit) > 0 { return false }
        return try transaction.purgeRecords(zone: job.zone, limit: limit) < limit
    }

    /// Deletes a step's worth of the records that the job's deleted record owned. If a deleted record owns records, its
    /// deletion inserts a job for them.
    private func cascade(_ changes: RecordChanges?, in transaction: StorageTransaction) throws -> Bool {
        guard let space = job.subject.firstIndex(of: " "), let deletedAt = Int64(job.subject[..<space]) else {
            return true
        }
        let target = String(job.subject[job.subject.index(after: space)...])
        // If the target was saved again meanwhile, the cascade deletes only records that the deleted target owned:
        // their sequences are below the sequence of the deletion.
        let isBack = try transaction.record(zone: job.zone, named: target).map { !$0.isDeleted } ?? false
        let sources = try transaction.references(
            zone: job.zone, to: target, kinds: [.deleteSelf], after: nil, limit: limit)
        var deleted = 0
        for source in sources {
            guard let row = try transaction.record(zone: job.zone, named: source.source), !row.isDeleted,
                !isBack || row.sequence < deletedAt
            else { continue }
            // A record may have thousands of edges and index entries. A step deletes at least one record.
            if deleted > 0, transaction.writtenRows >= StorageTransaction.rowsPerRecord * limit { return false }
            try delete(row, changes, in: transaction)
            deleted += 1
        }
        return deleted == 0 || sources.count < limit
    }

    private func delete(
        _ row: RecordRow, _ changes: RecordChanges?, in transaction: StorageTransaction
    ) throws {
        let merge = FieldMerge(zone: row.zone, now: environment.now(), account: row.modifiedBy)
        let owned = try transaction.references(
            zone: row.zone, to: row.name, kinds: [.deleteSelf], after: nil, limit: 1)
        let tombstone = try RecordWriter.delete(
            row, merge, indexes, changes, in: transaction)
        if !owned.isEmpty { try transaction.insert(BackgroundJob.cascade(from: tombstone)) }
    }
}
