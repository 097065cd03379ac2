/// Amounts of recent work of the fan-out, in outbox rows: each falls by `Limits.outboxRowsPerSecond`.
struct FanOutLoad<Key: Hashable & Sendable>: Sendable {
    private var levels: [Key: (rows: Double, at: Int64)] = [:]
    /// The number of keys at which those without recent work are evicted.
    private let capacity = 10_000

    func rows(_ key: Key, at now: Int64) -> Double {
        guard let level = levels[key] else { return 0 }
        return max(0, level.rows - Double(max(0, now - level.at)) / 1000 * Limits.outboxRowsPerSecond)
    }

    mutating func add(_ rows: Double, to key: Key, at now: Int64) {
        if rows == 0 { return }
        levels[key] = (self.rows(key, at: now) + rows, now)
        if levels.count > capacity { levels = levels.filter { self.rows($0.key, at: now) > 0 } }
    }
}
