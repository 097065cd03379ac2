/// The request of `accounts/list`, one of Nephos' own routes: the accounts of a container.
package struct ListAccountsRequest: Hashable, Sendable {
    /// The `continuationMarker` of the previous page; nil for the first page.
    package var continuationMarker: String?

    package init(continuationMarker: String? = nil) { self.continuationMarker = continuationMarker }
}

package struct AccountsResponse: Hashable, Sendable {
    package struct Account: Hashable, Sendable {
        package var name: String
        package var userRecordName: String
        /// The name with which the account signs in to a production server, for its administrators; nil for others, and
        /// where it is `name`.
        package var signInName: String?

        package init(name: String, userRecordName: String, signInName: String? = nil) {
            self.name = name
            self.userRecordName = userRecordName
            self.signInName = signInName
        }
    }

    package var accounts: [Account]
    /// The marker for the request of the next page; nil on the last page.
    package var continuationMarker: String?

    package init(accounts: [Account], continuationMarker: String? = nil) {
        self.accounts = accounts
        self.continuationMarker = continuationMarker
    }
}

/// The request of `accounts/delete`, one of Nephos' own routes: deletes an account with all its own data.
package struct DeleteAccountRequest: Hashable, Sendable {
    /// The name of the account to delete.
    package var account: String

    package init(account: String) { self.account = account }
}

/// The deleted account, and the numbers of deleted items.
package struct DeleteAccountResponse: Hashable, Sendable {
    package var account: String
    package var userRecordName: String
    /// The number of custom zones in the account's private database.
    package var zones: Int
    /// The number of shares of the account's records and zones.
    package var shares: Int
    /// The number of other accounts' shares in which the account participated.
    package var joinedShares: Int
    package var subscriptions: Int
    /// The number of clients that received the account's notifications.
    package var pushTokens: Int
    /// The size of the files in the account's private database in bytes.
    package var assetBytes: Int64

    package init(
        account: String, userRecordName: String, zones: Int, shares: Int, joinedShares: Int, subscriptions: Int,
        pushTokens: Int, assetBytes: Int64
    ) {
        self.account = account
        self.userRecordName = userRecordName
        self.zones = zones
        self.shares = shares
        self.joinedShares = joinedShares
        self.subscriptions = subscriptions
        self.pushTokens = pushTokens
        self.assetBytes = assetBytes
    }
}

extension ListAccountsRequest: CodedMessage {
    package static let codec = Codec<Self>(Self.init, .optional("continuationMarker", \.continuationMarker, .string))
}

extension AccountsResponse: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init,
        .member("accounts", \.accounts, .array("an array of accounts", of: Account.codec), ifAbsent: []),
        .optional("continuationMarker", \.continuationMarker, .string))
}

extension AccountsResponse.Account {
    fileprivate static let codec = Codec<Self>(
        Self.init, .required("name", \.name, .string), .required("userRecordName", \.userRecordName, .string),
        .optional("signInName", \.signInName, .string))
}

extension DeleteAccountRequest: CodedMessage {
    package static let codec = Codec<Self>(Self.init, .required("account", \.account, .string))
}

extension DeleteAccountResponse: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init,
        .member("account", \.account, .string, ifAbsent: ""),
        .member("userRecordName", \.userRecordName, .string, ifAbsent: ""),
        .member("zones", \.zones, .int, ifAbsent: 0),
        .member("shares", \.shares, .int, ifAbsent: 0),
        .member("joinedShares", \.joinedShares, .int, ifAbsent: 0),
        .member("subscriptions", \.subscriptions, .int, ifAbsent: 0),
        .member("pushTokens", \.pushTokens, .int, ifAbsent: 0),
        .member("assetBytes", \.assetBytes, .int64, ifAbsent: Int64(0)))
}
