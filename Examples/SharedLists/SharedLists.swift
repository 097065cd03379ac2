import CloudKit

/// Lists that several people keep: each in a zone of its owner's, shared by its root record, or with the zone as a whole.
struct SharedLists {
    let container: CKContainer

    static let zoneName = "Lists"

    struct List {
        var name: String
        var items: [String]
        /// Whose it is; nil for one's own.
        var owner: String?
    }

    enum Failure: Error, CustomStringConvertible {
        case noList(String)
        case noParticipant(String)

        var description: String {
            switch self {
            case .noList(let name): "there is no list '\(name)'"
            case .noParticipant(let email): "\(email) takes no part in the list"
            }
        }
    }

    // MARK: Sharing

    /// Makes a list and shares it: with an address, or with everybody who has the link.
    func share(_ name: String, with email: String?) async throws -> URL? {
        let zoneID = CKRecordZone.ID(zoneName: Self.zoneName)
        let database = container.privateCloudDatabase
        try await database.save(CKRecordZone(zoneID: zoneID))
        let list = CKRecord(recordType: "List", recordID: CKRecord.ID(recordName: "list-\(name)", zoneID: zoneID))
        list["name"] = name
        let share = CKShare(rootRecord: list)
        try await invite(email, to: share, titled: name)
        return try await save([list, share], share)
    }

    /// The same with a zone that holds this list alone.
    func shareZone(_ name: String, with email: String?) async throws -> URL? {
        let zoneID = CKRecordZone.ID(zoneName: name)
        let database = container.privateCloudDatabase
        try await database.save(CKRecordZone(zoneID: zoneID))
        let list = CKRecord(recordType: "List", recordID: CKRecord.ID(recordName: "list-\(name)", zoneID: zoneID))
        list["name"] = name
        let share = CKShare(recordZoneID: zoneID)
        try await invite(email, to: share, titled: name)
        return try await save([list, share], share)
    }

    private func invite(_ email: String?, to share: CKShare, titled name: String) async throws {
        share[CKShare.SystemFieldKey.title] = name
        guard let email else {
            share.publicPermission = .readWrite
            return
        }
        let participant = try await container.shareParticipant(forEmailAddress: email)
        participant.permission = .readWrite
        share.addParticipant(participant)
    }

    private func save(_ records: [CKRecord], _ share: CKShare) async throws -> URL? {
        let saved = try await container.privateCloudDatabase.modifyRecords(saving: records, deleting: [])
        for result in saved.saveResults.values { _ = try result.get() }
        return share.url
    }

    /// Accepts a share by its link.
    func accept(_ url: URL) async throws -> String {
        let metadata = try await container.shareMetadata(for: url)
        let share = try await container.accept(metadata)
        return share[CKShare.SystemFieldKey.title] as? String ?? "a list"
    }

    /// Takes somebody out of a list of one's own.
    func remove(_ email: String, from name: String) async throws {
        let database = container.privateCloudDatabase
        guard let list = try await records(in: database).first(where: { $0["name"] == name }) else {
            throw Failure.noList(name)
        }
        let zoneShare = CKRecord.ID(recordName: CKRecordNameZoneWideShare, zoneID: list.recordID.zoneID)
        guard let share = try await database.record(for: list.share?.recordID ?? zoneShare) as? CKShare,
            let participant = share.participants.first(where: {
                $0.userIdentity.lookupInfo?.emailAddress == email
            })
        else { throw Failure.noParticipant(email) }
        share.removeParticipant(participant)
        _ = try await save([share], share)
    }

    // MARK: Lists

    /// Every list, one's own and others'.
    func all() async throws -> [List] {
        var lists: [List] = []
        for database in [container.privateCloudDatabase, container.sharedCloudDatabase] {
            let records = try await records(in: database)
            for list in records where list.recordType == "List" {
                let items = records.filter { $0.parent?.recordID == list.recordID }
                let owner = list.recordID.zoneID.ownerName
                lists.append(
                    List(
                        name: list["name"] ?? "", items: items.compactMap { $0["text"] }.sorted(),
                        owner: owner == CKCurrentUserDefaultName ? nil : owner))
            }
        }
        return lists
    }

    /// Adds an item to a list, wherever it is.
    func add(_ text: String, to name: String) async throws {
        for database in [container.privateCloudDatabase, container.sharedCloudDatabase] {
            guard let list = try await records(in: database).first(where: { $0["name"] == name }) else { continue }
            let item = CKRecord(recordType: "Item", recordID: CKRecord.ID(zoneID: list.recordID.zoneID))
            item["text"] = text
            item.setParent(list)
            try await database.save(item)
            return
        }
        throw Failure.noList(name)
    }

    /// Calls `body` at once, and each time that something which others share changes.
    func watch(_ body: ([List]) -> Void) async throws {
        let subscription = CKDatabaseSubscription(subscriptionID: "shared-lists")
        subscription.notificationInfo = CKSubscription.NotificationInfo(shouldSendContentAvailable: true)
        _ = try await container.sharedCloudDatabase.save(subscription)
        let notifications = try await container.notifications()
        body(try await all())
        for await _ in notifications { body(try await all()) }
    }

    private func records(in database: CKDatabase) async throws -> [CKRecord] {
        var records: [CKRecord] = []
        for zone in try await database.allRecordZones() where zone.zoneID.zoneName != CKRecordZone.ID.defaultZoneName {
            var token: CKServerChangeToken?
            while true {
                let changes = try await database.recordZoneChanges(inZoneWith: zone.zoneID, since: token)
                records += try changes.modificationResultsByID.values.map { try $0.get().record }
                token = changes.changeToken
                if !changes.moreComing { break }
            }
        }
        return records
    }
}
