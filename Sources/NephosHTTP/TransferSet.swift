import CCurl
import NephosThreads

/// The running and the queued requests. Only the transfer thread uses them.
final class TransferSet {
    /// The maximum number of unused handles per client. Creating a handle costs more than resetting one.
    private static let spareHandles = 64

    private let multi: UnsafeMutableRawPointer
    private let certificates: String?
    private let requestsAtOnce: Int
    private var waiting: [Transfer.Submission] = []
    private var running: [UnsafeMutableRawPointer: Transfer] = [:]
    private var spares: [UnsafeMutableRawPointer] = []
    /// A lower bound for all deadlines; nil if there is none. Activity only postpones deadlines, so most checks end
    /// here.
    private var nextDeadline: MonotonicTime?

    init(_ multi: UnsafeMutableRawPointer, certificates: String?, requestsAtOnce: Int) {
        self.multi = multi
        self.certificates = certificates
        self.requestsAtOnce = requestsAtOnce
    }

    deinit {
        for handle in spares { curl_easy_cleanup(handle) }
    }

    func take(_ inbox: TransferThread.Inbox) {
        waiting += inbox.submissions
        start()
        if !inbox.cancelled.isEmpty { cancel(Set(inbox.cancelled)) }
        if !inbox.resumed.isEmpty { resume(Set(inbox.resumed)) }
    }

    /// Delivers the responses of completed requests, and starts queued requests up to the limit.
    func finishDone() {
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let handle = message.pointee.easy_handle else { continue }
            let code = message.pointee.data.result
            guard let transfer = running[handle] else { continue }
            remove(transfer, transfer.finish(code))
        }
        if !waiting.isEmpty { start() }
    }

    /// Fails requests whose time-outs have expired.
    /// - Returns: the time of the next check; nil if no request has a time-out.
    func failLate() -> MonotonicTime? {
        guard let due = nextDeadline else { return nil }
        let now = MonotonicTime.now
        guard due <= now else { return due }
        nextDeadline = nil
        for transfer in Array(running.values) {
            guard let deadline = transfer.deadline else { continue }
            if deadline.when <= now {
                remove(transfer, transfer.fail(HTTPFailure(deadline.kind, "no answer in the time that was set")))
            } else {
                note(deadline.when)
            }
        }
        if !waiting.isEmpty { start() }
        return nextDeadline
    }

    /// Removes all requests and returns them.
    func removeAll() -> [Transfer.Submission] {
        let submissions = running.values.map(\.submission)
        for transfer in running.values {
            curl_multi_remove_handle(multi, transfer.handle)
            _ = transfer.fail(.closed)
            // The handle refers to memory of the transfer.
            curl_easy_reset(transfer.handle)
            spares.append(transfer.handle)
        }
        running = [:]
        defer { waiting = [] }
        return submissions + waiting
    }

    // MARK: - Starting and ending requests

    private func start() {
        let room = min(requestsAtOnce - running.count, waiting.count)
        guard room > 0 else { return }
        let starting = waiting.prefix(room)
        waiting.removeFirst(room)
        for submission in starting {
            do throws(HTTPFailure) {
                try start(submission)
            } catch {
                TransferThread.refuse(submission, error)
            }
        }
    }

    private func start(_ submission: Transfer.Submission) throws(HTTPFailure) {
        guard let handle = spares.popLast() ?? curl_easy_init() else { throw .noMemory }
        do throws(HTTPFailure) {
            let transfer = try Transfer(submission, handle: handle, certificates: certificates, now: .now)
            guard curl_multi_add_handle(multi, handle) == CURLM_OK else {
                _ = transfer.fail(.noMemory)
                throw HTTPFailure.noMemory
            }
            running[handle] = transfer
            if let deadline = transfer.deadline { note(deadline.when) }
        } catch {
            curl_easy_cleanup(handle)
            throw error
        }
    }

    private func note(_ deadline: MonotonicTime) {
        nextDeadline = min(nextDeadline ?? deadline, deadline)
    }

    private func cancel(_ ids: Set<UInt64>) {
        for submission in waiting where ids.contains(submission.id) { TransferThread.refuse(submission, .cancelled) }
        waiting.removeAll { ids.contains($0.id) }
        for transfer in running.values.filter({ ids.contains($0.submission.id) }) {
            remove(transfer, transfer.fail(.cancelled))
        }
    }

    private func resume(_ ids: Set<UInt64>) {
        for transfer in running.values.filter({ ids.contains($0.submission.id) }) {
            transfer.resume()
            // The idle time-out of a resumed transfer applies again.
            if let deadline = transfer.deadline { note(deadline.when) }
        }
    }

    private func remove(_ transfer: Transfer, _ result: Result<HTTPResponse, HTTPFailure>) {
        curl_multi_remove_handle(multi, transfer.handle)
        running[transfer.handle] = nil
        discard(transfer.handle, isReusable: (try? result.get()) != nil)
        transfer.submission.upload?.close()
        transfer.submission.continuation.resume(returning: result)
    }

    /// Resets a handle for reuse, or frees it. libcurl's reset leaves some state of a failed request, with which the
    /// next request on the handle may fail too.
    private func discard(_ handle: UnsafeMutableRawPointer, isReusable: Bool) {
        guard isReusable, spares.count < Self.spareHandles else { return curl_easy_cleanup(handle) }
        curl_easy_reset(handle)
        spares.append(handle)
    }
}
