import CCurl
import FoundationEssentials
import Glibc
import Synchronization

/// Sends requests over libcurl's multi interface, on a thread of its own that ends with the client: many at once,
/// over as few connections as the servers allow (HTTP/2 puts many requests on one), which stay open for the next.
package final class HTTPClient: Sendable {
    private let transfers: TransferThread

    /// - Parameters:
    ///   - certificates: a file of PEM certificates that are trusted instead of the system's; nil for the system's.
    ///   - requestsAtOnce: how many may be under way; the others wait their turn.
    package init(certificates: String? = nil, requestsAtOnce: Int = 256) {
        transfers = TransferThread(certificates: certificates, requestsAtOnce: requestsAtOnce)
        transfers.start()
    }

    deinit { transfers.close() }

    /// Sends the request once and waits for the answer.
    /// - Throws: `HTTPFailure` where there is none: no connection, too late, the client closed, the task cancelled.
    func send(_ request: HTTPRequest) async throws(HTTPFailure) -> HTTPResponse {
        let id = transfers.makeID()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                transfers.submit(TransferThread.Submission(id: id, request: request, continuation: continuation))
                // The handler may have run before there was anything to cancel.
                if Task.isCancelled { transfers.cancel(id) }
            }
        } onCancel: {
            transfers.cancel(id)
        }
        return try result.get()
    }

    /// Says whether a file can be given as `certificates`, before anything is sent.
    /// - Throws: `NotificationSetupError` for a file that cannot be read, and for one without certificates in PEM.
    package static func checkCertificates(_ file: String) throws(NotificationSetupError) {
        guard let data = try? Data(contentsOf: URL(filePath: file)) else {
            throw NotificationSetupError("the certificates '\(file)' cannot be read")
        }
        guard String(decoding: data, as: UTF8.self).contains("-----BEGIN CERTIFICATE-----") else {
            throw NotificationSetupError("'\(file)' holds no certificates in PEM")
        }
    }

    /// Fails what is under way, and everything that is sent later.
    package func close() {
        transfers.close()
    }
}

/// The thread on which libcurl works, and the way to it.
private final class TransferThread: Sendable {
    struct Submission {
        let id: UInt64
        let request: HTTPRequest
        let continuation: CheckedContinuation<Result<HTTPResponse, HTTPFailure>, Never>
    }

    private struct Inbox {
        var lastID: UInt64 = 0
        var submissions: [Submission] = []
        var cancelled: [UInt64] = []
        var isClosed = false
        /// The address of libcurl's handle, to wake the thread by; 0 before it runs and once it has ended.
        var multi: UInt = 0
    }

    private let inbox = Mutex(Inbox())
    private let certificates: String?
    private let requestsAtOnce: Int

    init(certificates: String?, requestsAtOnce: Int) {
        self.certificates = certificates
        self.requestsAtOnce = requestsAtOnce
    }

    // MARK: - From any thread

    func start() {
        let box = Unmanaged.passRetained(self)
        var thread = pthread_t()
        let failure = pthread_create(
            &thread, nil,
            { argument in
                if let argument { Unmanaged<TransferThread>.fromOpaque(argument).takeRetainedValue().run() }
                return nil
            }, box.toOpaque())
        precondition(failure == 0, "no thread to be had: \(String(cString: strerror(failure)))")
        pthread_detach(thread)
    }

    func makeID() -> UInt64 {
        inbox.withLock { inbox in
            inbox.lastID += 1
            return inbox.lastID
        }
    }

    func submit(_ submission: Submission) {
        let isClosed = inbox.withLock { inbox in
            if !inbox.isClosed { inbox.submissions.append(submission) }
            Self.wake(inbox)
            return inbox.isClosed
        }
        if isClosed { submission.continuation.resume(returning: .failure(.closed)) }
    }

    func cancel(_ id: UInt64) {
        inbox.withLock { inbox in
            if !inbox.isClosed { inbox.cancelled.append(id) }
            Self.wake(inbox)
        }
    }

    func close() {
        inbox.withLock { inbox in
            inbox.isClosed = true
            Self.wake(inbox)
        }
    }

    /// Under the lock, so that the handle is not freed meanwhile.
    private static func wake(_ inbox: Inbox) {
        if let multi = UnsafeMutableRawPointer(bitPattern: inbox.multi) { curl_multi_wakeup(multi) }
    }

    // MARK: - On the thread

