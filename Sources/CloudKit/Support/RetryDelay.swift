/// How long to wait before something that failed is tried again.
enum RetryDelay {
    /// Seconds: the longest wait that grows by itself.
    static let longestWait = 300.0

    /// Seconds: 1, 2, 4 and so on, spread over half of that by `random`, a number from 0 to 1; and never less than the
    /// service asked for.
    static func seconds(afterFailures failures: Int, retryAfter: Double?, random: Double) -> Double {
        var seconds = 1.0
        for _ in 1..<max(failures, 1) where seconds < longestWait { seconds *= 2 }
        seconds = min(seconds, longestWait)
        return max(retryAfter ?? 0, seconds * (1 - random / 2))
    }
}
