/// A way out for notifications: Apple's push service, web hooks. The outbox's dispatcher calls it, keeps the
/// notification until an outcome is final, and decides with `RetrySchedule` when to call again.
///
/// A delivery may be asked to send many at once. It sends what it is given once and does not repeat it on its own,
/// except where an answer says how to put the request right. What it sends may arrive twice (an answer can be lost), so
/// it carries the notification's identifier.
package protocol NotificationDelivery: Sendable {
    /// Sends the notification to the destination, and says what came of it.
    func deliver(_ notification: OutgoingNotification, to destination: NotificationDestination) async -> DeliveryOutcome
}

/// A notification on its way out of the service, as the outbox has it.
package struct OutgoingNotification: Hashable, Sendable {
    /// The notification's identifier (`ck.nid` in the payload): a UUID, the same on every attempt.
    package var id: String
    package var container: String
    /// `development` or `production`: the container's, not the push service's.
    package var environment: String
    /// The user record name of the account whose subscription fired.
    package var account: String
    package var subscriptionID: String
    /// The payload in the form of Apple's push service, a JSON object with `aps` and `ck`, in UTF-8.
    package var payload: [UInt8]
    /// Notifications with the same one replace each other on the device (`CKSubscription.NotificationInfo`,
    /// `collapseIDKey`).
    package var collapseID: String?
    /// Whether the user sees and hears nothing of it: `content-available` without alert, badge and sound.
    package var isSilent: Bool
    /// When the commit was that caused it, in milliseconds since 1970.
    package var createdAt: Int64
    /// How often it has been tried at this destination, this time included: 1 the first time.
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

/// Where a notification goes.
package enum NotificationDestination: Hashable, Sendable, CustomStringConvertible {
    /// A device of the account's, by the token it registered (CloudKit Web Services, tokens/register).
    case device(DeviceToken)
    /// A URL that gets every notification of the service.
    case webHook(WebHookDestination)

    /// A name for the destination that is the same after a restart. Secrets are not part of it.
    package var key: String {
        switch self {
        case .device(let token): "apns:\(token.environment.rawValue):\(token.topic ?? ""):\(token.hexadecimal)"
        case .webHook(let hook): "webhook:\(hook.url)"
        }
    }

    /// For the log. The path of a web hook may be what keeps others from using it, and a whole token lets a reader of the log
    /// tell devices apart, so neither is said.
    package var description: String {
        switch self {
        case .device(let token): "the \(token.environment.rawValue) device …\(token.hexadecimal.suffix(8))"
        case .webHook(let hook): "the web hook at \(hook.origin)"
        }
    }
}

/// What Apple's push service knows an app on a device by.
package struct DeviceToken: Hashable, Sendable {
    /// Which of Apple's two push services the token is from.
    package enum Environment: String, Sendable {
        case development
        case production
    }

    /// The token as the device got it (on the wire, `apnsToken` in base64).
    package var bytes: [UInt8]
    package var environment: Environment
    /// The app's bundle identifier; nil for the one that the delivery was set up with.
    package var topic: String?

    package init(bytes: [UInt8], environment: Environment, topic: String? = nil) {
        self.bytes = bytes
        self.environment = environment
        self.topic = topic
    }

    /// The token as Apple's push service reads it: lower-case hexadecimal digits.
    package var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(
            decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}

/// A web hook, as the service was set up with it.
package struct WebHookDestination: Hashable, Sendable {
    /// An absolute http or https URL.
    package var url: String

    package init(url: String) {
        self.url = url
    }

    /// The scheme, the host and the port.
    fileprivate var origin: Substring {
        guard let scheme = url.utf8.firstIndex(of: UInt8(ascii: ":")) else { return "" }
        let host = url[scheme...].dropFirst().drop { $0 == "/" }
        return url[..<(host.firstIndex { "/?#".contains($0) } ?? url.endIndex)]
    }
}

/// What came of an attempt to deliver.
package enum DeliveryOutcome: Hashable, Sendable {
    /// The destination has it.
    case delivered
    /// Not now. The next attempt is due after `RetrySchedule`'s delay, but not sooner than `after`, if the destination
    /// named a time.
    case retry(after: Duration?, reason: String)
    /// The destination is no longer valid: it is to be removed, with everything that waits for it, unless it was
    /// registered after `since`, in milliseconds since 1970.
    case rejected(reason: String, since: Int64? = nil)
    /// The destination is valid, but never takes this notification: it is not tried again there.
    case undeliverable(reason: String)
}

/// The ways out that a service was set up with.
package struct NotificationOutlets: Sendable {
    /// For registered devices; nil where no push service is set up, and devices get nothing.
    package var devices: (any NotificationDelivery)?
    /// For `webHookDestinations`.
    package var webHooks: (any NotificationDelivery)?
    /// Every notification goes to each of these, whatever container and account it belongs to.
    package var webHookDestinations: [WebHookDestination]

    package init(
        devices: (any NotificationDelivery)? = nil, webHooks: (any NotificationDelivery)? = nil,
        webHookDestinations: [WebHookDestination] = []
    ) {
        self.devices = devices
        self.webHooks = webHooks
        self.webHookDestinations = webHookDestinations
    }

    /// What delivers to the destination; nil where nothing of the kind is set up.
    package func delivery(to destination: NotificationDestination) -> (any NotificationDelivery)? {
        switch destination {
        case .device: devices
        case .webHook: webHooks
        }
    }
}
