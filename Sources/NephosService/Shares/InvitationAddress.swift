import NephosStorage
import NephosWire

/// The addresses of invitations. In a service that verifies no addresses, an e-mail address belongs to the account of
/// that name, and `NAME@localhost` belongs to the account NAME.
enum InvitationAddress {
    /// The canonical spelling of an address; nil if the lookup info has none.
    static func canonical(_ info: UserLookupRequest.LookupInfo?) -> String? {
        guard let address = info?.emailAddress ?? info?.phoneNumber, !address.isEmpty else { return nil }
        return AccountName.canonical(address)
    }

    /// Whether the address is the account's.
    static func isAddress(_ address: String, of account: AccountRow) -> Bool { isSame(address, account.address) }

    /// Whether two addresses are one. The case of an e-mail address does not matter.
    static func isSame(_ one: String, _ other: String) -> Bool {
        one == other || one.contains("@") && one.lowercased() == other.lowercased()
    }

    static func lookupInfo(_ address: String) -> UserLookupRequest.LookupInfo? {
        if address.isEmpty { return nil }
        if address.contains("@") { return UserLookupRequest.LookupInfo(emailAddress: address) }
        return address.first == "+"
            ? UserLookupRequest.LookupInfo(phoneNumber: address)
            : UserLookupRequest.LookupInfo(emailAddress: address + "@localhost")
    }
}

extension ShareParticipantRow {
    /// Whether the row belongs to the account, by the account's ID or by an invited address of the account.
    func isOf(_ account: AccountRow) -> Bool {
        self.account == account.id
            || self.account == 0 && !address.isEmpty && InvitationAddress.isAddress(address, of: account)
    }
}

extension StorageReader {
    /// The account to which an address belongs; nil if there is none, or the service does not tell.
    func account(ofAddress address: String) throws -> AccountRow? {
        if let account = try account(named: address) { return account }
        let lowercased = address.lowercased()
        return address.contains("@") && lowercased != address ? try account(named: lowercased) : nil
    }
}
