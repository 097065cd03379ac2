/// What the record of a share has besides a record's own keys, as a response carries it (CloudKit Web Services, Share
/// Dictionary). What a caller may not see is not in it.
package struct ShareDictionary: Hashable, Sendable {
    package var shortGUID: String?
    package var publicPermission: SharePermission
    /// The owner is one of them.
    package var participants: [ParticipantDictionary]
    package var owner: ParticipantDictionary?
    package var currentUserParticipant: ParticipantDictionary?
    /// Whether requests for access are turned away: `denyAccessRequests` on the wire.
    package var deniesAccessRequests: Bool
    package var requesters: [UserIdentityDictionary]
    package var blocked: [UserIdentityDictionary]
    /// Our addition, `nephosRootRecordName` on the wire: the record at the top of the hierarchy; nil where the zone is shared.
    package var rootRecordName: String?
    /// Our addition, `nephosHasKeys` on the wire: whether encrypted values are shared by it.
    package var hasKeys = false
    /// Our addition, `nephosWantsKeys` on the wire, for the owner: whether its keys have to be seen to.
    package var wantsKeys = false

    package init(
        shortGUID: String? = nil, publicPermission: SharePermission, participants: [ParticipantDictionary],
        owner: ParticipantDictionary? = nil, currentUserParticipant: ParticipantDictionary? = nil,
        deniesAccessRequests: Bool = true, requesters: [UserIdentityDictionary] = [],
        blocked: [UserIdentityDictionary] = [], rootRecordName: String? = nil
    ) {
        self.shortGUID = shortGUID
        self.publicPermission = publicPermission
        self.participants = participants
        self.owner = owner
        self.currentUserParticipant = currentUserParticipant
        self.deniesAccessRequests = deniesAccessRequests
        self.requesters = requesters
        self.blocked = blocked
        self.rootRecordName = rootRecordName
    }
}

/// The same of a request: what the client wishes the share to be. Nil leaves a thing as it is.
package struct ShareToModify: Hashable, Sendable {
    /// The record at the top of the hierarchy that a new share is of.
    package struct Root: Hashable, Sendable {
        package var recordName: String
        /// With it the record need not be among the request's operations.
        package var recordChangeTag: String?

        package init(recordName: String, recordChangeTag: String? = nil) {
            self.recordName = recordName
            self.recordChangeTag = recordChangeTag
        }
    }

    package var forRecord: Root?
    package var publicPermission: SharePermission?
    package var participants: [ParticipantDictionary]?
    package var deniesAccessRequests: Bool?
    package var requesters: [UserIdentityDictionary]?
    package var blocked: [UserIdentityDictionary]?

    package init(
        forRecord: Root? = nil, publicPermission: SharePermission? = nil, participants: [ParticipantDictionary]? = nil,
        deniesAccessRequests: Bool? = nil, requesters: [UserIdentityDictionary]? = nil,
        blocked: [UserIdentityDictionary]? = nil
    ) {
        self.forRecord = forRecord
        self.publicPermission = publicPermission
        self.participants = participants
        self.deniesAccessRequests = deniesAccessRequests
        self.requesters = requesters
        self.blocked = blocked
    }
}
