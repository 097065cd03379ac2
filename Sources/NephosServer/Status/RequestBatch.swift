import NephosWire

/// The conditions of the reader of a stream of requests.
struct RequestFilter: Hashable, Sendable {
    /// The container of the requests; nil for all requests.
    var container: String?
    var isFailed = false

    func matches(_ request: AnsweredRequest) -> Bool {
        (container == nil || request.container == container) && (!isFailed || request.isFailed)
    }
}

extension AnsweredRequest {
    /// Whether the request was refused, or some of its items.
    var isFailed: Bool { status >= 400 || failedItems > 0 }
}

/// The requests from a position on, as an event of a stream (`text/event-stream`), whose identifier is the position after
/// them, with its ring. Its data is the answer of `/status/requests`.
struct RequestBatch: Sendable {
    /// The maximum number of requests in an event: a hundred streams of them cost a loaded server little.
    static let limit = 40
    /// The size in bytes from which on an event takes no further request.
    static let size = 64 * 1024

    /// The event; nil if it has nothing to tell.
    private(set) var event: [UInt8]?
    /// The position after the event.
    let next: Int
    /// Whether requests were left out, as there are more than an event takes.
    private(set) var isFull = false

    init(after position: Int, of recent: RecentRequests, _ filter: RequestFilter) {
        let (requests, next, missed) = recent.requests(after: position)
        self.next = next
        let wanted = requests.filter { filter.matches($0.request) }
        let chosen = Self.chosen(wanted)
        if chosen.isEmpty, missed == 0 { return }
        var writer = JSONWriter(reserving: 256 + 512 * chosen.count)
        writer.beginObject()
        writer.key("requests")
        let written = writer.requests(chosen, size: Self.size)
        isFull = written < wanted.count
        writer.member("ring", recent.id)
        writer.key("next")
        writer.int64(Int64(next))
        writer.key("missed")
        writer.int64(Int64(missed + wanted.count - written))
        writer.endObject()
        event =
            Array("id: \(RecentRequests.Position(ring: recent.id, next))\ndata: ".utf8) + writer.finish()
            + Array("\n\n".utf8)
    }

    /// The requests of an event: of more than it takes, the failed ones first, and then the newest.
    static func chosen(_ requests: [RecentRequests.Answered]) -> [RecentRequests.Answered] {
        if requests.count <= limit { return requests }
        let failed = requests.filter(\.request.isFailed).suffix(limit)
        let others = requests.filter { !$0.request.isFailed }.suffix(limit - failed.count)
        return (failed + others).sorted { $0.position < $1.position }
    }
}

extension JSONWriter {
    /// Writes an array of requests, without those that begin beyond `size` bytes.
    /// - Returns: the number of written requests.
    @discardableResult
    mutating func requests(_ requests: [RecentRequests.Answered], size: Int = .max) -> Int {
        beginArray()
        let written = requests.prefix { answered in
            guard count < size else { return false }
            answered.request.write(to: &self, time: LogTime.text(answered.time), position: answered.position)
            return true
        }
        endArray()
        return written.count
    }
}
