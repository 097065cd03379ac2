import Synchronization

/// The last requests, for the dashboard and for `nephos status`: a ring, of which a reader has a position. It is filled
/// only for some minutes after a look.
final class RecentRequests: Sendable {
    /// The maximum number of requests, and of those that `/status` shows.
    static let (limit, shown) = (1000, 50)
    /// The time in milliseconds after a look for which requests are recorded.
    static let watch: Int64 = 5 * 60 * 1000
    /// The maximum number of bytes of each text of a request, so that the ring has at most 5 MB.
    static let textSize = 1000

    struct Answered {
        var request: AnsweredRequest
        /// The time of the answer in milliseconds since 1970.
        var time: Int64
    }

    /// The time until which requests are recorded.
    private let watchedUntil = Atomic<Int64>(0)
    private let ring = Mutex(Ring())

    private struct Ring {
        /// The number of recorded requests. The request with the position `p` is at `p % limit`.
        var count = 0
        var requests: [Answered] = []

        func request(at position: Int) -> Answered { requests[position % RecentRequests.limit] }

        var first: Int { max(0, count - requests.count) }
    }

    func isWatched(at now: Int64) -> Bool { now < watchedUntil.load(ordering: .relaxed) }

    func watch(at now: Int64) { watchedUntil.store(now + Self.watch, ordering: .relaxed) }

    func note(_ request: AnsweredRequest, at time: Int64) {
        var request = request
        request.endpoint = Self.cut(request.endpoint)
        for text in [\AnsweredRequest.summary, \.reason, \.container, \.account] {
            request[keyPath: text] = request[keyPath: text].map(Self.cut)
        }
        ring.withLock { [request] ring in
            let answered = Answered(request: request, time: time)
            if ring.requests.count < Self.limit {
                ring.requests.append(answered)
            } else {
                ring.requests[ring.count % Self.limit] = answered
            }
            ring.count += 1
        }
    }

    /// Cuts a text to `textSize` bytes, at the end of a scalar. A character may have any number of bytes.
    private static func cut(_ text: String) -> String {
        if text.utf8.count <= textSize { return text }
        return String(decoding: text.utf8.prefix(textSize), as: UTF8.self)
    }

    /// The number of recorded requests, and the last of them, newest first.
    var last: (count: Int, requests: [Answered]) {
        ring.withLock { ring in
            let start = max(ring.first, ring.count - Self.shown)
            return (ring.count, (start..<ring.count).reversed().map(ring.request))
        }
    }

    /// Returns the requests from a position on, the oldest first, the position after them, and the number of those that were
    /// overwritten before.
    /// - Parameter position: the position after the last request that the reader has; 0 for none. One that no request
    ///   had yet, as of a server that started again, counts as 0.
    func requests(after position: Int) -> (requests: [(position: Int, answered: Answered)], next: Int, missed: Int) {
        ring.withLock { ring in
            let wanted = (0...ring.count).contains(position) ? position : 0
            let start = max(ring.first, wanted)
            return ((start..<ring.count).map { ($0, ring.request(at: $0)) }, ring.count, start - wanted)
        }
    }
}
