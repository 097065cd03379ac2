/// The outbox rows that fan-outs wrote lately, by account: an account's number falls by `Limits.outboxRowsPerSecond`.
struct FanOutLoad {
    private var levels: [Int64: (rows: Double, at: Int64)] = [:]
    /// The number of accounts at which those without recent rows are evicted.
    private static let capacity = 10_000

    func rows(_ account: Int64, at now: Int64) -> Double {
        guard let level = levels[account] else { return 0 }
        return max(0, level.rows - Double(max(0, now - level.at)) / 1000 * Limits.outboxRowsPerSecond)
    }

    mutating func add(_ rows: Int, to account: Int64, at now: Int64) {
        levels[account] = (self.rows(account, at: now) + Double(rows), now)
        if levels.count > Self.capacity { levels = levels.filter { self.rows($0.key, at: now) > 0 } }
    }
}
