import FoundationEssentials
import NephosService
import NephosWire

/// A notification's request to a web hook: JSON with the signature in the headers, in the Standard Webhooks convention.
struct WebHookRequest {
    let notification: OutgoingNotification
    /// The time of sending, in seconds since 1970. Receivers refuse old requests, which prevents replays.
    let timestamp: Int64

    /// The same on every attempt.
    var body: [UInt8] {
        var writer = JSONWriter(reserving: notification.payload.count + 512)
        writer.beginObject()
        writer.member("type", "cloudkit.notification")
        writer.member("timestamp", Self.iso8601(notification.createdAt))
        writer.key("data")
        writer.beginObject()
        writer.member("container", notification.container)
        writer.member("environment", notification.environment)
        writer.member("userRecordName", notification.account)
        writer.member("subscriptionID", notification.subscriptionID)
        writer.key("notification")
        writer.verbatim(notification.payload)
        writer.endObject()
        writer.endObject()
        return writer.finish()
    }

    /// Nil if it cannot be signed.
    func headers(body: [UInt8], secret: WebHookSecret) -> [(name: String, value: String)]? {
        let signed = Array("\(notification.id).\(timestamp).".utf8) + body
        guard let signature = Hashes.hmac(signed, key: secret.key) else { return nil }
        return [
            ("content-type", "application/json"),
            ("user-agent", "Nephos"),
            ("webhook-id", notification.id),
            ("webhook-timestamp", String(timestamp)),
            ("webhook-signature", "v1,\(Data(signature).base64EncodedString())"),
        ]
    }

    private static func iso8601(_ milliseconds: Int64) -> String {
        Date(timeIntervalSince1970: Double(milliseconds) / 1000)
            .formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}
