import NephosThreads
import NephosWire

/// The limits of what accounts, API tokens and addresses ask of this server.
final class RateLimiters: Sendable {
    private let accounts: RateLimiter<String>
    private let apiTokens: RateLimiter<String>
    private let addresses: RateLimiter<[UInt8]>
    /// Each login that begins is stored for a quarter of an hour.
    private let logins = RateLimiter<[UInt8]>(perSecond: 1)
    /// Of all addresses, as a network may have any number.
    private let allLogins = RateLimiter<Int>(perSecond: 10)

    init(_ rates: RequestRates) {
        accounts = RateLimiter(perSecond: rates.perAccount)
        apiTokens = RateLimiter(perSecond: rates.perAPIToken)
        addresses = RateLimiter(perSecond: rates.perAddress)
    }

    /// Counts a request with a session.
    /// - Throws: `requestRateLimited`, as the others do.
    func admit(account: String) throws(ServiceError) {
        if let wait = accounts.take(account, at: Self.now) { throw .rateExceeded("account", retryAfter: wait) }
    }

    /// Counts a request without a session.
    func admit(apiToken: String) throws(ServiceError) {
        if let wait = apiTokens.take(apiToken, at: Self.now) { throw .rateExceeded("API token", retryAfter: wait) }
    }

    /// Counts a request of any kind.
    /// - Parameter address: the client's address, of IPv6 the first 64 bits; empty if unknown.
    func admit(address: [UInt8]) throws(ServiceError) {
        guard !address.isEmpty, let wait = addresses.take(address, at: Self.now) else { return }
        throw .rateExceeded("address", retryAfter: wait)
    }

    /// Counts a login that begins.
    func admit(loginFrom address: [UInt8]) throws(ServiceError) {
        if let wait = logins.take(address, at: Self.now) { throw .rateExceeded("address", retryAfter: wait) }
        if let wait = allLogins.take(0, at: Self.now) { throw .rateExceeded("server", retryAfter: wait) }
    }

    private static var now: Int64 { MonotonicTime.now.nanoseconds }
}

extension Installation {
    /// Counts a request from an address.
    /// - Throws: `requestRateLimited` above the rate.
    package func admit(address: [UInt8]) throws(ServiceError) { try rates.admit(address: address) }
}

extension ServiceError {
    static func rateExceeded(_ caller: String, retryAfter: Double) -> ServiceError {
        ServiceError(
            .throttled, .requestRateLimited, "too many requests of this \(caller)", retryAfter: retryAfter)
    }
}
