import CloudKit

/// Lists that several people keep: each in a zone of its owner's, shared by its root record, or with the zone as a whole. Names
/// and items are encrypted on the device: the service keeps bytes.
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
        case noRequest(String)
        case noURL

        var description: String {
            switch self {
            case .noList(let name): "there is no list '\(name)'"
            case .noParticipant(let email): "\(email) takes no part in the list"
            case .noRequest(let name): "nobody asks for access to '\(name)'"
            case .noURL: "the share has no URL"
            }
        }
    }

    // MARK: Sharing

    /// Makes a list and shares it: with an address, or with everybody who has the link.
    func share(_ name: String, with email: String?) async throws -> URL {
        let list = try await makeList(name)
        let share = CKShare(rootRecord: list)
        try await invite(email, to: share, titled: name)
        try await save([list, share])
        return try url(share.url)
    }

    /// The same with the first who uses the link: it is good once.
    func shareOnce(_ name: String) async throws -> URL {
        let list = try await makeList(name)
        let share = CKShare(rootRecord: list)
        let participant = CKShare.Participant.oneTimeURLParticipant()
        share.addParticipant(participant)
        try await save([list, share])
        return try url(share.oneTimeURL(for: participant.participantID))
    }

    /// The same with nobody, but who has the link may ask for access.
    func shareOnRequest(_ name: String) async throws -> URL {
        let list = try await makeList(name)
        let share = CKShare(rootRecord: list)
        share.allowsAccessRequests = true
        try await save([list, share])
        return try url(share.url)
    }

    /// A record in the zone of the lists.
    private func makeList(_ name: String) async throws -> CKRecord {
        let zoneID = CKRecordZone.ID(zoneName: Self.zoneName)
        try await container.privateCloudDatabase.save(CKRecordZone(zoneID: zoneID))
        let list = CKRecord(recordType: "List", recordID: CKRecord.ID(recordName: "list-\(name)", zoneID: zoneID))
        list.encryptedValues["name"] = name
        return list
    }

    /// The same with a zone that holds this list alone.
    func shareZone(_ name: String, with email: String?) async throws -> URL {
        let zoneID = CKRecordZone.ID(zoneName: name)
        let database = container.privateCloudDatabase
        try await database.save(CKRecordZone(zoneID: zoneID))
        let list = CKRecord(recordType: "List", recordID: CKRecord.ID(recordName: "list-\(name)", zoneID: zoneID))
        list.encryptedValues["name"] = name
        let share = CKShare(recordZoneID: zoneID)
        try await invite(email, to: share, titled: name)
        try await save([list, share])
        return try url(share.url)
    }

    private func invite(_ email: String?, to share: CKShare, titled name: String) async throws {
        // The title stays readable: who has not accepted sees it.
        share[CKShare.SystemFieldKey.title] = "a list"
        guard let email else {
            share.publicPermission = .readWrite
            return
        }
        let participant = try await container.shareParticipant(forEmailAddress: email)
        participant.permission = .readWrite
        share.addParticipant(participant)
    }

    private func save(_ records: [CKRecord]) async throws {
        let saved = try await container.privateCloudDatabase.modifyRecords(saving: records, deleting: [])
        for result in saved.saveResults.values { _ = try result.get() }
    }

    private func url(_ url: URL?) throws(Failure) -> URL {
        guard let url else { throw .noURL }
        return url
    }

    /// Asks the owner of a share for access.
    func ask(_ url: URL) async throws {
        for result in try await container.requestShareAccess(for: [url]).values { try result.get() }
    }

    /// Gives everybody access to a list of one's own who asks for it.
    func approve(_ name: String) async throws {
        let share = try await share(of: name)
        if share.requesters.isEmpty { throw Failure.noRequest(name) }
        let people = share.requesters.map(\.participantLookupInfo)
        for result in try await container.shareParticipants(for: people).values {
            let participant = try result.get()
            participant.permission = .readWrite
            share.addParticipant(participant)
        }
        try await save([share])
    }

    /// Accepts a share by its link.
    func accept(_ url: URL) async throws -> String {
        let metadata = try await container.shareMetadata(for: url)
        let share = try await container.accept(metadata)
        return share[CKShare.SystemFieldKey.title] as? String ?? "a list"
    }

    /// Takes somebody out of a list of one's own.
    func remove(_ email: String, from name: String) async throws {
        let share = try await share(of: name)
        let participant = share.participants.first { $0.userIdentity.lookupInfo?.emailAddress == email }
        guard let participant else { throw Failure.noParticipant(email) }
        share.removeParticipant(participant)
        try await save([share])
    }

    /// The share of a list of one's own.
    private func share(of name: String) async throws -> CKShare {
        let database = container.privateCloudDatabase
        let list = try await records(in: database).first { $0.encryptedValues["name"] == name }
        guard let list else { throw Failure.noList(name) }
        let zoneShare = CKRecord.ID(recordName: CKRecordNameZoneWideShare, zoneID: list.recordID.zoneID)
        let share = try await database.record(for: list.share?.recordID ?? zoneShare) as? CKShare
        guard let share else { throw Failure.noList(name) }
        return share
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
                        name: list.encryptedValues["name"] ?? "",
                        items: items.compactMap { $0.encryptedValues["text"] }.sorted(),
                        owner: owner == CKCurrentUserDefaultName ? nil : owner))
            }
        }
        return lists
    }

    /// Adds an item to a list, wherever it is.
    func add(_ text: String, to name: String) async throws {
        for database in [container.privateCloudDatabase, container.sharedCloudDatabase] {
            guard let list = try await records(in: database).first(where: { $0.encryptedValues["name"] == name }) else {
                continue
            }
            let item = CKRecord(recordType: "Item", recordID: CKRecord.ID(zoneID: list.recordID.zoneID))
            item.encryptedValues["text"] = text
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
