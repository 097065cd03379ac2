/// The request of `records/resolve` and `records/accept` of CloudKit Web Services: the last components of shares' URLs.
package struct ShortGUIDsRequest: Hashable, Sendable {
    /// A short GUID dictionary.
    package struct Item: Hashable, Sendable {
        package var value: String
        package var shouldFetchRootRecord: Bool
        /// The fields of the root record to return; nil for all fields.
        package var rootRecordDesiredKeys: [String]?

        package init(value: String, shouldFetchRootRecord: Bool = false, rootRecordDesiredKeys: [String]? = nil) {
            self.value = value
            self.shouldFetchRootRecord = shouldFetchRootRecord
            self.rootRecordDesiredKeys = rootRecordDesiredKeys
        }
    }

    package var shortGUIDs: [Item]

    package init(shortGUIDs: [Item]) { self.shortGUIDs = shortGUIDs }
}

/// The information about a share before its acceptance (CloudKit Web Services, Record Info Dictionary).
package struct RecordInfo: Hashable, Sendable {
    package var shortGUID: ShortGUIDsRequest.Item
    package var containerIdentifier: String
    /// The environment of the container: `DEVELOPMENT` or `PRODUCTION`.
    package var environment: String
    /// The scope of the database in which the caller sees the share: `SHARED` for a participant, `PRIVATE` for the
    /// owner.
    package var databaseScope: String
    package var zoneID: ZoneIDDictionary
    package var share: RecordDictionary
    /// The record name of the hierarchy's root; nil if the whole zone is shared.
    package var rootRecordName: String?
    package var rootRecord: RecordDictionary?
    package var ownerIdentity: UserIdentityDictionary
    package var participantRole: ParticipantRole
    package var participantStatus: AcceptanceStatus
    package var participantPermission: SharePermission

    package init(
        shortGUID: ShortGUIDsRequest.Item, containerIdentifier: String, environment: String, databaseScope: String,
        zoneID: ZoneIDDictionary, share: RecordDictionary, rootRecordName: String?, rootRecord: RecordDictionary?,
        ownerIdentity: UserIdentityDictionary, participantRole: ParticipantRole, participantStatus: AcceptanceStatus,
        participantPermission: SharePermission
    ) {
        self.shortGUID = shortGUID
        self.containerIdentifier = containerIdentifier
        self.environment = environment
        self.databaseScope = databaseScope
        self.zoneID = zoneID
        self.share = share
        self.rootRecordName = rootRecordName
        self.rootRecord = rootRecord
        self.ownerIdentity = ownerIdentity
        self.participantRole = participantRole
        self.participantStatus = participantStatus
        self.participantPermission = participantPermission
    }
}

/// An element of the `results` array of `records/resolve` and `records/accept`.
package enum RecordInfoResult: Hashable, Sendable {
    case info(RecordInfo)
    case failure(ErrorDictionary)
}

/// The answer of `records/resolve` and `records/accept`: one result for each short GUID, in the request's order.
package struct RecordInfosResponse: Hashable, Sendable {
    package var results: [RecordInfoResult]

    package init(results: [RecordInfoResult]) { self.results = results }
}
