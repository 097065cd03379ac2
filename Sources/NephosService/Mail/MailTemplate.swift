/// A kind of mail that the server sends. The raw value names the file that replaces its text.
package enum MailTemplate: String, Hashable, Sendable, CaseIterable {
    /// To the address of an account, whose person is to show that it is theirs.
    case verification
    /// To a verified address, with a link that sets a new password.
    case recovery
    /// To every verified address of an account whose password was replaced.
    case passwordChanged = "password-changed"
    /// To an address for which an account was asked for.
    case signUp = "sign-up"
    /// To an address that an administrator invited to the server.
    case invitation
    /// In place of the last two, to an address that has an account.
    case accountExists = "account-exists"
    /// To every verified address of an account whose first device made its keys for encrypted values in a container.
    case firstDevice = "first-device"
    /// The same after a device of the list approved another one.
    case deviceAdded = "device-added"
    /// The same after the recovery key added a device.
    case deviceRecovered = "device-recovered"
    /// To every verified address of an account that signs in by one passkey more, or less.
    case passkeyAdded = "passkey-added"
    case passkeyRemoved = "passkey-removed"
    /// The same of an identity provider.
    case providerAdded = "provider-added"
    case providerRemoved = "provider-removed"
    /// The same of program tokens.
    case programTokenMade = "program-token-made"
    case programTokensRevoked = "program-tokens-revoked"

    /// The names that stand for values in the text, in braces.
    var placeholders: Set<String> {
        switch self {
        case .verification, .recovery, .signUp, .invitation, .accountExists, .passkeyAdded, .passkeyRemoved,
            .providerAdded, .providerRemoved, .programTokenMade, .programTokensRevoked:
            ["server", "address", "link"]
        case .passwordChanged: ["server", "address"]
        case .firstDevice, .deviceAdded, .deviceRecovered: ["server", "address", "container", "link"]
        }
    }

    /// The text without a file that replaces it.
    var standard: String {
        switch self {
        case .verification:
            """
            Subject: Confirm your address at {server}

            Open this page, and press its button, to confirm that {address} is yours:

            {link}

            The link works once, for an hour. If you did not ask for it, ignore it: nothing happens.
            """
        case .recovery:
            """
            Subject: A new password at {server}

            Set a new password for {address} on this page:

            {link}

            The link works once, for an hour. If you did not ask for it, ignore it: your password stays.
            """
        case .passwordChanged:
            """
            Subject: Your password at {server} was changed

            The password of {address} was replaced, and all its sessions ended.

            If that was not you, ask for a new password at the sign-in of {server}, or tell its administrator.
            """
        case .signUp:
            """
            Subject: Your account at {server}

            Choose a password for your account {address} on this page:

            {link}

            The link works once, for an hour. If you did not ask for it, ignore it: there will be no account.
            """
        case .invitation:
            """
            Subject: You are invited to {server}

            Choose a password for your account {address} on this page:

            {link}

            The link works once, for a week. If you want no account, ignore it.
            """
        case .accountExists:
            """
            Subject: Your account at {server}

            An account was asked for with the address {address}, which has one already. You can sign in here:

            {link}

            If you did not ask for it, ignore this mail: nothing has changed.
            """
        case .firstDevice:
            """
            Subject: The first device with your keys at {server}

            A device has made the keys for the encrypted values of {address} in {container}. Only your devices have
            them: make a recovery key ('nephos keys recovery'), so that the values are not lost with the devices.

            Your devices and sessions are here:

            {link}

            If that was not you, end all sessions there, and change your password.
            """
        case .deviceAdded:
            """
            Subject: A new device with your keys at {server}

            One of your devices has handed another one the keys for the encrypted values of {address} in {container}.

            Your devices and sessions are here:

            {link}

            If that was not you, end all sessions there, change your password, and remove the device on one of your own
            ('nephos keys list' and 'nephos keys revoke').
            """
        case .deviceRecovered:
            """
            Subject: Your recovery key was used at {server}

            A device has the keys for the encrypted values of {address} in {container} now, by your recovery key.

            Your devices and sessions are here:

            {link}

            If that was not you, end all sessions there, change your password, remove the device on one of your own
            ('nephos keys list' and 'nephos keys revoke'), and make a new recovery key ('nephos keys recovery').
            """
        case .passkeyAdded: Self.ofChange("A new passkey", "A passkey was added to {address}: it signs in from now on.")
        case .passkeyRemoved:
            Self.ofChange("A passkey was removed", "A passkey of {address} was removed: it signs in no more.")
        case .providerAdded:
            Self.ofChange(
                "A new way to sign in", "An identity provider was added to {address}: it signs in from now on.")
        case .providerRemoved:
            Self.ofChange(
                "A way to sign in was removed",
                "An identity provider was removed from {address}: it signs in no more.")
        case .programTokenMade:
            Self.ofChange(
                "A new program token", "A program token of {address} was made: a program reaches your data with it.")
        case .programTokensRevoked:
            Self.ofChange("A program token was revoked", "A program token of {address}, or several, were revoked.")
        }
    }

    /// The text about a change of how an account signs in. It has no names that people chose: those of a thief would be
    /// in the server's mail.
    private static func ofChange(_ subject: String, _ sentence: String) -> String {
        """
        Subject: \(subject) at {server}

        \(sentence)

        Your passkeys, providers, program tokens and sessions are here:

        {link}

        If that was not you, end all sessions there, remove what you do not know, and change your password.
        """
    }
}

