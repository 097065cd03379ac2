/// What people may do without an administrator, and the mails about it.
package struct PeopleSettings: Sendable {
    /// Who makes accounts, besides administrators.
    package enum SignUp: String, Hashable, Sendable, CaseIterable {
        case off
        /// Who has a link that an administrator made.
        case invitation
        /// Who has an e-mail address.
        case open
    }

    /// The sender and the texts of mails.
    package struct Mail: Sendable {
        package var sender: MailSender
        package var templates: MailTemplates

        package init(sender: MailSender, templates: MailTemplates = MailTemplates()) {
            (self.sender, self.templates) = (sender, templates)
        }
    }

    /// The public URL, with which links begin; empty if it is unknown, as to a command on the data of a stopped server.
    package var url: String
    /// The name of the server in mails.
    package var serverName: String
    /// Nil for a server that sends no mail.
    package var mail: Mail?
    package var signUp: SignUp
    /// The identity providers by which people sign in.
    package var providers = ProviderSettings.none
    /// The verifier of passkeys; nil for a server without them.
    package var passkeys: (any PasskeyVerifier)?

    package init(url: String = "", serverName: String = "", mail: Mail? = nil, signUp: SignUp = .off) {
        (self.url, self.serverName, self.mail, self.signUp) = (url, serverName, mail, signUp)
    }

    /// The path of the page of a link.
    package static let linkPath = "/link"

    /// The path of the page of an account.
    package static let accountPath = "/account"

    /// Returns the URL of the page of a link.
    func link(_ secret: String) -> String { "\(url)\(Self.linkPath)?token=\(secret)" }
}

extension Installation {
    /// Whether the server sends mail.
    package var sendsMail: Bool { people.mail != nil }

    /// Whether everybody with an e-mail address may make an account.
    package var isOpenToSignUps: Bool { sendsMail && people.signUp == .open }
}
