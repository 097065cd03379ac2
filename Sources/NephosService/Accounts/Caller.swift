import NephosStorage
import NephosWire

/// Who asks, of which database, with what the store knows of them.
struct Caller: Sendable {
    var scope: DatabaseScope
    var account: AccountRow?
    /// What the client calls itself; nil where it does not say.
    var clientID: String?
    var requestID: String

    /// The names by which a caller calls itself (CloudKit Web Services, Zone ID Dictionary; `CKCurrentUserDefaultName`).
    static let namesForSelf: Set<String> = ["__defaultOwner__", "_defaultOwner"]

    var userRecordName: String? { account?.userRecordName }

    /// The owner of the database's rows; nil for the shared database, which has none of its own.
    var owner: OwnerID? {
        switch scope {
        case .public: .everyone
        case .private: account?.owner
        case .shared: nil
        }
    }

    func address(_ zoneID: ZoneIDDictionary?) -> ZoneAddress {
        ZoneAddress(zoneID, scope: scope, userRecordName: userRecordName)
    }

    /// The zone ID by which this caller knows a zone of its database.
    func zoneID(_ zoneName: String) -> ZoneIDDictionary {
        ZoneIDDictionary(zoneName: zoneName, ownerRecordName: userRecordName)
    }

    /// Reading the private and the shared database needs an account, and so does writing the public one
    /// (`CKContainer`, Apple's documentation).
    func requireAccount() throws(ServiceError) -> AccountRow {
        guard let account else { throw .authenticationRequired }
        return account
    }

    /// Who makes the changes of the request, for those who are told of them.
    var origin: Notifier.Origin? {
        guard let account, let clientID, !clientID.isEmpty else { return nil }
        return Notifier.Origin(account: account.id, clientID: clientID)
    }
}
