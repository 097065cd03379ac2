import NephosStorage
import NephosWire

/// Finds the zones of a database, and describes them in responses.
enum ZoneRegistry {
    /// Returns the default zone of a database. The zone needs no save: the first lookup in a transaction creates it.
    static func defaultZone(owner: OwnerID, in transaction: StorageTransaction) throws -> ZoneRow {
        if let zone = try transaction.zone(owner: owner, named: ZoneIDDictionary.defaultZoneName) { return zone }
        return try transaction.insertZone(
            owner: owner, name: ZoneIDDictionary.defaultZoneName, sequence: try transaction.nextSequence())
    }

    /// Finds a zone as the caller sees it: the caller's own, the public database's, or one that is shared with the
    /// caller; nil if there is none.
    static func find(
        _ address: ZoneAddress, _ caller: Caller, _ reader: StorageReader
    ) throws -> FoundZone? {
        guard address.canExist else { return nil }
        if let owner = address.sharedBy, let account = caller.account {
            let view = SharedDatabaseView(account: account, reader: reader)
            return try view.zone(named: address.zoneName, owner: owner).map { FoundZone(row: $0.zone, shared: $0) }
        }
        guard address.isOwn, let owner = caller.owner else { return nil }
        return try reader.zone(owner: owner, named: address.zoneName).map { FoundZone(row: $0) }
    }

    /// The purpose of a zone lookup.
    enum Purpose {
        case toRead, toSave, toSubscribe
    }

    /// Returns the error for a zone that is not found, with a remedy. The user may have removed the zone
    /// (`userDeletedZone`, `CKErrorUserDidResetEncryptedDataKey`, Apple's documentation).
    static func notFound(
        _ address: ZoneAddress, _ caller: Caller, _ purpose: Purpose, _ reader: StorageReader
    ) throws -> ServiceError {
        if caller.scope == .shared, caller.currentUser.isOwner(address.sharedBy) {
            // Apps recognise the error by these words of Apple's.
            return .invalid(
                "Only shared zones can be accessed in the shared DB: the account's own are in the private database, and one"
                    + " that is shared with it is named with its owner")
        }
        var error = ServiceError.zoneNotFound(address.zoneName)
        error.reason += ": " + (try remedy(address, caller, purpose, reader))
        guard address.isOwn, address.canExist, let owner = caller.owner,
            let zone = try reader.lastDeletedZone(owner: owner, named: address.zoneName)
        else { return error }
        switch ZoneDeletion.reason(of: zone) {
        case .deleted: break
        case .purged: return .zonePurged
        case .encryptedDataReset: error.userDidResetEncryptedData = true
        }
        return error
    }

    /// The remedy for a zone that is not found. It never reveals whether another account has the zone.
    private static func remedy(
        _ address: ZoneAddress, _ caller: Caller, _ purpose: Purpose, _ reader: StorageReader
    ) throws -> String {
        switch caller.scope {
        case .public: return "the public database has the default zone alone"
        case .shared: return "nothing of it is shared with the account, which has to accept a share first"
        case .private:
            guard address.isOwn, let owner = caller.owner else {
                return "others' zones are in the shared database, once a share is accepted"
            }
            let names = try reader.zones(owner: owner, changedAfter: 0, limit: zonesCompared).map(\.name)
            let remedy =
                switch purpose {
                case .toRead: "the account has no zone of that name"
                case .toSave: "save the zone before the records in it"
                case .toSubscribe: "save the zone before the subscription to it"
                }
            return remedy + Suggestion.clause(for: address.zoneName, among: names)
        }
    }

    /// The maximum number of zones whose names are compared with the name of a missing zone, to suggest a similar one.
    private static let zonesCompared = 200

    static func dictionary(_ zone: ZoneRow, for caller: Caller) -> ZoneDictionary {
        ZoneDictionary(zoneID: caller.zoneID(zone.name), atomic: ZoneRules.isAtomic(zone.name))
    }

    /// The dictionary of a zone that may belong to another account.
    static func dictionary(
        _ zone: FoundZone, for caller: Caller, _ reader: StorageReader
    ) throws -> ZoneDictionary {
        guard let shared = zone.shared else { return try dictionary(zone.row, for: caller, reader) }
        var dictionary = ZoneDictionary(zoneID: zone.zoneID(for: caller), atomic: ZoneRules.isAtomic(zone.name))
        dictionary.share = shared.zoneWide?.share.name
        dictionary.encryptionScope = try PerZone.scope(of: zone.key, reader)
        dictionary.syncToken = try SharedZoneFeed(zone: shared, reader: reader).currentToken(caller.tokenCodec)
        return dictionary
    }

    /// The dictionary of a zone of the caller's own or of the public database. If the zone has a change feed, the
    /// dictionary includes the zone's `syncToken`: "the current point in the zone's change history" (CloudKit Web
    /// Services, Zone Dictionary). A fetch with this token returns later changes.
    static func dictionary(
        _ zone: ZoneRow, for caller: Caller, _ reader: StorageReader
    ) throws -> ZoneDictionary {
        var dictionary = dictionary(zone, for: caller)
        if ZoneRules.hasChangeFeed(zone.name) {
            dictionary.encryptionScope = try PerZone.scope(of: zone.key, reader)
            dictionary.share = try reader.share(zone: zone.key, named: SystemRecordName.zoneWideShare)?.name
            let last = max(try reader.completeUpTo(zone: zone.key), zone.purgedUntil)
            dictionary.syncToken = ChangeToken(feed: .zone(zone.key.id), sequence: last).text(caller.tokenCodec)
        }
        return dictionary
    }
}
