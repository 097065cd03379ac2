/// An error in the configuration of notifications, such as in a file, an identifier or a URL. The message contains no
/// secret.
package struct NotificationSetupError: Error, Hashable, Sendable, CustomStringConvertible {
    package var description: String

    init(_ description: String) {
        self.description = description
    }
}
