import NephosWire
import Synchronization

/// The last requests and notifications, for the dashboard and for `nephos status`: a ring, of which a reader has a position. It is filled
/// only for some minutes after a look.
final class RecentRequests: Sendable {
    /// The maximum number of requests, and of those that `/status` shows.
    static let (limit, shown) = (1000, 50)
    /// The time in milliseconds after a look for which requests are recorded.
    static let watch: Int64 = 5 * 60 * 1000
    /// The time in milliseconds after a look for which clients are noted (`ClientLog`), which costs a short request a
    /// twentieth of its time.
    static let clientWatch: Int64 = 60 * 60 * 1000
    /// The maximum number of notifications per second that are recorded, so that they do not evict the requests.
    static let notificationsPerSecond = 20
    /// The time in milliseconds after a request within which notifications may come from it.
    static let notificationTime: Int64 = 10 * 1000
    /// The maximum number of bytes of each text of a request, so that the ring has at most 5 MB.
    static let textSize = 1000

    /// A position as a reader has it: of a ring, on the wire `RING-NUMBER`. A number alone is one of any ring.
    struct Position: Hashable, Sendable, CustomStringConvertible {
        var ring: String?
        var number: Int

        init(ring: String?, _ number: Int) { (self.ring, self.number) = (ring, number) }

        init?(_ text: String) {
            let parts = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
            guard let last = parts.last, let number = Int(last), number >= 0, parts[0] != "" else { return nil }
            (ring, self.number) = (parts.count == 2 ? String(parts[0]) : nil, number)
        }

        var description: String { (ring.map { "\($0)-" } ?? "") + "\(number)" }
    }

    /// A request in the ring. An object, so that a reader copies references alone while the ring is locked.
    final class Answered: Sendable {
        let request: AnsweredRequest
        /// The time of the answer in milliseconds since 1970.
        let time: Int64
        let position: Int
        /// The number of requests before this one that were not recorded.
        let skipped: Int

        init(_ request: AnsweredRequest, at time: Int64, position: Int, skipped: Int) {
            (self.request, self.time, self.position, self.skipped) = (request, time, position, skipped)
        }
    }

    /// The random identifier of the ring, which distinguishes its positions from those of a server before a restart, or of
    /// another one.
    let id: String
    /// The time at which a client last read the requests; before all others without such a client.
    private let lookedAt = Atomic<Int64>(.min / 2)
    /// The time until which there are more requests than a stream takes.
    private let busyUntil = Atomic<Int64>(0)
    /// The second since 1970 in which the ring was overwritten twice, and the number of requests not recorded since the
    /// last one that was.
    private let overrunSecond = Atomic<Int64>(0)
    private let skipped = Atomic(0)
    private let ring = Mutex(Ring())

    private struct Ring {
        /// The number of recorded requests. The request with the position `p` is at `p % limit`.
        var count = 0
        var requests: [Answered] = []
        var recordings = RequestRecordings()
        /// The present interval between two batches of streams, and the number of its requests.
        var interval: Int64 = 0
        var inInterval = 0
        /// The present second, and the numbers of its requests and of its notifications.
        var second: Int64 = 0
        var inSecond = 0
        var notificationsInSecond = 0
        /// The number of recorded notifications.
        var notifications = 0

        func request(at position: Int) -> Answered { requests[position % RecentRequests.limit] }

        var first: Int { max(0, count - requests.count) }

        /// The first position from which a reader at `position` gets requests. A position that no request had yet, as of a
        /// server that started again, counts as 0.
        func start(after position: Int) -> (start: Int, missed: Int) {
            let wanted = (0...count).contains(position) ? position : 0
            let start = max(first, wanted)
            return (start, start - wanted)
        }
    }

    init(id: String = String(UInt64.random(in: .min ... .max), radix: 36)) { self.id = id }

    /// Returns the number of a reader's position; 0 for a position of another ring.
    func number(of position: Position) -> Int {
        position.ring == nil || position.ring == id ? position.number : 0
    }

    func isWatched(at now: Int64) -> Bool { now - lookedAt.load(ordering: .relaxed) < Self.watch }

    func notesClients(at now: Int64) -> Bool { now - lookedAt.load(ordering: .relaxed) < Self.clientWatch }

    func watch(at now: Int64) { lookedAt.store(now, ordering: .relaxed) }

    /// Whether more requests are recorded than a stream takes, so that bodies of a successful one would not be looked at.
    func isBusy(at now: Int64) -> Bool { now < busyUntil.load(ordering: .relaxed) }

