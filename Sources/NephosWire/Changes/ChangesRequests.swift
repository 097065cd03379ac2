/// `changes/zone` (CloudKit Web Services): the changes of several zones, each since a token.
package struct RecordZoneChangesRequest: Hashable, Sendable {
    package struct Zone: Hashable, Sendable {
        package var zoneID: ZoneIDDictionary
        /// The position after the last fetch; nil for the beginning.
        package var syncToken: String?
        /// The maximum number of records; nil leaves it to the service.
        package var resultsLimit: Int?
        package var desiredKeys: [String]?
        /// Only records of these types are sent; nil for all.
        package var desiredRecordTypes: [String]?
        package var numbersAsStrings: Bool
        /// Newest first.
        package var reverse: Bool
        /// Our addition, `nephosFetchEnd` on the wire: the `fetchEnd` of the previous page. With it a fetch of several
        /// pages returns no record twice; without it, a record that changes during the fetch is returned again.
        package var fetchEnd: String?
        /// Our addition, `nephosPacked` on the wire: requests the records as `PackedRecords`, with more records in a
        /// page.
        package var packed: Bool
        /// Our addition, `nephosDeletionsSince` on the wire: the zone's `syncToken` before the client's first save to
        /// it. Its first fetch, which has no token of its own, then reports deletions since.
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
    /// Each record once, in its newest state, oldest change first; deleted records as such.
    package var records: [RecordResult]
    package var syncToken: String
    package var moreComing: Bool
    /// Our addition, `clientChangeToken` on the wire: the data of the zone's newest `records/modify`, in base64.
    package var clientChangeToken: String?
    /// Our addition, `nephosFetchEnd` on the wire: the end of this page's fetch, for the request of the next page. Nil
    /// on the last.
    package var fetchEnd: String?

    /// The JSON array `records`, instead of `records`, which is then empty: a server writes records while it reads
    /// them.
    package var encodedRecords: JSONBytes?
    /// The records as `PackedRecords`, instead of `records`, which then has only the shares.
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

/// The answer of `changes/zone`: one result per zone of the request, in its order.
package struct RecordZoneChangesResponse: Hashable, Sendable {
    package enum Zone: Hashable, Sendable {
        case changes(RecordZoneChanges)
        case failure(ErrorDictionary)
    }

    package var zones: [Zone]

    package init(zones: [Zone]) { self.zones = zones }
}

/// `records/changes`, the older form, for one zone.
package struct RecordChangesRequest: Hashable, Sendable {
    package var zone: RecordZoneChangesRequest.Zone
    package init(zone: RecordZoneChangesRequest.Zone) { self.zone = zone }
}

package struct RecordChangesResponse: Hashable, Sendable {
    package var changes: RecordZoneChanges
    package init(changes: RecordZoneChanges) { self.changes = changes }
}

/// `changes/database`, and `zones/changes` with its own name for the token: the zones that changed since a token.
package struct DatabaseChangesRequest: Hashable, Sendable {
    package var syncToken: String?
    package var resultsLimit: Int?
    /// Our addition, `nephosFetchEnd` on the wire, as for a zone.
    package var fetchEnd: String?

    package init(syncToken: String? = nil, resultsLimit: Int? = nil, fetchEnd: String? = nil) {
        self.syncToken = syncToken
        self.resultsLimit = resultsLimit
        self.fetchEnd = fetchEnd
    }
}

package struct DatabaseChangesResponse: Hashable, Sendable {
    /// Changed and deleted zones, each once, oldest change first.
    package var zones: [ZoneDictionary]
    package var syncToken: String
    package var moreComing: Bool
    /// Our addition, `nephosFetchEnd` on the wire, as for a zone.
    package var fetchEnd: String?

    package init(zones: [ZoneDictionary], syncToken: String, moreComing: Bool, fetchEnd: String? = nil) {
        self.zones = zones
        self.syncToken = syncToken
        self.moreComing = moreComing
        self.fetchEnd = fetchEnd
    }
}
