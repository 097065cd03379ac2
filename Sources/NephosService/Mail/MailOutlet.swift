/// Where mails go: a mail server, or a directory.
package struct MailOutlet: Sendable {
    /// Sends a mail, in at most `Limits.mailTimeout`.
    package var send: @Sendable (MailMessage) async throws(MailFailure) -> Void

    package init(_ send: @escaping @Sendable (MailMessage) async throws(MailFailure) -> Void) { self.send = send }
}

/// The failure of an outlet.
package struct MailFailure: Error, Hashable, Sendable {
    /// The reason for the log, without addresses or other text of a mail.
    package var reason: String
    /// Whether no later attempt can succeed, as the mail server refuses the recipient.
    package var isPermanent: Bool

    package init(_ reason: String, isPermanent: Bool = false) {
        self.reason = reason
        self.isPermanent = isPermanent
    }
}
