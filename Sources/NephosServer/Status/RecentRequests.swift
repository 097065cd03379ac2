import Synchronization

/// The last requests, for the page at `/` and for `nephos status`.
final class RecentRequests: Sendable {
    static let limit = 50

    /// The page was looked at. Before that nothing is noted.
    let isWatched = Atomic(false)

    /// A request, and how many there had been with it.
    private let requests = Mutex<(count: Int, last: [AnsweredRequest])>((0, []))

    func note(_ request: AnsweredRequest) {
        requests.withLock { requests in
            requests.count += 1
            if requests.last.count == Self.limit { requests.last.removeFirst() }
            requests.last.append(request)
        }
    }

    /// How many there have been since the first look, and the last of them, the newest first.
    var all: (count: Int, last: [AnsweredRequest]) {
        requests.withLock { ($0.count, $0.last.reversed()) }
    }
}