    private static let isCurlReady: Bool = nephos_curl_global_init() == CURLE_OK

    private func run() {
        guard Self.isCurlReady, let multi = curl_multi_init() else {
            return end(failing: [], because: HTTPFailure(reason: "libcurl cannot be started"))
        }
        let address = UInt(bitPattern: multi)
        inbox.withLock { $0.multi = address }
        var work = TransferWork(multi: multi, certificates: certificates, requestsAtOnce: requestsAtOnce)
        while true {
            let (news, cancelled, isClosed) = inbox.withLock { inbox in
                defer {
                    inbox.submissions = []
                    inbox.cancelled = []
                }
                return (inbox.submissions, inbox.cancelled, inbox.isClosed)
            }
            work.add(news)
            work.cancel(cancelled)
            if isClosed { break }
            // What is done makes room for what waits: begin again before resting.
            while work.perform() {}
            curl_multi_poll(multi, nil, 0, 60_000, nil)
        }
        end(failing: work.removeAll(), because: .closed)
        curl_multi_cleanup(multi)
    }

    private func end(failing submissions: [Submission], because failure: HTTPFailure) {
        let late = inbox.withLock { inbox in
            inbox.isClosed = true
            inbox.multi = 0
            defer { inbox.submissions = [] }
            return inbox.submissions
        }
        for submission in submissions + late { submission.continuation.resume(returning: .failure(failure)) }
    }
}

/// What is under way and what waits for its turn. Lives on the transfer thread.
private struct TransferWork {
    let multi: UnsafeMutableRawPointer
    let certificates: String?
    let requestsAtOnce: Int
    private var waiting: [TransferThread.Submission] = []
    private var running: [UnsafeMutableRawPointer: (transfer: HTTPTransfer, submission: TransferThread.Submission)] =
        [:]

    init(multi: UnsafeMutableRawPointer, certificates: String?, requestsAtOnce: Int) {
        self.multi = multi
        self.certificates = certificates
        self.requestsAtOnce = requestsAtOnce
        // A server that allows few requests a connection gets some more connections, not one a request.
        _ = nephos_curl_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, 8)
    }

    mutating func add(_ submissions: [TransferThread.Submission]) {
        waiting += submissions
    }

    mutating func cancel(_ ids: [UInt64]) {
        guard !ids.isEmpty else { return }
        let ids = Set(ids)
        for submission in waiting where ids.contains(submission.id) {
            submission.continuation.resume(returning: .failure(.cancelled))
        }
        waiting.removeAll { ids.contains($0.id) }
        for (handle, entry) in running where ids.contains(entry.submission.id) {
            curl_multi_remove_handle(multi, handle)
            running[handle] = nil
            entry.submission.continuation.resume(returning: .failure(.cancelled))
        }
    }

    /// Starts what there is room for and lets libcurl work.
    /// - Returns: whether there may be more to start.
    mutating func perform() -> Bool {
        start()
        var count: Int32 = 0
        curl_multi_perform(multi, &count)
        var isAnyDone = false
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let handle = message.pointee.easy_handle else { continue }
            finish(handle, message.pointee.data.result)
            isAnyDone = true
        }
        return isAnyDone && !waiting.isEmpty
    }

    private mutating func start() {
        let room = min(requestsAtOnce - running.count, waiting.count)
        guard room > 0 else { return }
        let starting = waiting.prefix(room)
        waiting.removeFirst(room)
        for submission in starting {
            do throws(HTTPFailure) {
                let transfer = try HTTPTransfer(submission.request, certificates: certificates)
                guard curl_multi_add_handle(multi, transfer.handle) == CURLM_OK else {
                    throw HTTPFailure(reason: "libcurl does not take the request")
                }
                running[transfer.handle] = (transfer, submission)
            } catch {
                submission.continuation.resume(returning: .failure(error))
            }
        }
    }

    private mutating func finish(_ handle: UnsafeMutableRawPointer, _ code: CURLcode) {
        curl_multi_remove_handle(multi, handle)
        guard let entry = running.removeValue(forKey: handle) else { return }
        entry.submission.continuation.resume(returning: entry.transfer.finish(code))
    }

    /// Lets go of everything.
    mutating func removeAll() -> [TransferThread.Submission] {
        for handle in running.keys { curl_multi_remove_handle(multi, handle) }
        defer {
            running = [:]
            waiting = []
        }
        return waiting + running.values.map(\.submission)
    }
}
