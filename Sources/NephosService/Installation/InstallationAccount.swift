import NephosStorage

/// An account of the installation. In stores it is known by its ID alone.
struct InstallationAccount: StoredEntry {
    static let kind = InstallationEntry.Kind.account

    /// The canonical name with which the account signs in. Where it is an e-mail address, it is the account's once it is
    /// verified.
    var name: String
    /// The hash of the password; nil without a password.
    var password: String?
    var createdAt: Int64
    /// The verified addresses. Nil if a server wrote the account that does not know of addresses: then none is verified
    /// (`AddressUpgrade`).
    var addresses: [String]?
    /// Whether the account's deletion has begun: it has no sessions and tokens any more, and gets no new ones. Nil for no.
    var isBeingDeleted: Bool?

    /// The addresses that are the account's.
    var verifiedAddresses: [String] { addresses ?? [] }

    /// Whether the name may need to be verified: one that is no e-mail address is the installation's alone to give.
    var hasAddress: Bool { name.contains("@") }

    /// The address to which invitations of the account go; nil without a verified one.
    var address: String? {
        if !hasAddress || verifiedAddresses.contains(name) { return name }
        return verifiedAddresses.first
    }
}

/// The ID of the account with a name.
struct NamedAccount: StoredEntry {
    static let kind = InstallationEntry.Kind.accountName
    var id: String
}

extension StorageReader {
    /// The account with an ID; nil if there is none, and for one whose deletion has begun.
    func liveInstallationAccount(_ id: String) throws -> InstallationAccount? {
        try entry(InstallationAccount.self, id).flatMap { $0.isBeingDeleted == true ? nil : $0 }
    }

    /// - Throws: `notAuthenticated` if the account's deletion has begun.
    func requireNoDeletion(of id: String) throws {
        if try entry(InstallationAccount.self, id)?.isBeingDeleted == true { throw ServiceError.accountIsBeingDeleted }
    }

    /// The account with a canonical name; nil if there is none.
    func installationAccount(named name: String) throws -> (id: String, account: InstallationAccount)? {
        guard let id = try entry(NamedAccount.self, name)?.id, let account = try entry(InstallationAccount.self, id)
        else { return nil }
        return (id, account)
    }
}

/// The rules of names with which accounts sign in.
enum SignInName {
    /// The maximum length in bytes, which is that of an e-mail address.
    static let longest = MailAddress.longest

    /// The canonical form: composed (NFC), in lower case. "Ada@Example.org" and "ada@example.org" are one account.
    static func canonical(_ name: String) -> String { AccountName.canonical(name).lowercased() }

    /// The canonical form of what a person types, without the spaces at its ends that a keyboard's suggestions add: no
    /// name has them.
    static func typed(_ text: String) -> String {
        canonical(String(text.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()))
    }

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
