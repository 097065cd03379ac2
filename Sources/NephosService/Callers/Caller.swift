import NephosCrypto
import NephosStorage
import NephosWire

/// The caller of a request and the request's database, with the store's key and tokens for them.
struct Caller: Sendable {
    var scope: DatabaseScope
    var account: AccountRow?
    /// The client's own identifier; nil if it sends none.
    var clientID: String?
    var requestID: String
    /// The container and environment of the request.
    var storeID: StoreID
    /// The store's key, which authenticates the tokens that clients receive and return.
    var key: AuthenticationKey
    /// Which of those tokens are valid.
    var validity = TokenEpoch()
    /// Makes and reads the asset addresses and receipts that the caller receives and returns.
    var assets: AssetAddresses

    var userRecordName: String? { account?.userRecordName }

    /// Resolves the current-user placeholders to this caller.
    var currentUser: CurrentUser { CurrentUser(userRecordName: userRecordName) }

    /// The owner of the database's rows; nil for the shared database, which has none of its own.
    var owner: OwnerID? {
        switch scope {
        case .public: .everyone
        case .private: account?.owner
        case .shared: nil
        }
    }

    /// Identifies the database as this caller sees it: user record names are random, so it is unique.
    var databaseName: String { "\(scope.rawValue) \(userRecordName ?? "")" }

    var tokenCodec: TokenCodec {
        let content = validity.content
        return TokenCodec(key: key, database: databaseName, epoch: content.epoch, lost: content.lost)
    }

    func address(_ zoneID: ZoneIDDictionary?) -> ZoneAddress {
        ZoneAddress(zoneID, scope: scope, currentUser)
    }

    /// The zone ID that this caller uses for a zone of its database.
    func zoneID(_ zoneName: String) -> ZoneIDDictionary {
        ZoneIDDictionary(zoneName: zoneName, ownerRecordName: userRecordName)
    }

    /// A request's zone ID in the spelling of answers: the caller's own zones have one spelling, however the request
    /// wrote their owner.
    func spelled(_ zoneID: ZoneIDDictionary) -> ZoneIDDictionary {
        let address = address(zoneID)
        return address.isOwn ? self.zoneID(address.zoneName) : zoneID
    }

    /// Reading the private and the shared database needs an account, and so does writing the public one
    /// (`CKContainer`, Apple's documentation).
    func requireAccount() throws(ServiceError) -> AccountRow {
        guard let account else { throw .authenticationRequired }
        return account
    }

    /// The origin of the request's changes, for notifications.
    var origin: Notifier.Origin? {
        guard let account, let clientID, !clientID.isEmpty else { return nil }
        return Notifier.Origin(account: account.id, clientID: clientID)
    }
}
