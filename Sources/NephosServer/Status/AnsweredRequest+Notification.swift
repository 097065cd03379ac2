import NephosService
import NephosWire

extension AnsweredRequest {
    /// The endpoint of the entries of notifications.
    static let notification = "notification"
    /// The maximum number of entries for notifications that are committed together.
    private static let notificationsShown = 3
    /// Whether this is the entry of a notification.
    var isNotification: Bool { endpoint == Self.notification }

    /// Returns entries for notifications that were committed together, the last of which counts those without an entry.
    static func entries(of sent: [SentNotification]) -> [AnsweredRequest] {
        var entries = sent.prefix(notificationsShown).map(AnsweredRequest.init)
        let rest = sent.count - entries.count
        if rest > 0 { entries[entries.count - 1].summary? += ", and \(rest) more" }
        return entries
    }

    private init(_ sent: SentNotification) {
        self.init(
            requestID: sent.notificationID, method: "", endpoint: Self.notification, status: 200, milliseconds: 0,
            answerSize: 0)
        isCallerKnown = true
        container = sent.container
        environment = sent.environment
        database = sent.database
        account = sent.account
        let destinations = sent.destinations == 1 ? "1 destination" : "\(sent.destinations) destinations"
        summary = "subscription \(sent.subscriptionID), zone \(sent.zoneName), \(destinations)"
    }
}