/// The texts of all mails.
package struct MailTemplates: Sendable {
    /// The maximum size of a text in bytes.
    package static let sizeLimit = 64 * 1024

    private struct Text {
        var subject: String
        var body: String
    }

    private var texts: [MailTemplate: Text] = [:]

    /// The standard texts.
    package init() {
        for template in MailTemplate.allCases { texts[template] = Self.parts(template.standard) }
    }

    /// Replaces the text of a kind of mail: a line `Subject: …`, an empty line, and the mail.
    /// - Throws: `invalidArguments` for a text without a subject or a mail, for a placeholder that the kind of mail does
    ///   not have, and for a text that lacks its link.
    package mutating func replace(_ template: MailTemplate, with text: String) throws(ServiceError) {
        let name = "\(template.rawValue).txt"
        guard text.utf8.count <= Self.sizeLimit else {
            throw .invalid("\(name) is larger than \(Self.sizeLimit / 1024) KB")
        }
        guard let parts = Self.parts(text) else {
            throw .invalid("\(name) begins with a line 'Subject: …' and an empty line, and then has the mail")
        }
        let used = Self.placeholders(parts.subject + parts.body)
        if let unknown = used.subtracting(template.placeholders).min() {
            let known = template.placeholders.sorted().map { "{\($0)}" }.joined(separator: ", ")
            throw .invalid("\(name) has the unknown placeholder {\(unknown)}: it may have \(known)")
        }
        if template.placeholders.contains("link"), !Self.placeholders(parts.body).contains("link") {
            throw .invalid("\(name) has no {link}")
        }
        texts[template] = parts
    }

    /// Returns the subject and the body of a mail with its values.
    func filled(_ template: MailTemplate, _ values: [String: String]) -> (subject: String, body: String) {
        let text = texts[template] ?? Text(subject: "", body: "")
        return (Self.filled(text.subject, values), Self.filled(text.body, values))
    }

    private static func parts(_ text: String) -> Text? {
        let lines = text.split(omittingEmptySubsequences: false) { $0.isNewline }
        let body = lines.dropFirst(2).joined(separator: "\n")
        guard lines.count > 2, lines[0].hasPrefix("Subject: "), lines[1].isEmpty,
            body.contains(where: { !$0.isWhitespace })
        else { return nil }
        let subject = lines[0].dropFirst("Subject: ".count)
        guard !subject.isEmpty, subject.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F }) else {
            return nil
        }
        return Text(subject: String(subject), body: body)
    }

    /// The pieces of a text: each a placeholder's name, or what is between two.
    private static func pieces(_ text: String) -> [(text: Substring, isPlaceholder: Bool)] {
        var (pieces, rest): ([(Substring, Bool)], Substring) = ([], text[...])
        while let open = rest.firstIndex(of: "{") {
            let name = rest[rest.index(after: open)...].prefix { $0.isLetter || $0 == "-" || $0 == "_" }
            guard !name.isEmpty, name.endIndex < rest.endIndex, rest[name.endIndex] == "}" else {
                let next = rest.index(after: open)
                pieces.append((rest[..<next], false))
                rest = rest[next...]
                continue
            }
            pieces += [(rest[..<open], false), (name, true)]
            rest = rest[rest.index(after: name.endIndex)...]
        }
        return pieces + [(rest, false)]
    }

    private static func placeholders(_ text: String) -> Set<String> {
        Set(pieces(text).filter(\.isPlaceholder).map { String($0.text) })
    }

    /// Fills in all values at once: a value that looks like a placeholder stays as it is.
    private static func filled(_ text: String, _ values: [String: String]) -> String {
        pieces(text).map { $0.isPlaceholder ? values[String($0.text)] ?? "" : String($0.text) }.joined()
    }
}
