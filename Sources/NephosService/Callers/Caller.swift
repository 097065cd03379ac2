import NephosCrypto
import NephosStorage
import NephosWire

/// The caller of a request, the request's database, and the key and tokens that the store uses for them.
///
/// A class, because each step of a request keeps its caller, and a copy of a structure counts references to all members.
final class Caller: Sendable {
    let scope: DatabaseScope
    let account: AccountRow?
    /// The name of the caller's session in the installation; nil without one.
    let session: String?
    /// The client's own identifier; nil if the client sends none.
    let clientID: String?
    let requestID: String
    /// The container and environment of the request.
    let storeID: StoreID
    /// The store's key, which authenticates the tokens that clients receive and return.
    let key: AuthenticationKey
    /// The epoch that decides which change tokens are valid.
    let validity: TokenEpoch
    /// Encodes and decodes the asset addresses and receipts that the caller receives and returns.
    let assets: AssetAddresses
    /// Whether the caller's saves add record types and fields to the schema.
    let schemaGrowth: SchemaGrowth

    init(
        scope: DatabaseScope, account: AccountRow?, session: String? = nil, clientID: String? = nil, requestID: String,
        storeID: StoreID,
        key: AuthenticationKey, validity: TokenEpoch = TokenEpoch(), assets: AssetAddresses,
        schemaGrowth: SchemaGrowth = .open
    ) {
        self.scope = scope
        self.account = account
        self.session = session
        self.clientID = clientID
        self.requestID = requestID
        self.storeID = storeID
        self.key = key
        self.validity = validity
        self.assets = assets
        self.schemaGrowth = schemaGrowth
    }

    var userRecordName: String? { account?.userRecordName }

    /// Resolves the current-user placeholders to this caller.
    var currentUser: CurrentUser { CurrentUser(userRecordName: userRecordName) }

    /// The owner of the database's rows. Nil for the shared database, which has no rows of its own, and for a private
    /// database without an account.
    var owner: OwnerID? {
        switch scope {
        case .public: .everyone
        case .private: account?.owner
        case .shared: nil
        }
    }

    /// The name that identifies the database as this caller sees it. User record names are random, so the name is
    /// unique.
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

    /// The form of a request's zone ID in the response: a zone of the caller has one form, however the request wrote
    /// its owner.
    func spelled(_ zoneID: ZoneIDDictionary) -> ZoneIDDictionary {
        let address = address(zoneID)
        return address.isOwn ? self.zoneID(address.zoneName) : zoneID
    }

    /// Returns the caller's account. Reading the private and the shared database needs an account, and so does writing
    /// the public one (`CKContainer`, Apple's documentation).
    /// - Throws: `notAuthenticated` without an account.
    func requireAccount() throws(ServiceError) -> AccountRow {
        guard let account else { throw .authenticationRequired }
        return account
    }

    /// The origin of the request's changes, for notifications; nil without an account.
    var origin: ChangeOrigin? {
        account.map { ChangeOrigin(account: $0.id, clientID: clientID ?? "") }
    }
}
