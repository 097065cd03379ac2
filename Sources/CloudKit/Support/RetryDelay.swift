/// The delay before a failed operation is retried: exponential back-off with jitter.
enum RetryDelay {
    /// The maximum back-off in seconds. The service can request a longer delay.
    static let longestWait = 300.0

    /// Returns the delay in seconds: 1, 2, 4 and so on, shortened by up to half according to `random`, a number from 0
    /// to 1. The delay is never shorter than `retryAfter`, the seconds that the service requests.
    static func seconds(afterFailures failures: Int, retryAfter: Double?, random: Double) -> Double {
        var seconds = 1.0
        for _ in 1..<max(failures, 1) where seconds < longestWait { seconds *= 2 }
        seconds = min(seconds, longestWait)
        return max(retryAfter ?? 0, seconds * (1 - random / 2))
    }
}
