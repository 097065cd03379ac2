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
    /// The number of keys at which those without recent work are evicted.
    private let capacity = 10_000

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
        if levels.count > capacity { levels = levels.filter { self.rows($0.key, at: now) >= 1 } }
    }
}

extension Limits {
    /// The time in seconds in which the amount of an account's recent work falls by half.
    static let secondsToHalveFanOutLoad = 10.0
    /// The amount of recent work, in outbox rows, from which an account's events wait for other accounts' turns.
    static let outboxRowsOfBusyOrigin = 100.0
}
