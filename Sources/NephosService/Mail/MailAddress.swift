/// An e-mail address to which the server sends: ASCII without quotes or comments (RFC 5322 §3.4.1, dot-atom), and a domain
/// that is no network address. So no text of an address ends a header or a command.
package struct MailAddress: Hashable, Sendable {
    /// The maximum length in bytes (RFC 5321 §4.5.3.1).
    static let longest = 254
    /// The maximum length of the part before the `@`, in bytes (RFC 5321 §4.5.3.1).
    private static let longestLocal = 64

    /// The address in lower case.
    package let text: String

    /// Nil for a text that is no such address.
    package init?(_ text: String) {
        let text = text.lowercased()
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        guard text.utf8.count <= Self.longest, parts.count == 2,
            parts[0].utf8.count <= Self.longestLocal, Self.isDotted(parts[0], Self.isLocal),
            parts[1].utf8.count <= 253, Self.isDotted(parts[1], Self.isOfDomain),
            parts[1].split(separator: ".").allSatisfy({ $0.first != "-" && $0.last != "-" && $0.utf8.count <= 63 }),
            // A last label of digits makes a network address, also in short forms such as 127.1 (RFC 1123 §2.1).
            parts[1].split(separator: ".").last?.contains(where: \.isLetter) == true
        else { return nil }
        self.text = text
    }

    /// The part after the `@`.
    package var domain: String { String(text.drop { $0 != "@" }.dropFirst()) }

    /// Whether the text is one or more non-empty words of such bytes with dots between them.
    private static func isDotted(_ text: Substring, _ isAllowed: (UInt8) -> Bool) -> Bool {
        text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy {
            !$0.isEmpty && $0.utf8.allSatisfy(isAllowed)
        }
    }

    private static func isOfDomain(_ byte: UInt8) -> Bool { isAlphanumeric(byte) || byte == UInt8(ascii: "-") }

    private static func isLocal(_ byte: UInt8) -> Bool {
        isAlphanumeric(byte) || "!#$%&'*+-/=?^_`{|}~".utf8.contains(byte)
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}

/// The sender of the server's mails: an address, with a name for people or without.
package struct MailSender: Hashable, Sendable {
    package var name: String
    package var address: MailAddress

    /// - Parameter text: an address, or a name and an address as in `App <no-reply@example.org>`. Nil for anything else,
    ///   and for a name with control characters or of more than 100 bytes.
    package init?(_ text: String) {
        guard text.last == ">", let start = text.lastIndex(of: "<") else {
            guard let address = MailAddress(text) else { return nil }
            (name, self.address) = ("", address)
            return
        }
        let name = text[..<start].reversed().drop { $0 == " " }.reversed()
        guard let address = MailAddress(String(text[text.index(after: start)...].dropLast())), name.count <= 100,
            String(name).utf8.count <= 100,
            name.allSatisfy({ $0.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F } })
        else { return nil }
        (self.name, self.address) = (String(name), address)
    }
}
