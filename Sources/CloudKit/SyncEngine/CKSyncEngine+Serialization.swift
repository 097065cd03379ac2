import Foundation

extension CKSyncEngine.State {
    /// A state to keep, opaque to the app: the newest one goes into the configuration of the next engine.
    ///
    /// It encodes as Apple's does, as one key `data` with bytes that only the engine understands. Bytes it does not
    /// understand, those of another platform's engine for one, decode, and count as no state: the engine then fetches
    /// from the beginning.
    public struct Serialization: Codable, Sendable {
        private var content: SerializedContent?

        private enum CodingKeys: String, CodingKey {
            case data
        }

        public init(from decoder: any Decoder) throws {
            let data = try decoder.container(keyedBy: CodingKeys.self).decode(Data.self, forKey: .data)
            content = try? JSONDecoder().decode(SerializedContent.self, from: data)
        }

        public func encode(to encoder: any Encoder) throws {
            let bytes = JSONEncoder()
            // Sorted, so that equal states are equal bytes.
            bytes.outputFormatting = .sortedKeys
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(content.map { try bytes.encode($0) } ?? Data(), forKey: .data)
        }

        init(_ content: CKSyncEngine.State.Content) {
            self.content = SerializedContent(content)
        }

        fileprivate func restore(to content: inout CKSyncEngine.State.Content) {
            self.content?.restore(to: &content)
        }
    }
}

/// What the bytes of a serialization say.
private struct SerializedContent: Codable, Sendable {
    var version = 1
    var databaseToken: String?
    var zones: [Zone]
    var records: [Change]
    var database: [Change]
    var hasPendingUntrackedChanges: Bool
    var userRecordName: String?
    var subscriptionID: String?

    /// What is known of a zone.
    struct Zone: Codable, Sendable {
        var name: String
        var owner: String
        /// Nil for one of which nothing was fetched.
        var token: String?
        /// Its token from before something was sent to it, while nothing was fetched of it.
        var sentSince: String?
        /// Whether it has changes that were not fetched.
        var isUnfetched: Bool
        /// Whether it was not seen since the database was fetched from its beginning; nil is no.
        var isDoubtful: Bool?
        /// The names of records that came without their content; nil is none.
        var unread: [String]?
    }

    /// A pending change, to a record or to a zone.
    struct Change: Codable, Sendable {
        var deletes: Bool
        /// Nil for a change to the zone.
        var record: String?
        var zone: String
        var owner: String
        /// Of a zone to save, the raw value.
        var encryptionScope: Int?
    }
}

extension SerializedContent {
    init(_ content: CKSyncEngine.State.Content) {
        databaseToken = content.databaseToken?.syncToken
        let others = content.knownZoneIDs.union(content.doubtfulZoneIDs).union(content.sentSince.keys).subtracting(
            content.unfetchedZoneIDs)
        let ordered = others.sorted { ($0.zoneName, $0.ownerName) < ($1.zoneName, $1.ownerName) }
        zones = (content.unfetchedZoneIDs + ordered).enumerated().map { place, zoneID in
            Zone(
                name: zoneID.zoneName, owner: zoneID.ownerName, token: content.zoneTokens[zoneID]?.syncToken,
                sentSince: content.sentSince[zoneID],
                isUnfetched: place < content.unfetchedZoneIDs.count,
                isDoubtful: content.doubtfulZoneIDs.contains(zoneID) ? true : nil,
                unread: content.unreadRecordIDs[zoneID]?.map(\.recordName).sorted())
        }
        records = content.records.changes.map { change in
            let (recordID, deletes) =
                switch change {
                case .saveRecord(let recordID): (recordID, false)
                case .deleteRecord(let recordID): (recordID, true)
                }
            return Change(
                deletes: deletes, record: recordID.recordName, zone: recordID.zoneID.zoneName,
                owner: recordID.zoneID.ownerName)
        }
        database = content.database.changes.map { change in
            switch change {
            case .saveZone(let zone):
                Change(
                    deletes: false, zone: zone.zoneID.zoneName, owner: zone.zoneID.ownerName,
                    encryptionScope: zone.encryptionScope.rawValue)
            case .deleteZone(let zoneID): Change(deletes: true, zone: zoneID.zoneName, owner: zoneID.ownerName)
            }
        }
        hasPendingUntrackedChanges = content.hasPendingUntrackedChanges
        userRecordName = content.userRecordName
        subscriptionID = content.subscriptionID
    }

    func restore(to content: inout CKSyncEngine.State.Content) {
        content.databaseToken = databaseToken.map { CKServerChangeToken(syncToken: $0) }
        for zone in zones {
            let zoneID = CKRecordZone.ID(unchecked: zone.name, ownerName: zone.owner)
            content.zoneTokens[zoneID] = zone.token.map { CKServerChangeToken(syncToken: $0) }
            content.sentSince[zoneID] = zone.sentSince
            if zone.isUnfetched { content.unfetchedZoneIDs.append(zoneID) }
            if zone.isDoubtful == true { content.doubtfulZoneIDs.insert(zoneID) }
            content.unreadRecordIDs[zoneID] = zone.unread.map { names in
                Set(names.map { CKRecord.ID(unchecked: $0, zoneID: zoneID) })
            }
            if zone.token == nil && !zone.isUnfetched { content.sentZoneIDs.insert(zoneID) }
        }
        for change in records {
            let zoneID = CKRecordZone.ID(unchecked: change.zone, ownerName: change.owner)
            let recordID = CKRecord.ID(unchecked: change.record ?? "", zoneID: zoneID)
            content.records.add(change.deletes ? .deleteRecord(recordID) : .saveRecord(recordID), at: 0)
        }
        for change in database {
            let zoneID = CKRecordZone.ID(unchecked: change.zone, ownerName: change.owner)
            let zone = CKRecordZone(zoneID: zoneID)
            zone.encryptionScope = change.encryptionScope.flatMap { .init(rawValue: $0) } ?? .perRecord
            content.database.add(change.deletes ? .deleteZone(zoneID) : .saveZone(zone), at: 0)
        }
        content.hasPendingUntrackedChanges = hasPendingUntrackedChanges
        content.userRecordName = userRecordName
        content.subscriptionID = subscriptionID
    }
}

extension CKSyncEngine.State.Content {
    init(_ serialization: CKSyncEngine.State.Serialization) {
        self.init()
        serialization.restore(to: &self)
    }
}
