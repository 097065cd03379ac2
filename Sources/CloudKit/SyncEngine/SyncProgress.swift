import Foundation

/// How an engine's last fetch and send ended, and since when the device and the service differ.
package struct SyncProgress: Sendable {
    /// The end of the last fetch, and of the last send, without a failure.
    package private(set) var lastFetch: Date?
    package private(set) var lastSend: Date?
    /// The failures that no later run of the same kind made good.
    private var failures: [Int: (error: CKError, at: Date)] = [:]
    /// The time of the first change, here or on the service, that is not synchronised; nil if none is known.
    package private(set) var behindSince: Date?
    /// The number of received notifications, and that number when the last complete fetch began.
    private var (notified, fetched) = (0, 0)

    /// The newest failure; nil if the last runs succeeded.
    package var lastError: CKError? { failures.values.max { $0.at < $1.at }?.error }

    /// Notes a change on the device.
    mutating func changed(at now: Date) { behindSince = behindSince ?? now }

    /// Notes a notification of a change on the service.
    mutating func wasNotified(at now: Date) {
        notified += 1
        changed(at: now)
    }

    /// Returns the mark with which a run that begins now has to end.
    func begin() -> Int { notified }

    /// - Parameter isWorkLeft: whether the engine's state has anything to send or to fetch.
    mutating func end(_ work: SyncScheduler.Work, begunAt mark: Int, isWorkLeft: Bool, at now: Date) {
        failures[work.rawValue] = nil
        if work == .fetch { (lastFetch, fetched) = (now, mark) } else { lastSend = now }
        note(isWorkLeft: isWorkLeft)
    }

    /// Notes that the engine's state has nothing to send or to fetch any more, unless it has.
    mutating func note(isWorkLeft: Bool) {
        if !isWorkLeft, fetched == notified { behindSince = nil }
    }

    /// Forgets everything, because another account is signed in.
    mutating func reset() {
        (lastFetch, lastSend, behindSince) = (nil, nil, nil)
        failures = [:]
        fetched = notified
    }

    mutating func end(_ work: SyncScheduler.Work, failedBy error: CKError, at now: Date) {
        failures[work.rawValue] = (error, now)
    }
}

extension SyncEngineCore {
    /// Runs a fetch or a send, and notes how it ended.
    func tracking(
        _ work: SyncScheduler.Work, _ pass: Locked<SyncPass>, _ body: () async throws(CKError) -> Void
    ) async throws(CKError) {
        let mark = progress.withLock { $0.begin() }
        do throws(CKError) {
            try await body()
        } catch {
            progress.withLock { $0.end(work, failedBy: error, at: environment.now()) }
            throw error
        }
        // The last failure stands as long as its zones wait for their retry.
        if !pass.heldZoneIDs.isEmpty { return noteWhetherWorkIsLeft() }
        progress.withLock { progress in
            // Read under the lock: a change that comes later waits for it, and then counts as the first one.
            progress.end(work, begunAt: mark, isWorkLeft: isWorkLeft, at: environment.now())
        }
    }

    /// Ends the lag if the app removed the last change to send, or the state is another account's.
    func noteWhetherWorkIsLeft() {
        progress.withLock { $0.note(isWorkLeft: isWorkLeft) }
    }

    private var isWorkLeft: Bool { hasSomethingToSend || state.read { !$0.unfetchedZoneIDs.isEmpty } }
}
