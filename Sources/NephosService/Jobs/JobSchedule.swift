import NephosStorage

/// The order of background jobs: round-robin by owner, and the owner's oldest job first, except that its notification
/// jobs go before its others because they are short. A failed job is retried with back-off, and does not delay the
/// others.
struct JobSchedule {
    private var failures = BackOff()
    /// The owner of the last job.
    private var lastOwner = OwnerID(rawValue: .min)

    /// The next job that is due; nil if none is.
    /// - Parameter now: milliseconds since 1970.
    func next(now: Int64, _ reader: StorageReader) throws -> JobRow? {
        guard
            let job = try first(after: lastOwner, now, reader) ?? first(after: OwnerID(rawValue: .min), now, reader)
        else { return nil }
        return try job.notifies ? job : notification(after: job, now, reader) ?? job
    }

    /// A later notification job of the same owner.
    private func notification(after job: JobRow, _ now: Int64, _ reader: StorageReader) throws -> JobRow? {
        var position = JobPosition(job)
        for _ in 0..<Limits.jobsReadForNotification / Limits.jobsPerRead {
            let jobs = try reader.jobs(after: position, limit: Limits.jobsPerRead).prefix {
                $0.zone.owner == job.zone.owner
            }
            if let found = jobs.first(where: { $0.notifies && isDue($0, now) }) { return found }
            guard jobs.count == Limits.jobsPerRead, let last = jobs.last else { return nil }
            position = JobPosition(last)
        }
        return nil
    }

    private func isDue(_ job: JobRow, _ now: Int64) -> Bool { !failures.isWaiting(job.id, at: now) }

    private func first(after owner: OwnerID, _ now: Int64, _ reader: StorageReader) throws -> JobRow? {
        var position = JobPosition(owner: owner, id: .max)
        while true {
            let jobs = try reader.jobs(after: position, limit: Limits.jobsPerRead)
            if let job = jobs.first(where: { isDue($0, now) }) { return job }
            guard jobs.count == Limits.jobsPerRead, let last = jobs.last else { return nil }
            position = JobPosition(last)
        }
    }

    mutating func begin(_ job: JobRow) { lastOwner = job.zone.owner }

    mutating func succeeded(_ job: JobRow) { failures.succeeded(job.id) }

    /// - Returns: the milliseconds until the next attempt.
    mutating func failed(_ job: JobRow, now: Int64) -> Int64 { failures.failed(job.id, now: now) }

    /// The earliest due time of a failed job, milliseconds since 1970; nil if none failed.
    var nextDue: Int64? { failures.nextDue }
}

extension JobRow {
    fileprivate var notifies: Bool { kind == BackgroundJob.notifyShare.rawValue }
}
