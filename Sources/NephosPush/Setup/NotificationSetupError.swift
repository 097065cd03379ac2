/// An error in the configuration of notifications: a file, an identifier, a URL. The message contains no secret.
package struct NotificationSetupError: Error, Hashable, Sendable, CustomStringConvertible {
    package var description: String

    init(_ description: String) {
        self.description = description
    }
}
