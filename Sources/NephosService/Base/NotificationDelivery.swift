import NephosCrypto

/// A delivery service for notifications: Apple's push service or web hooks. The outbox's dispatcher calls the delivery,
/// keeps the notification until an outcome is final, and decides with `RetrySchedule` when to call again.
///
/// A delivery may have many concurrent calls. It sends each notification once and does not retry on its own, except if
/// an answer says how to correct the request. A notification may arrive twice, because an answer can be lost, so it
/// carries its identifier.
package protocol NotificationDelivery: Sendable {
    /// Sends the notification to the destination, and returns the outcome.
    func deliver(_ notification: OutgoingNotification, to destination: NotificationDestination) async -> DeliveryOutcome
}

/// An outgoing notification, from its outbox row.
package struct OutgoingNotification: Hashable, Sendable {
    /// The notification's identifier (`ck.nid` in the payload): a UUID, the same on every attempt.
    package var id: String
    package var container: String
    /// The container's environment, not the push service's: `development` or `production`.
    package var environment: String
    /// The user record name of the account whose subscription matched the change.
    package var account: String
    package var subscriptionID: String
    /// The payload in the form of Apple's push service, a JSON object with `aps` and `ck`, in UTF-8.
    package var payload: [UInt8]
    /// The collapse ID: on the device, a notification replaces earlier ones with the same collapse ID
    /// (`CKSubscription.NotificationInfo`, `collapseIDKey`). A notification with nil replaces none.
    package var collapseID: String?
    /// Whether the notification does not alert the user: it has `content-available` and no alert, badge or sound.
    package var isSilent: Bool
    /// The time of the commit that caused the notification, in milliseconds since 1970.
    package var createdAt: Int64
    /// The number of this attempt at this destination; 1 for the first attempt.
    package var attempt: Int

    package init(
        id: String, container: String, environment: String, account: String, subscriptionID: String, payload: [UInt8],
        collapseID: String? = nil, isSilent: Bool, createdAt: Int64, attempt: Int = 1
    ) {
        self.id = id
        self.container = container
        self.environment = environment
        self.account = account
        self.subscriptionID = subscriptionID
        self.payload = payload
        self.collapseID = collapseID
        self.isSilent = isSilent
        self.createdAt = createdAt
        self.attempt = attempt
    }
}

/// The destination of a notification.
package enum NotificationDestination: Hashable, Sendable, CustomStringConvertible {
    /// A device of the account, by its registered token (CloudKit Web Services, tokens/register).
    case device(DeviceToken)
    /// A URL that receives every notification of the service.
    case webHook(WebHookDestination)

    /// A stable name for the destination, which is the same after a restart and contains no secrets.
    package var key: String {
        switch self {
        case .device(let token): "apns:\(token.environment.rawValue):\(token.topic ?? ""):\(token.hexadecimal)"
        case .webHook(let hook): "webhook:\(hook.url)"
        }
    }

    /// The destination's name in the log. The name omits the path of a web hook, which may be a secret, and most of a
    /// token, so that a reader of the log cannot identify devices.
    package var description: String {
        switch self {
        case .device(let token): "the \(token.environment.rawValue) device …\(token.hexadecimal.suffix(8))"
        case .webHook(let hook): "the web hook at \(hook.origin)"
        }
    }
}

/// An app on a device, as Apple's push service identifies it.
package struct DeviceToken: Hashable, Sendable {
    /// The Apple push service that issued the token.
    package enum Environment: String, Sendable {
        case development
        case production
    }

    /// The token as the device received it (on the wire, `apnsToken` in base64).
    package var bytes: [UInt8]
    package var environment: Environment
    /// The app's bundle identifier; nil uses the identifier that the delivery is configured with.
    package var topic: String?

    package init(bytes: [UInt8], environment: Environment, topic: String? = nil) {
        self.bytes = bytes
        self.environment = environment
        self.topic = topic
    }

    /// The token in the form of Apple's push service: lower-case hexadecimal digits.
    package var hexadecimal: String { Hexadecimal.text(bytes) }
}

/// A web hook of the service's configuration.
package struct WebHookDestination: Hashable, Sendable {
    /// The web hook's address, an absolute http or https URL.
    package var url: String

    package init(url: String) {
        self.url = url
    }

    /// The scheme, the host and the port of the URL.
    fileprivate var origin: Substring {
        guard let scheme = url.utf8.firstIndex(of: UInt8(ascii: ":")) else { return "" }
        let host = url[scheme...].dropFirst().drop { $0 == "/" }
        return url[..<(host.firstIndex { "/?#".contains($0) } ?? url.endIndex)]
    }
}

/// The outcome of a delivery attempt.
package enum DeliveryOutcome: Hashable, Sendable {
    /// The destination received the notification.
    case delivered
    /// A temporary failure. The next attempt is due after `RetrySchedule`'s delay, but not before `after`; nil if the
    /// destination named no time.
    case retry(after: Duration?, reason: String)
    /// The destination is no longer valid, so the dispatcher removes it with its queue, unless the destination was
    /// registered after `since`. `since` is in milliseconds since 1970; nil removes the destination in any case.
    case rejected(reason: String, since: Int64? = nil)
    /// The destination is valid, but never accepts this notification, so the notification is not retried there.
    case undeliverable(reason: String)
}

/// The configured deliveries of a service.
package struct NotificationOutlets: Sendable {
    /// The delivery to registered devices; nil without a push service: devices then receive nothing.
    package var devices: (any NotificationDelivery)?
    /// The delivery to `webHookDestinations`; nil if none is configured.
    package var webHooks: (any NotificationDelivery)?
    /// The destinations that receive every notification of all containers and accounts.
    package var webHookDestinations: [WebHookDestination]

    package init(
        devices: (any NotificationDelivery)? = nil, webHooks: (any NotificationDelivery)? = nil,
        webHookDestinations: [WebHookDestination] = []
    ) {
        self.devices = devices
        self.webHooks = webHooks
        self.webHookDestinations = webHookDestinations
    }

    /// The delivery that serves the destination; nil if none is configured.
    package func delivery(to destination: NotificationDestination) -> (any NotificationDelivery)? {
        switch destination {
        case .device: devices
        case .webHook: webHooks
        }
    }
}
