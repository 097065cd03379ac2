import Foundation

extension CKSyncEngine.State {
    /// A state to store, which is opaque to the app. The app passes the newest one in the configuration of its next
    /// engine.
    ///
    /// The state encodes like Apple's, as a single key `data` with bytes that only the engine understands. Unknown
    /// bytes, such as those of another platform's engine, decode too, but count as no state. The engine then fetches
    /// from the beginning.
    public struct Serialization: Codable, Sendable {
        /// A content that the engine hands out is converted when it is encoded: an engine hands out its state after
        /// each zone, and the app may keep the last one alone.
        private enum Form: Sendable {
            case live(CKSyncEngine.State.Content)
            case stored(SerializedContent?)
        }

        private var form: Form
        private var content: SerializedContent? {
            switch form {
            case .live(let content): SerializedContent(content)
            case .stored(let content): content
            }
        }

        private enum CodingKeys: String, CodingKey {
            case data
        }

        public init(from decoder: any Decoder) throws {
            let data = try decoder.container(keyedBy: CodingKeys.self).decode(Data.self, forKey: .data)
            form = .stored(try? JSONDecoder().decode(SerializedContent.self, from: data))
        }

        public func encode(to encoder: any Encoder) throws {
            let bytes = JSONEncoder()
            // Sorted keys make equal states encode to equal bytes.
            bytes.outputFormatting = .sortedKeys
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(content.map { try bytes.encode($0) } ?? Data(), forKey: .data)
        }

        init(_ content: CKSyncEngine.State.Content) {
            form = .live(content)
        }

        fileprivate func restore(to content: inout CKSyncEngine.State.Content) {
            self.content?.restore(to: &content)
        }
    }
}

/// The content of a serialization's bytes.
private struct SerializedContent: Codable, Sendable {
    var version = 1
    var databaseToken: String?
    var zones: [Zone]
    var records: [Change]
    var database: [Change]
    var hasPendingUntrackedChanges: Bool
    var userRecordName: String?
    var subscriptionID: String?

    /// The state of a zone.
    struct Zone: Codable, Sendable {
        var name: String
        var owner: String
        /// The change token of the zone; nil if no changes were fetched.
        var token: String?
        /// The token of the zone from before the first send to it, as long as no changes were fetched; nil otherwise.
        var sentSince: String?
        /// Whether the zone has unfetched changes.
        var isUnfetched: Bool
        /// Whether the zone has not appeared in any answer since the database was last fetched from the beginning; nil
        /// stands for false.
        var isDoubtful: Bool?
        /// The names of the unread records; nil for none.
        var unread: [String]?
    }

    /// A pending change, to a record or to a zone.
    struct Change: Codable, Sendable {
        var deletes: Bool
        /// The name of the record; nil for a change to the zone itself.
        var record: String?
        var zone: String
        var owner: String
        /// The raw value of the encryption scope of a zone that is to be saved; nil for any other change.
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
