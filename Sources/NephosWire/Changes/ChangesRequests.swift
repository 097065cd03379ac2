/// The request of `changes/zone` (CloudKit Web Services): the changes of several zones, each since a token.
package struct RecordZoneChangesRequest: Hashable, Sendable {
    package struct Zone: Hashable, Sendable {
        package var zoneID: ZoneIDDictionary
        /// The token of the last fetch; nil to fetch from the beginning.
        package var syncToken: String?
        /// The maximum number of records per zone in the answer; nil leaves the limit to the service.
        package var resultsLimit: Int?
        package var desiredKeys: [String]?
        /// The types of the records to return; nil for all types.
        package var desiredRecordTypes: [String]?
        package var numbersAsStrings: Bool
        /// Whether the newest change comes first.
        package var reverse: Bool
        /// Our addition, `nephosFetchEnd` on the wire: the `fetchEnd` of the previous page. With it, a fetch of several
        /// pages returns no record twice. Without it, the fetch returns a record again that changes meanwhile.
        package var fetchEnd: String?
        /// Our addition, `nephosPacked` on the wire: whether the answer returns the records as `PackedRecords`. A page
        /// then has more records.
        package var packed: Bool
        /// Our addition, `nephosDeletionsSince` on the wire: the zone's `syncToken` before the client's first save to
        /// the zone. The client's first fetch, which has no token of its own, then reports the deletions since that
        /// token.
        package var deletionsSince: String?

        package init(
            zoneID: ZoneIDDictionary, syncToken: String? = nil, resultsLimit: Int? = nil, desiredKeys: [String]? = nil,
            desiredRecordTypes: [String]? = nil, numbersAsStrings: Bool = false, reverse: Bool = false,
            fetchEnd: String? = nil, packed: Bool = false, deletionsSince: String? = nil
        ) {
            self.zoneID = zoneID
            self.syncToken = syncToken
            self.resultsLimit = resultsLimit
            self.desiredKeys = desiredKeys
            self.desiredRecordTypes = desiredRecordTypes
            self.numbersAsStrings = numbersAsStrings
            self.reverse = reverse
            self.fetchEnd = fetchEnd
            self.packed = packed
            self.deletionsSince = deletionsSince
        }
    }

    package var zones: [Zone]

    package init(zones: [Zone]) { self.zones = zones }
}

/// The changes of one zone.
package struct RecordZoneChanges: Hashable, Sendable {
    package var zoneID: ZoneIDDictionary
    /// The changed records, each once in its newest state, oldest change first. Deleted records appear as deletions.
    package var records: [RecordResult]
    package var syncToken: String
    package var moreComing: Bool
    /// Our addition, `clientChangeToken` on the wire: the client's data in the zone's newest `records/modify`, in
    /// base64.
    package var clientChangeToken: String?
    /// Our addition, `nephosFetchEnd` on the wire: the position at which the whole fetch ends, for the request of the
    /// next page. Nil on the last page.
    package var fetchEnd: String?

    /// The encoded JSON array of the records. If it is not nil, `records` is empty. A server fills it, because the
    /// server encodes records while it reads them.
    package var encodedRecords: JSONBytes?
    /// The records as `PackedRecords`. If they are not nil, `records` contains only the shares.
    package var packedRecords: PackedRecords?

    package init(
        zoneID: ZoneIDDictionary, records: [RecordResult], syncToken: String, moreComing: Bool,
        clientChangeToken: String? = nil, fetchEnd: String? = nil
    ) {
        self.zoneID = zoneID
        self.records = records
        self.syncToken = syncToken
        self.moreComing = moreComing
        self.clientChangeToken = clientChangeToken
        self.fetchEnd = fetchEnd
    }
}

/// The answer of `changes/zone`: one result per zone, in the request's order.
package struct RecordZoneChangesResponse: Hashable, Sendable {
    package enum Zone: Hashable, Sendable {
        case changes(RecordZoneChanges)
        case failure(ErrorDictionary)
    }

    package var zones: [Zone]

    package init(zones: [Zone]) { self.zones = zones }
}

/// The request of `records/changes`, the older form of `changes/zone` for one zone.
package struct RecordChangesRequest: Hashable, Sendable {
    package var zone: RecordZoneChangesRequest.Zone
    package init(zone: RecordZoneChangesRequest.Zone) { self.zone = zone }
}

package struct RecordChangesResponse: Hashable, Sendable {
    package var changes: RecordZoneChanges
    package init(changes: RecordZoneChanges) { self.changes = changes }
}

/// The request of `changes/database`: the zones that changed since a token. `zones/changes` is the same with another
/// key for the token.
package struct DatabaseChangesRequest: Hashable, Sendable {
    package var syncToken: String?
    package var resultsLimit: Int?
    /// Our addition, `nephosFetchEnd` on the wire: the `fetchEnd` of the previous page, as in
    /// `RecordZoneChangesRequest`.
    package var fetchEnd: String?

    package init(syncToken: String? = nil, resultsLimit: Int? = nil, fetchEnd: String? = nil) {
        self.syncToken = syncToken
        self.resultsLimit = resultsLimit
        self.fetchEnd = fetchEnd
    }
}

package struct DatabaseChangesResponse: Hashable, Sendable {
    /// The changed and deleted zones, each once, oldest change first.
    package var zones: [ZoneDictionary]
    package var syncToken: String
    package var moreComing: Bool
    /// Our addition, `nephosFetchEnd` on the wire: the position at which the whole fetch ends, as in
    /// `RecordZoneChanges`.
    package var fetchEnd: String?

    package init(zones: [ZoneDictionary], syncToken: String, moreComing: Bool, fetchEnd: String? = nil) {
        self.zones = zones
        self.syncToken = syncToken
        self.moreComing = moreComing
        self.fetchEnd = fetchEnd
    }
}
