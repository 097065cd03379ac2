import FoundationEssentials
import NephosService
import NephosWire

/// The request to a web hook for one notification: JSON, with the signature in the headers by the convention of
/// Standard Webhooks.
struct WebHookRequest {
    let notification: OutgoingNotification
    /// The time of sending in seconds since 1970. Receivers refuse old requests, which prevents replays.
    let timestamp: Int64

    /// The body of the request, which is the same in every attempt.
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

    /// Returns the headers of the request; nil if the body cannot be signed.
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
