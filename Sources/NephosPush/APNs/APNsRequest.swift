import NephosService

/// The request to Apple's push service for one notification (Apple's documentation, Sending notification requests to
/// APNs).
struct APNsRequest {
    /// The maximum size of a payload in bytes (Apple's documentation, Generating a remote notification).
    static let payloadLimit = 4096
    /// The maximum size of a collapse identifier in bytes.
    static let collapseIDLimit = 64
    /// The time-out of one attempt.
    static let timeout = Duration.seconds(30)
    /// The maximum number of bytes that are read of an answer, for its reason.
    static let answerLimit = 16 * 1024

    let notification: OutgoingNotification
    let device: DeviceToken
    /// The bundle identifier for device tokens that name none.
    let defaultTopic: String
    /// The time at which the push service stops trying to reach the device, in seconds since 1970.
    let expiration: Int64

    var path: String { "/3/device/" + device.hexadecimal }

    /// The headers of the request, without the authorisation.
    var headers: [(name: String, value: String)] {
        var headers = [
            ("apns-topic", device.topic ?? defaultTopic),
            // The service refuses a silent notification with the immediate priority.
            ("apns-push-type", notification.isSilent ? "background" : "alert"),
            ("apns-priority", notification.isSilent ? "5" : "10"),
            ("apns-expiration", String(expiration)),
            ("content-type", "application/json"),
        ]
        if let id = notification.collapseID, !id.isEmpty { headers.append(("apns-collapse-id", Self.collapseID(id))) }
        if Self.isUUID(notification.id) { headers.append(("apns-id", notification.id.lowercased())) }
        return headers
    }

    /// Returns the identifier itself if it fits a header; otherwise its hash, so that distinct identifiers stay
    /// distinct.
    static func collapseID(_ id: String) -> String {
        let fits = id.utf8.count <= collapseIDLimit && id.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        guard !fits, let hash = Hashes.sha256(Array(id.utf8)) else { return id }
        return DeviceToken(bytes: hash, environment: .production).hexadecimal
    }

    /// Whether the text has the form of a UUID: 8-4-4-4-12 hexadecimal digits. The service refuses other identifiers.
    private static func isUUID(_ text: String) -> Bool {
        let groups = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        return groups.map(\.count) == [8, 4, 4, 4, 12]
            && groups.joined().allSatisfy { Character(Unicode.Scalar($0)).isHexDigit }
    }
}
