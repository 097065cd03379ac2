package import NephosHTTP
package import NephosService

/// The configuration of Apple's push service.
package struct APNsConfiguration: Sendable {
    package let identity: ProviderIdentity
    /// The bundle identifier of the app that receives the notifications.
    package let topic: String
    /// The address that replaces Apple's two addresses; nil for those, which the environment of a token selects.
    let address: WebAddress?

    /// - Parameter url: the URL of a relay that replaces Apple's service; nil for Apple's. It is an https URL, because
    ///   APNs requires HTTP/2 over TLS.
    /// - Throws: `NotificationSetupError`.
    package init(identity: ProviderIdentity, topic: String, url: String? = nil) throws(NotificationSetupError) {
        guard (1...255).contains(topic.utf8.count), topic.utf8.allSatisfy(Self.standsInBundleIdentifier) else {
            throw NotificationSetupError("'\(topic)' is not an app's bundle identifier: letters, digits, '-' and '.'")
        }
        var address: WebAddress?
        if let url {
            let given = try WebAddress(url, subject: "the push service's URL")
            guard given.isSecure else {
                throw NotificationSetupError("the push service's URL must begin with https://")
            }
            address = given
        }
        self.identity = identity
        self.topic = topic
        self.address = address
    }

    private static func standsInBundleIdentifier(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."):
            true
        default: false
        }
    }

    /// Returns the base URL of requests (Apple's documentation, Sending notification requests to APNs).
    func base(for environment: DeviceToken.Environment) -> String {
        if let address { return String(address.text.reversed().drop { $0 == "/" }.reversed()) }
        return switch environment {
        case .development: "https://api.sandbox.push.apple.com"
        case .production: "https://api.push.apple.com"
        }
    }
}

/// Sends notifications to devices through Apple's push service, over HTTP/2 with a signed provider token.
package final class APNsDelivery: NotificationDelivery {
    private let configuration: APNsConfiguration
    private let client: HTTPClient
    private let tokens: ProviderTokens
    private let lifetime: Duration
    private let now: @Sendable () -> Int64

    /// - Parameters:
    ///   - lifetime: the maximum time between the commit of a notification and its delivery by the push service.
    ///   - now: returns the current time in milliseconds since 1970.
    package init(
        _ configuration: APNsConfiguration, client: HTTPClient,
        lifetime: Duration = RetrySchedule.standard.lifetime, now: @escaping @Sendable () -> Int64
    ) {
        self.configuration = configuration
        self.client = client
        self.lifetime = lifetime
        self.now = now
        tokens = ProviderTokens(configuration.identity, now: { now() / 1000 })
    }

    package func deliver(
        _ notification: OutgoingNotification, to destination: NotificationDestination
    ) async -> DeliveryOutcome {
        guard case .device(let device) = destination else {
            return .undeliverable(reason: "the push service delivers to devices only")
        }
        guard !device.bytes.isEmpty else { return .rejected(reason: "the device's token is empty") }
        guard notification.payload.count <= APNsRequest.payloadLimit else {
            return .undeliverable(
                reason: "its payload has \(notification.payload.count) bytes; the push service takes "
                    + "\(APNsRequest.payloadLimit)")
        }
        guard let token = tokens.token() else { return .retry(after: nil, reason: "no provider token can be signed") }
        let request = APNsRequest(
            notification: notification, device: device, defaultTopic: configuration.topic,
            expiration: notification.createdAt / 1000 + lifetime.components.seconds)
        switch await send(request, token) {
        case .outcome(let outcome): return outcome
        case .expiredProviderToken: break
        }
        guard let renewed = tokens.token(insteadOf: token), case .outcome(let outcome) = await send(request, renewed)
        else { return .retry(after: nil, reason: "APNs calls our provider token expired: check this machine's clock") }
        return outcome
    }

    private func send(_ request: APNsRequest, _ token: String) async -> APNsAnswer {
        do throws(HTTPFailure) {
            var message = HTTPRequest(
                .post, configuration.base(for: request.device.environment) + request.path,
                headers: request.headers + [("authorization", "bearer \(token)")],
                body: .bytes(request.notification.payload))
            message.totalLimit = APNsRequest.timeout
            message.destination = .prefix(APNsRequest.answerLimit)
            let response = try await client.send(message)
            return APNsAnswer(
                status: response.status, body: response.body, retryAfter: response.retryAfter(now: now()))
        } catch {
            return .outcome(.retry(after: nil, reason: "APNs: \(error.reason)"))
        }
    }
}
