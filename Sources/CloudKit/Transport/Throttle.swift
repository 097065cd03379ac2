import NephosWire
import Synchronization

/// Holds back requests that the service asked not to send yet, by the `Retry-After` of an earlier answer. Like Apple's
/// framework it refuses them without asking the service, each kind of operation by itself.
final class Throttle: Sendable {
    private struct Refusal {
        /// In milliseconds.
        var until: Int64
        var code: CKError.Code
    }

    private let refusals = Mutex<[String: Refusal]>([:])
    private let now: @Sendable () -> Int64

    /// - Parameter now: returns the time in milliseconds.
    init(now: @escaping @Sendable () -> Int64) { self.now = now }

    /// - Parameter endpoint: the path of an endpoint, such as `records/modify`.
    /// - Throws: the earlier answer's code, with the time that is left, before that time is over.
    func check(_ endpoint: String) throws(ServiceFailure) {
        let now = now()
        let left = refusals.withLock { refusals -> (CKError.Code, Double)? in
            guard let refusal = refusals[endpoint] else { return nil }
            guard refusal.until > now else {
                refusals[endpoint] = nil
                return nil
            }
            return (refusal.code, Double(refusal.until - now) / 1000)
        }
        guard let (code, seconds) = left else { return }
        throw .transport(
            code, "'\(endpoint)' was throttled by an earlier answer. Retry after \(seconds) seconds.",
            retryAfter: seconds)
    }

    /// Notes a refusal of a whole request that asks to wait.
    func note(_ failure: ServiceFailure, of endpoint: String) {
        guard let (code, seconds) = failure.throttling else { return }
        let until = now() + Int64(seconds * 1000)
        refusals.withLock { $0[endpoint] = Refusal(until: until, code: code) }
    }
}

extension ServiceFailure {
    /// The longest wait in seconds that an answer can ask for.
    private static let longestWait = 3600.0

    /// How long, in seconds, the service asks not to send such requests; nil if it does not. A server that stops asks for
    /// a second, in which another takes over: that is no throttling.
    fileprivate var throttling: (CKError.Code, seconds: Double)? {
        let asked: (code: CKError.Code?, seconds: Double?) =
            switch self {
            case .refused(let error): (CKError.Code(error), error.retryAfter)
            case .transport(let code, _, let seconds): (code, seconds)
            default: (nil, nil)
            }
        guard let seconds = asked.seconds, seconds > 0 else { return nil }
        switch asked.code {
        case .requestRateLimited?: return (.requestRateLimited, min(seconds, Self.longestWait))
        case .serviceUnavailable? where seconds > 1: return (.serviceUnavailable, min(seconds, Self.longestWait))
        default: return nil
        }
    }
}
