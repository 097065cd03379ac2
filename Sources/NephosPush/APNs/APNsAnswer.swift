import FoundationEssentials
package import NephosService

/// The meaning of an answer of Apple's push service (Apple's documentation, Handling notification responses from APNs).
///
/// - 200: the service has accepted the notification.
/// - 410, and 400 with `BadDeviceToken`: the device token is invalid. A 410 contains the time since when it is invalid.
/// - 403 with `ExpiredProviderToken`: only the provider token is invalid, and the request is right.
/// - Any other 403, and 404: the configuration of this server is wrong. The notification waits until it is corrected.
/// - Any other 400, 405, and 413: the service will never accept this notification.
/// - 429, 500, 503 and all other statuses: a retry later may succeed.
package enum APNsAnswer: Hashable, Sendable {
    case outcome(DeliveryOutcome)
    /// The provider token has expired. The request is retried at once with a new one.
    case expiredProviderToken

    /// - Parameters:
    ///   - reason: the reason in the body of the answer; nil if it has none.
    ///   - timestamp: the time since when the device token is invalid, in milliseconds since 1970, from the body of the
    ///     answer; nil if it has none.
    package init(status: Int, reason: String?, timestamp: Int64? = nil, retryAfter: Duration? = nil) {
        let text = "APNs answered \(status)" + (reason.map { " \($0)" } ?? "")
        switch (status, reason) {
        case (200, _): self = .outcome(.delivered)
        case (410, _): self = .outcome(.rejected(reason: text, since: timestamp))
        case (400, "BadDeviceToken"): self = .outcome(.rejected(reason: text))
        case (403, "ExpiredProviderToken"): self = .expiredProviderToken
        case (400, "IdleTimeout"): self = .outcome(.retry(after: retryAfter, reason: text))
        case (400, _), (405, _), (413, _): self = .outcome(.undeliverable(reason: text))
        default: self = .outcome(.retry(after: retryAfter, reason: text))
        }
    }

    /// Decodes the body of an answer, in which any member may be missing.
    package init(status: Int, body: [UInt8], retryAfter: Duration? = nil) {
        let body = try? JSONDecoder().decode(Body.self, from: Data(body))
        self.init(status: status, reason: body?.reason, timestamp: body?.timestamp, retryAfter: retryAfter)
    }

    private struct Body: Decodable {
        var reason: String?
        var timestamp: Int64?

        enum CodingKeys: CodingKey {
            case reason, timestamp
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            // The reason is logged, so it must be short and consist only of the characters that reasons have.
            if let reason = try? container.decode(String.self, forKey: .reason), (1...64).contains(reason.utf8.count),
                reason.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
            {
                self.reason = reason
            }
            timestamp = try? container.decode(Int64.self, forKey: .timestamp)
        }
    }
}
