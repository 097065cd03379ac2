package import NephosHTTP
package import NephosService
import Synchronization

/// The URL that receives notifications, and the secret that signs them.
package struct WebHook: Sendable {
    package let destination: WebHookDestination
    let secret: WebHookSecret

    /// - Throws: `NotificationSetupError` unless the URL is an absolute http or https URL.
    package init(url: String, secret: WebHookSecret) throws(NotificationSetupError) {
        destination = WebHookDestination(url: try WebAddress(url, subject: "the web hook's URL").text)
        self.secret = secret
    }
}

/// Sends notifications to web hooks. A web hook that answers 410 receives no more notifications until the service
/// restarts.
package final class WebHookDelivery: NotificationDelivery {
    private let secrets: [WebHookDestination: WebHookSecret]
    private let client: HTTPClient
    private let gone = Mutex<Set<WebHookDestination>>([])
    private let timeout: Duration
    private let now: @Sendable () -> Int64

    /// - Parameters:
    ///   - timeout: the time-out of one delivery attempt.
    ///   - now: returns the current time in milliseconds since 1970.
    package init(
        _ hooks: [WebHook], client: HTTPClient, timeout: Duration = .seconds(15), now: @escaping @Sendable () -> Int64
    ) {
        secrets = Dictionary(hooks.map { ($0.destination, $0.secret) }, uniquingKeysWith: { first, _ in first })
        self.client = client
        self.timeout = timeout
        self.now = now
    }

    package func deliver(
        _ notification: OutgoingNotification, to destination: NotificationDestination
    ) async -> DeliveryOutcome {
        guard case .webHook(let hook) = destination, let secret = secrets[hook] else {
            return .rejected(reason: "the service is not set up with this web hook")
        }
        guard !gone.withLock({ $0.contains(hook) }) else { return Self.outcome(status: 410, retryAfter: nil) }
        let request = WebHookRequest(notification: notification, timestamp: now() / 1000)
        let body = request.body
        guard let headers = request.headers(body: body, secret: secret) else {
            return .retry(after: nil, reason: "the web hook's request cannot be signed")
        }
        do throws(HTTPFailure) {
            var message = HTTPRequest(.post, hook.url, headers: headers, body: .bytes(body))
            message.totalLimit = timeout
            message.destination = .prefix(0)
            let response = try await client.send(message)
            if response.status == 410 { gone.withLock { _ = $0.insert(hook) } }
            return Self.outcome(status: response.status, retryAfter: response.retryAfter(now: now()))
        } catch {
            return .retry(after: nil, reason: "web hook: \(error.reason)")
        }
    }

    /// Returns the outcome for the status of an answer (Standard Webhooks, Operational considerations): 2xx is success,
    /// 410 disables the web hook, and all other statuses, including redirects, lead to a retry.
    package static func outcome(status: Int, retryAfter: Duration?) -> DeliveryOutcome {
        switch status {
        case 200..<300: .delivered
        case 410: .rejected(reason: "the web hook answered 410")
        default: .retry(after: retryAfter, reason: "the web hook answered \(status)")
        }
    }
}
