import Synchronization

/// The last requests, for the status page at `/` and for `nephos status`.
final class RecentRequests: Sendable {
    static let limit = 50

    /// Whether the status page was viewed. No request is recorded before that.
    let isWatched = Atomic(false)

    /// The number of recorded requests, and the last ones.
    private let requests = Mutex<(count: Int, last: [Answered])>((0, []))

    struct Answered {
        var request: AnsweredRequest
        /// The time of the answer in milliseconds since 1970.
        var time: Int64
    }

    func note(_ request: AnsweredRequest, at time: Int64) {
        requests.withLock { requests in
            requests.count += 1
            if requests.last.count == Self.limit { requests.last.removeFirst() }
            requests.last.append(Answered(request: request, time: time))
        }
    }

    /// The number of requests since the first view of the status page, and the last of them, newest first.
    var all: (count: Int, last: [Answered]) {
        requests.withLock { ($0.count, $0.last.reversed()) }
    }
}