    /// Whether the ring was overwritten twice within this second. Then successful requests are not recorded until its end:
    /// no reader can follow them, and recording costs a short request a tenth of its time.
    func isOverrun(at now: Int64) -> Bool { now / 1000 == overrunSecond.load(ordering: .relaxed) }

    /// Counts a request that is not recorded.
    func skip() { skipped.add(1, ordering: .relaxed) }

    func note(_ request: AnsweredRequest, at time: Int64, _ recording: RequestRecording? = nil) {
        var request = request
        request.endpoint = Self.cut(request.endpoint)
        for text in [\AnsweredRequest.summary, \.reason, \.container, \.account] {
            request[keyPath: text] = request[keyPath: text].map(Self.cut)
        }
        ring.withLock { [request] ring in
            if time / 1000 != ring.second { (ring.inSecond, ring.notificationsInSecond) = (0, 0) }
            ring.second = time / 1000
            if request.isNotification {
                ring.notificationsInSecond += 1
                if ring.notificationsInSecond > Self.notificationsPerSecond { return skip() }
                ring.notifications += 1
            }
            let answered = Answered(
                request, at: time, position: ring.count, skipped: skipped.exchange(0, ordering: .relaxed))
            if ring.requests.count < Self.limit {
                ring.requests.append(answered)
            } else {
                ring.requests[ring.count % Self.limit] = answered
            }
            if let recording { ring.recordings.add(recording, at: ring.count) }
            ring.count += 1
            let interval = time / RequestStreams.interval
            ring.inInterval = interval == ring.interval ? ring.inInterval + 1 : 1
            ring.interval = interval
            if ring.inInterval == RequestBatch.limit {
                busyUntil.store((interval + 1) * RequestStreams.interval, ordering: .relaxed)
            }
            ring.inSecond += 1
            if ring.inSecond == 2 * Self.limit { overrunSecond.store(ring.second, ordering: .relaxed) }
            ring.recordings.remove(before: ring.first)
        }
    }

    /// Cuts a text to `textSize` bytes, at the end of a scalar. A character may have any number of bytes.
    static func cut(_ text: String) -> String {
        if text.utf8.count <= textSize { return text }
        var end = text.utf8.index(text.startIndex, offsetBy: textSize)
        while end.samePosition(in: text.unicodeScalars) == nil { end = text.utf8.index(before: end) }
        return String(text.unicodeScalars[..<end])
    }

    /// The number of recorded requests, and the last of them, newest first.
    var last: (count: Int, requests: [Answered]) {
        ring.withLock { ring in
            let start = max(ring.first, ring.count - Self.shown)
            return (ring.count - ring.notifications, (start..<ring.count).reversed().map(ring.request))
        }
    }

    /// The position of the next request.
    var next: Int { ring.withLock(\.count) }

    /// Returns the requests from a position on, the oldest first, the position after them, and the number of those that were
    /// overwritten before.
    /// - Parameter position: the position after the last request that the reader has; 0 for none. One that no request
    ///   had yet, as of a server that started again, counts as 0.
    func requests(after position: Int) -> (requests: [Answered], next: Int, missed: Int) {
        ring.withLock { ring in
            let (start, missed) = ring.start(after: position)
            let requests = (start..<ring.count).map(ring.request)
            return (requests, ring.count, requests.reduce(missed) { $0 + $1.skipped })
        }
    }

    /// Returns notifications of a request's container and environment from its beginning until `notificationTime` after it,
    /// the oldest first. A notification may be sent before its request is answered.
    func notifications(after answered: Answered) -> [Answered] {
        let request = answered.request
        let times = (answered.time - Int64(request.milliseconds) - 1)...(answered.time + Self.notificationTime)
        return requests(after: 0).requests.lazy
            .filter {
                $0.request.isNotification && times.contains($0.time)
                    && $0.request.container == request.container && $0.request.environment == request.environment
            }
            .prefix(Self.shown).map(\.self)
    }

    /// Returns the request with an identifier, in either case, and what else was recorded of it; nil without one.
    func request(id: String) -> (answered: Answered, recording: RequestRecording?)? {
        let id = id.lowercased()
        return ring.withLock { ring in
            (ring.first..<ring.count).reversed().lazy.map(ring.request)
                .first { $0.request.requestID.lowercased() == id }
                .map { ($0, ring.recordings[$0.position]) }
        }
    }
}
