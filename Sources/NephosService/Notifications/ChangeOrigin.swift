import NephosStorage
import NephosWire

/// The client that made a change. It gets no notification of the change (`CKSubscription`, Apple's documentation).
struct ChangeOrigin: Hashable, Sendable {
    var account: Int64
    var clientID: String

    /// Whether a push token is this client's.
    func isClient(of token: PushTokenRow) -> Bool {
        token.account == account && !token.client.isEmpty && token.client.hasSameBytes(as: clientID)
    }
}
