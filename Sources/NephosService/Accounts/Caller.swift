import NephosCrypto
import NephosStorage
import NephosWire

/// The caller, the database of the request, and what the store knows of them.
struct Caller: Sendable {
    var scope: DatabaseScope
    var account: AccountRow?
    /// What the client calls itself; nil where it does not say.
    var clientID: String?
    var requestID: String
    /// The container and environment of the request.
    var storeID: StoreID
    /// The store's, for the strings that the caller is given and gives back.
    var key: AuthenticationKey
    /// Which of these are good.
    var validity = TokenValidity()
    /// The addresses and receipts of files that the caller is given and gives back.
    var assets: AssetAccess

    var userRecordName: String? { account?.userRecordName }

    /// Whom the names for the current user mean.
    var currentUser: CurrentUser { CurrentUser(userRecordName: userRecordName) }

    /// The owner of the database's rows; nil for the shared database, which has none of its own.
    var owner: OwnerID? {
        switch scope {
        case .public: .everyone
        case .private: account?.owner
        case .shared: nil
        }
    }

    /// What tells the database, as this caller sees it, from others: user records' names are drawn at random.
    var databaseName: String { "\(scope.rawValue) \(userRecordName ?? "")" }

    var tokenCodec: TokenCodec {
        let content = validity.content
        return TokenCodec(key: key, database: databaseName, epoch: content.epoch, lost: content.lost)
    }

    func address(_ zoneID: ZoneIDDictionary?) -> ZoneAddress {
        ZoneAddress(zoneID, scope: scope, currentUser)
    }

    /// The zone ID by which this caller knows a zone of its database.
    func zoneID(_ zoneName: String) -> ZoneIDDictionary {
        ZoneIDDictionary(zoneName: zoneName, ownerRecordName: userRecordName)
    }

    /// A zone ID of a request as answers spell it: the caller's own zones in one way, however the owner was written.
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
