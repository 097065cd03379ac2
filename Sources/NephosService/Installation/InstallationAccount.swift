import NephosStorage

/// An account of the installation. In stores it is known by its ID alone.
struct InstallationAccount: StoredEntry {
    static let kind = InstallationEntry.Kind.account

    /// The canonical name with which the account signs in, and the address to which invitations go.
    var name: String
    /// The hash of the password; nil without a password.
    var password: String?
    var createdAt: Int64
}

/// The ID of the account with a name.
struct NamedAccount: StoredEntry {
    static let kind = InstallationEntry.Kind.accountName
    var id: String
}

extension StorageReader {
    /// The account with a canonical name; nil if there is none.
    func installationAccount(named name: String) throws -> (id: String, account: InstallationAccount)? {
        guard let id = try entry(NamedAccount.self, name)?.id, let account = try entry(InstallationAccount.self, id)
        else { return nil }
        return (id, account)
    }
}

/// The rules of names with which accounts sign in.
enum SignInName {
    /// The maximum length in bytes, which is that of an e-mail address (RFC 5321 §4.5.3.1).
    static let longest = 254

    /// The canonical form: composed (NFC), in lower case. "Ada@Example.org" and "ada@example.org" are one account.
    static func canonical(_ name: String) -> String { AccountName.canonical(name).lowercased() }

    /// - Throws: `invalidArguments` for a name that is empty, too long, or has spaces at its ends or characters that do
    ///   not print.
    static func check(_ name: String) throws(ServiceError) {
        let isPrintable = name.unicodeScalars.allSatisfy { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned, .privateUse: false
            default: true
            }
        }
        guard !name.isEmpty, name.utf8.count <= longest, isPrintable, name.first != " ", name.last != " ",
            !AccountID.isOne(name)
        else {
            throw .invalid(
                "the name of an account has 1 to \(longest) bytes of printable characters, without a space at its ends")
        }
    }
}
