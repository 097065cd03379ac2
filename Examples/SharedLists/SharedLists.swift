import CloudKit

/// Lists that several people keep: each in a zone of its owner's, shared by its root record, or with the zone as a whole. Names
/// and items are encrypted on the device: the service keeps bytes. So no name is part of what the service reads, as record names,
/// zone names and the titles of shares are.
struct SharedLists {
    let container: CKContainer

    static let zoneName = "Lists"
    /// What whoever has a link sees of a list before they accept it.
    static let title = "A list"

    struct List {
        var name: String
        var items: [String]
        /// Whose it is; nil for one's own.
        var owner: String?
    }

    enum Failure: Error, CustomStringConvertible {
        case noList(String)
        case isThere(String)
        case noParticipant(String)
        case noRequest(String)
        case noURL

        var description: String {
            switch self {
            case .noList(let name): "there is no list '\(name)'"
            case .isThere(let name): "there is a list '\(name)' already"
            case .noParticipant(let email): "\(email) takes no part in the list"
            case .noRequest(let name): "nobody asks for access to '\(name)'"
            case .noURL: "the share has no URL"
            }
        }
    }

    // MARK: Sharing

    /// Makes a list and shares it: with an address, or with everybody who has the link.
    func share(_ name: String, with email: String?) async throws -> URL {
        let list = try await makeList(name, in: Self.zoneName)
        let share = share(list)
        try await invite(email, to: share)
        try await save([list, share])
        return try url(share.url)
    }

    /// The same with the first who uses the link: it is good once.
    func shareOnce(_ name: String) async throws -> URL {
        let list = try await makeList(name, in: Self.zoneName)
        let share = share(list)
        let participant = CKShare.Participant.oneTimeURLParticipant()
        share.addParticipant(participant)
        try await save([list, share])
        return try url(share.oneTimeURL(for: participant.participantID))
    }

    /// The same with nobody, but who has the link may ask for access.
    func shareOnRequest(_ name: String) async throws -> URL {
        let list = try await makeList(name, in: Self.zoneName)
        let share = share(list)
        share.allowsAccessRequests = true
        try await save([list, share])
        return try url(share.url)
    }

    /// The same with a zone that holds this list alone.
    func shareZone(_ name: String, with email: String?) async throws -> URL {
        let list = try await makeList(name, in: UUID().uuidString)
        let share = CKShare(recordZoneID: list.recordID.zoneID)
        share[CKShare.SystemFieldKey.title] = Self.title
        try await invite(email, to: share)
        try await save([list, share])
        return try url(share.url)
    }

    /// A record in a zone of that name. Its own name is random.
    private func makeList(_ name: String, in zoneName: String) async throws -> CKRecord {
        let database = container.privateCloudDatabase
        if try await records(in: database).contains(where: { $0.encryptedValues["name"] == name }) {
            throw Failure.isThere(name)
        }
        let zoneID = CKRecordZone.ID(zoneName: zoneName)
        try await database.save(CKRecordZone(zoneID: zoneID))
        let list = CKRecord(recordType: "List", recordID: CKRecord.ID(zoneID: zoneID))
        list.encryptedValues["name"] = name
        return list
    }

    /// A share of a list, with a title that does not say which.
    private func share(_ list: CKRecord) -> CKShare {
        let share = CKShare(rootRecord: list)
        share[CKShare.SystemFieldKey.title] = Self.title
        return share
    }

    private func invite(_ email: String?, to share: CKShare) async throws {
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
        return share[CKShare.SystemFieldKey.title] as? String ?? Self.title
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
