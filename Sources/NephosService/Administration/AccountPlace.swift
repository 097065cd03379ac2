import NephosCrypto
import NephosStorage
import NephosWire

/// What a container in one environment has of an account, as the account sees it: its devices and shares.
package struct AccountPlace: Hashable, Sendable {
    /// A share that the account owns or has accepted.
    package struct Share: Hashable, Sendable {
        package var isOwn: Bool
        package var zoneName: String
        /// The user record name of the owner.
        package var owner: String
        package var recordName: String
        /// The title, as the owner wrote it; nil without one, and for an account that may not read the share.
        package var title: String?
        /// Of an own share: the number of participants that have accepted it.
        package var participants = 0

        package init(isOwn: Bool, zoneName: String, owner: String, recordName: String) {
            (self.isOwn, self.zoneName, self.owner, self.recordName) = (isOwn, zoneName, owner, recordName)
        }

        /// Whether both are the same share, whatever is known of it.
        func isSame(as other: Share) -> Bool {
            (isOwn, zoneName, owner, recordName) == (other.isOwn, other.zoneName, other.owner, other.recordName)
        }
    }

    package var container: String
    package var environment: String
    /// The names of the devices that have the account's keys for encrypted values, in the order of their enrolment.
    package var devices: [String]
    /// Whether the account has keys, but no recovery key.
    package var lacksRecoveryKey: Bool
    /// The shares, at most `Limits.sharesShown`: own ones first.
    package var shares: [Share]
    /// Whether `shares` lacks some.
    package var hasMoreShares: Bool
}

/// Reads the places of an account.
struct AccountPlaces {
    let account: AccountRow
    let store: StoreID
    let reader: StorageReader

    func place() throws -> AccountPlace {
        let key = KeyPlace(container: store.container, environment: store.environment, owner: account.userRecordName)
        let list = DeviceList(try AccountKeys.entries(of: account, reader), in: key, areChecked: true)
        let shares = try ownShares() + joinedShares()
        return AccountPlace(
            container: store.container, environment: store.environment, devices: list?.devices.map(\.name) ?? [],
            lacksRecoveryKey: list.map { $0.count > 0 && $0.recoveryKeys.isEmpty } ?? false,
            shares: Array(shares.prefix(Limits.sharesShown)), hasMoreShares: shares.count > Limits.sharesShown)
    }

    private func ownShares() throws -> [AccountPlace.Share] {
        var shares: [AccountPlace.Share] = []
        for zone in try reader.zones(owner: account.owner) where ZoneRules.hasChangeFeed(zone.name) {
            guard shares.count <= Limits.sharesShown else { break }
            shares += try reader.shares(zone: zone.key, limit: Limits.sharesShown + 1).map { share in
                var own = AccountPlace.Share(
                    isOwn: true, zoneName: zone.name, owner: account.userRecordName, recordName: share.name)
                own.title = try NephosService.title(share, reader)
                own.participants = try reader.participants(share: share.id).count {
                    $0.isParticipant && $0.hasAccepted
                }
                return own
            }
        }
        return shares
    }

    private func joinedShares() throws -> [AccountPlace.Share] {
        try SharedDatabaseView(account: account, reader: reader).zones().flatMap { zone in
            try zone.participations.map { participation in
                var joined = AccountPlace.Share(
                    isOwn: false, zoneName: zone.zone.name, owner: zone.owner.userRecordName,
                    recordName: participation.share.name)
                if [.readOnly, .readWrite].contains(participation.permission) {
                    joined.title = try NephosService.title(participation.share, reader)
                }
                return joined
            }
        }
    }
}

extension NephosService {
    /// Returns the places of an account, in the order of their containers: those in `Limits.storesPerPage` stores, and in
    /// as many further ones until there is a place.
    /// - Parameters:
    ///   - account: the account's name, which for an installation is its ID.
    ///   - after: the `next` of the previous page: a number, as the names of containers are not for every account.
    /// - Returns: the places where the account was, and `next` if further stores follow.
    package func places(
        of account: String, after: Int = 0
    ) async throws(ServiceError) -> (places: [AccountPlace], next: Int?) {
        do {
            let all = try await stores.known().filter { ContainerEnvironment(rawValue: $0.environment) != nil }
                .map { ("\($0.container) \($0.environment)", $0) }.sorted { $0.0 < $1.0 }.map(\.1)
            var places: [AccountPlace] = []
            var looked = min(max(0, after), all.count)
            for _ in 0..<Limits.pagesOfStores where places.isEmpty && looked < all.count {
                let page = all[looked..<min(looked + Limits.storesPerPage, all.count)]
                for id in page {
                    if let place = try await place(of: account, id) { places.append(place) }
                }
                looked += page.count
            }
            return (places, looked < all.count ? looked : nil)
        } catch {
            throw translate(error, requestID: "account")
        }
    }

    /// Ends an own share for all participants, or leaves another's.
    /// - Parameters:
    ///   - account: the account's name, which for an installation is its ID.
    ///   - address: the address to which invitations of the account go; nil without one.
    /// - Throws: `unknownItem` if the account has no such share.
    package func endShare(
        _ share: AccountPlace.Share, container: String, environment: String, account: String, address: String?,
        requestID: String
    ) async throws(ServiceError) {
        guard let environment = ContainerEnvironment(rawValue: environment) else { throw .noShare }
        let page = try await place(of: account, StoreID(container: container, environment: environment.rawValue))
        guard page?.shares.contains(where: share.isSame) == true else { throw .noShare }
        var context = RequestContext(
            container: container, environment: environment, scope: share.isOwn ? .private : .shared, account: account,
            requestID: requestID)
        context.address = address
        let zoneID = ZoneIDDictionary(zoneName: share.zoneName, ownerRecordName: share.owner)
        let delete = RecordOperation(
            operationType: .forceDelete, record: RecordToModify(recordName: share.recordName, zoneID: zoneID))
        let response = try await modifyRecords(ModifyRecordsRequest(operations: [delete]), context)
        if case .failure(let error)? = response.records.first {
            throw ServiceError(error.serverErrorCode, .serverRejectedRequest, error.reason)
        }
    }

    private func place(of account: String, _ id: StoreID) async throws(ServiceError) -> AccountPlace? {
        do {
            return try await stores.usingExisting(id) { store -> AccountPlace? in
                guard let store else { return nil }
                return try await store.engine.read { reader in
                    guard let row = try Accounts.find(account, reader) else { return nil }
                    return try AccountPlaces(account: row, store: id, reader: reader).place()
                }
            }
        } catch {
            throw translate(error, requestID: "account")
        }
    }
}

extension ServiceError {
    fileprivate static let noShare = ServiceError(.notFound, .unknownItem, "the account has no such share")
}
