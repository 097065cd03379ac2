import FoundationEssentials
package import NephosService

/// What an answer of Apple's push service means (Apple's documentation, Handling notification responses from APNs).
///
/// - 200: the service has it.
/// - 410, and 400 `BadDeviceToken`: the token is not, or no longer, a device's.
/// - 403 `ExpiredProviderToken`: the request was right but for our token.
/// - 403 otherwise, 404: we are set up wrongly; the notification waits until that is put right.
/// - 400 otherwise, 405, 413: the service never takes this notification.
/// - 429, 500, 503 and what is not listed: later.
package enum APNsAnswer: Hashable, Sendable {
    case outcome(DeliveryOutcome)
    /// With a new token, at once.
    case expiredProviderToken

    /// - Parameter reason: of the answer's body, nil where it has none.
    package init(status: Int, reason: String?, retryAfter: Duration? = nil) {
        let text = "APNs answered \(status)" + (reason.map { " \($0)" } ?? "")
        switch (status, reason) {
        case (200, _): self = .outcome(.delivered)
        case (410, _), (400, "BadDeviceToken"): self = .outcome(.rejected(reason: text))
        case (403, "ExpiredProviderToken"): self = .expiredProviderToken
        case (400, "IdleTimeout"): self = .outcome(.retry(after: retryAfter, reason: text))
        case (400, _), (405, _), (413, _): self = .outcome(.undeliverable(reason: text))
        default: self = .outcome(.retry(after: retryAfter, reason: text))
        }
    }

    /// The reason in an answer's body; nil if there is none. Its characters are checked: it goes to the log.
    static func reason(in body: [UInt8]) -> String? {
        struct Body: Decodable {
            var reason: String
        }
        guard let reason = try? JSONDecoder().decode(Body.self, from: Data(body)).reason,
            (1...64).contains(reason.utf8.count), reason.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        return reason
    }
}
