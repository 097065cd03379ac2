import NephosPush
import NephosService
import Testing

@Suite struct APNsAnswerTests {
    func outcome(_ status: Int, _ reason: String?, retryAfter: Duration? = nil) -> DeliveryOutcome? {
        guard case .outcome(let outcome) = APNsAnswer(status: status, reason: reason, retryAfter: retryAfter) else {
            return nil
        }
        return outcome
    }

    @Test func `a status of 200 counts as delivered`() {
        #expect(outcome(200, nil) == .delivered)
    }

    @Test(arguments: [(400, "BadDeviceToken"), (410, "Unregistered"), (410, "ExpiredToken"), (410, nil)])
    func `an invalid device token is rejected`(_ status: Int, _ reason: String?) {
        let text = "APNs answered \(status)" + (reason.map { " \($0)" } ?? "")
        #expect(outcome(status, reason) == .rejected(reason: text))
    }

    @Test(arguments: [
        (#"{"reason":"Unregistered","timestamp":1763713200250}"#, "Unregistered", 1_763_713_200_250),
        (#"{"timestamp":1763713200250}"#, nil, 1_763_713_200_250),
        (#"{"reason":"Unregistered","timestamp":"yesterday"}"#, "Unregistered", nil),
        (#"{"reason":7,"timestamp":1e300}"#, nil, nil), ("[]", nil, nil), ("", nil, nil),
    ])
    func `a rejection of an expired token says since when`(_ body: String, _ reason: String?, _ since: Int64?) {
        let text = "APNs answered 410" + (reason.map { " \($0)" } ?? "")
        #expect(APNsAnswer(status: 410, body: Array(body.utf8)) == .outcome(.rejected(reason: text, since: since)))
    }

    @Test(arguments: [
        (400, "BadCollapseId"), (400, "PayloadEmpty"), (400, "DeviceTokenNotForTopic"), (413, "PayloadTooLarge"),
    ])
    func `a permanent refusal of a payload is not retried and keeps the device`(_ status: Int, _ reason: String) {
        #expect(outcome(status, reason) == .undeliverable(reason: "APNs answered \(status) \(reason)"))
    }

    @Test(arguments: [
        (403, "InvalidProviderToken"), (403, nil), (404, "BadPath"), (429, "TooManyRequests"),
        (429, "TooManyProviderTokenUpdates"), (500, "InternalServerError"), (503, "ServiceUnavailable"),
        (503, "Shutdown"),
        (502, nil), (301, nil), (204, nil), (0, nil), (999, nil),
    ])
    func `every other answer is retried`(_ status: Int, _ reason: String?) {
        let text = "APNs answered \(status)" + (reason.map { " \($0)" } ?? "")
        #expect(outcome(status, reason, retryAfter: .seconds(9)) == .retry(after: .seconds(9), reason: text))
    }

    @Test func `an expired provider token is renewed`() {
        #expect(APNsAnswer(status: 403, reason: "ExpiredProviderToken") == .expiredProviderToken)
    }
}
