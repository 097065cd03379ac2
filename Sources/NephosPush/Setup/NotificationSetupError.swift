/// What notifications are sent with is wrong: a file, an identifier, a URL. The message holds no secret.
package struct NotificationSetupError: Error, Hashable, Sendable, CustomStringConvertible {
    package var description: String

    init(_ description: String) {
        self.description = description
    }
}
