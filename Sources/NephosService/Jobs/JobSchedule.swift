import NephosStorage

/// The order of background jobs: round-robin by owner, and each owner's oldest job first. An owner's notification jobs
/// precede its other jobs, because they are short. A failed job is retried with back-off, and does not delay other
/// jobs.
struct JobSchedule {
    private var failures = BackOff()
    /// The owner of the job that ran last.
    private var lastOwner = OwnerID(rawValue: .min)

    /// The next job that is due; nil if no job is due.
    /// - Parameter now: the present time, in milliseconds since 1970.
    func next(now: Int64, _ reader: StorageReader) throws -> JobRow? {
        guard
            let job = try first(after: lastOwner, now, reader) ?? first(after: OwnerID(rawValue: .min), now, reader)
        else { return nil }
        return try job.notifies ? job : notification(after: job, now, reader) ?? job
    }

    /// A later notification job of the same owner that is due; nil if there is none.
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

    /// Notes that `next` found no job.
    mutating func foundNothing(at now: Int64) { failures.foundNothing(at: now) }

    mutating func succeeded(_ job: JobRow) { failures.succeeded(job.id) }

    /// - Returns: the number of milliseconds until the next attempt.
    mutating func failed(_ job: JobRow, now: Int64) -> Int64 { failures.failed(job.id, now: now) }

    /// The earliest time of the next attempt of a failed job, in milliseconds since 1970; nil if no job has failed.
    var nextDue: Int64? { failures.nextDue }
}

extension JobRow {
    fileprivate var notifies: Bool { kind == BackgroundJob.notifyShare.rawValue }
}
