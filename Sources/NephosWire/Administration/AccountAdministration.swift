/// `accounts/list` of Nephos' own routes: the accounts of a container.
package struct ListAccountsRequest: Hashable, Sendable {
    /// The position after the previous page.
    package var continuationMarker: String?

    package init(continuationMarker: String? = nil) { self.continuationMarker = continuationMarker }
}

package struct AccountsResponse: Hashable, Sendable {
    package struct Account: Hashable, Sendable {
        package var name: String
        package var userRecordName: String

        package init(name: String, userRecordName: String) {
            self.name = name
            self.userRecordName = userRecordName
        }
    }

    package var accounts: [Account]
    /// The marker of the next page; nil on the last.
    package var continuationMarker: String?

    package init(accounts: [Account], continuationMarker: String? = nil) {
        self.accounts = accounts
        self.continuationMarker = continuationMarker
    }
}

/// `accounts/delete` of Nephos' own routes: deletes an account with all its own data.
package struct DeleteAccountRequest: Hashable, Sendable {
    /// The account's name.
    package var account: String

    package init(account: String) { self.account = account }
}

/// The numbers of deleted items.
package struct DeleteAccountResponse: Hashable, Sendable {
    package var account: String
    package var userRecordName: String
    /// Custom zones of its private database.
    package var zones: Int
    /// Shares of its records and zones.
    package var shares: Int
    /// Others' shares in which it participated.
    package var joinedShares: Int
    package var subscriptions: Int
    /// Clients that received its notifications.
    package var pushTokens: Int
    /// Bytes of the files in its private database.
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

extension ListAccountsRequest: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init()
        for (key, value) in try json.members() where "continuationMarker" ~= key {
            continuationMarker = try value.nonNull?.string()
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("continuationMarker", continuationMarker)
        writer.endObject()
    }
}

extension AccountsResponse: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init(accounts: [])
        for (key, value) in try json.members() {
            guard let value = value.nonNull else { continue }
            switch key {
            case "accounts":
                accounts = try value.elements("an array of accounts") { (account) throws(WireError) in
                    Account(
                        name: try account.required("name", "a string") { (json) throws(WireError) in
                            try json.string()
                        },
                        userRecordName: try account.required("userRecordName", "a string") {
                            (json) throws(WireError) in try json.string()
                        })
                }
            case "continuationMarker": continuationMarker = try value.string()
            default: break
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("accounts")
        writer.beginArray()
        for account in accounts {
            writer.beginObject()
            writer.member("name", account.name)
            writer.member("userRecordName", account.userRecordName)
            writer.endObject()
        }
        writer.endArray()
        writer.member("continuationMarker", continuationMarker)
        writer.endObject()
    }
}

extension DeleteAccountRequest: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        account = try json.required("account", "a string") { (json) throws(WireError) in try json.string() }
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("account", account)
        writer.endObject()
    }
}

extension DeleteAccountResponse: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init(
            account: "", userRecordName: "", zones: 0, shares: 0, joinedShares: 0, subscriptions: 0, pushTokens: 0,
            assetBytes: 0)
        for (key, value) in try json.members() {
            guard let value = value.nonNull else { continue }
            switch key {
            case "account": account = try value.string()
            case "userRecordName": userRecordName = try value.string()
            case "zones": zones = Int(try value.int64())
            case "shares": shares = Int(try value.int64())
            case "joinedShares": joinedShares = Int(try value.int64())
            case "subscriptions": subscriptions = Int(try value.int64())
            case "pushTokens": pushTokens = Int(try value.int64())
            case "assetBytes": assetBytes = try value.int64()
            default: break
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("account", account)
        writer.member("userRecordName", userRecordName)
        let counts = [
            ("zones", zones), ("shares", shares), ("joinedShares", joinedShares), ("subscriptions", subscriptions),
            ("pushTokens", pushTokens),
        ]
        for (name, count) in counts {
            writer.key(name)
            writer.int64(Int64(count))
        }
        writer.key("assetBytes")
        writer.int64(assetBytes)
        writer.endObject()
    }
}
