import Glibc

/// Amounts of recent work of the fan-out, in outbox rows.
struct FanOutLoad<Key: Hashable & Sendable>: Sendable {
    /// How an amount falls.
    enum Decay {
        /// By `Limits.outboxRowsPerSecond`: what exceeds that rate accumulates.
        case linear
        /// By half in each `Limits.secondsToHalveFanOutLoad`: a share of the work, on a fast machine as on a slow one.
        case exponential
    }

    private let decay: Decay
    private var levels: [Key: (rows: Double, at: Int64)] = [:]
    /// The number of keys beyond which half of them are evicted, those with the least recent work.
    static var capacity: Int { 10_000 }
    var count: Int { levels.count }

    init(_ decay: Decay) { self.decay = decay }

    func rows(_ key: Key, at now: Int64) -> Double {
        guard let level = levels[key] else { return 0 }
        let seconds = Double(max(0, now - level.at)) / 1000
        return switch decay {
        case .linear: max(0, level.rows - seconds * Limits.outboxRowsPerSecond)
        case .exponential: level.rows * exp2(-seconds / Limits.secondsToHalveFanOutLoad)
        }
    }

    mutating func add(_ rows: Double, to key: Key, at now: Int64) {
        if rows == 0 { return }
        levels[key] = (self.rows(key, at: now) + rows, now)
        if levels.count > Self.capacity { evict(at: now) }
    }

    private mutating func evict(at now: Int64) {
        let heaviest = levels.keys.map { (key: $0, rows: self.rows($0, at: now)) }.sorted { $0.rows > $1.rows }
        for (key, _) in heaviest.dropFirst(Self.capacity / 2) { levels[key] = nil }
    }
}

extension Limits {
    /// The time in seconds in which the amount of an account's recent work falls by half.
    static let secondsToHalveFanOutLoad = 10.0
    /// The amount of recent work, in outbox rows, from which an account's events wait for other accounts' turns.
    static let outboxRowsOfBusyOrigin = 100.0
}
