import NephosStorage
import NephosThreads

/// The pending change events by their origins, the oldest first. They are read from the store now and then: reading
/// 20,000 for each page would take longer than most pages.
struct FanOutTurns {
    /// The time after which the events are read again, in nanoseconds: a new origin waits for its turn so long.
    private static let lifetimeNanoseconds: Int64 = 50_000_000

    private var events: [ChangeEventOrigin: ArraySlice<Int64>] = [:]
    private var done: Set<Int64> = []
    /// The time of the read; nil before the first one.
    private var readAt: MonotonicTime?

    init() {}

    init(_ events: [(id: Int64, origin: ChangeEventOrigin)]) {
        self.events = Dictionary(grouping: events, by: \.origin).mapValues { $0.map(\.id)[...] }
        readAt = .now
    }

    var isStale: Bool { readAt.map { MonotonicTime.now - $0 > Self.lifetimeNanoseconds } ?? true }

    /// Notes that events have been fanned out.
    mutating func end(_ ids: [Int64]) {
        if readAt == nil { return }
        done.formUnion(ids)
        if done.count > Limits.waitingChangeEvents { self = FanOutTurns() }
    }

    /// Returns the oldest event of the origin with the least load.
    /// - Parameter waiting: the events that back off.
    mutating func next(except waiting: [Int64], load: (ChangeEventOrigin) -> Double) -> Int64? {
        var best: (load: Double, id: Int64)?
        for origin in events.keys {
            while let first = events[origin]?.first, done.contains(first) { _ = events[origin]?.popFirst() }
            let pending = events[origin]?.first { !waiting.contains($0) && !done.contains($0) }
            guard let id = pending else { continue }
            let load = load(origin)
            if best.map({ (load, id) < $0 }) ?? true { best = (load, id) }
        }
        return best?.id
    }
}
