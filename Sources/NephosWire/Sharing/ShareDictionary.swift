/// The additional members of a share's record in a response (CloudKit Web Services, Share Dictionary). Members that the
/// caller may not see are left out.
package struct ShareDictionary: Hashable, Sendable {
    package var shortGUID: String?
    package var publicPermission: SharePermission
    /// Includes the owner.
    package var participants: [ParticipantDictionary]
    package var owner: ParticipantDictionary?
    package var currentUserParticipant: ParticipantDictionary?
    /// Whether access requests are denied: `denyAccessRequests` on the wire.
    package var deniesAccessRequests: Bool
    package var requesters: [UserIdentityDictionary]
    package var blocked: [UserIdentityDictionary]
    /// Our addition, `nephosRootRecordName` on the wire: the hierarchy's root record; nil if the zone is shared.
    package var rootRecordName: String?
    /// Our addition, `nephosHasKeys` on the wire: whether it shares encrypted values.
    package var hasKeys = false
    /// Our addition, `nephosWantsKeys` on the wire, for the owner: whether its keys need repair.
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

/// The additional members of a share's record in a request. Nil leaves a property unchanged.
package struct ShareToModify: Hashable, Sendable {
    /// The root record of a new share's hierarchy.
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
