/// The additional members of a share's record in a response (CloudKit Web Services, Share Dictionary). Members that the
/// caller has no permission to see are omitted.
package struct ShareDictionary: Hashable, Sendable {
    package var shortGUID: String?
    package var publicPermission: SharePermission
    /// The share's participants, the owner included.
    package var participants: [ParticipantDictionary]
    package var owner: ParticipantDictionary?
    package var currentUserParticipant: ParticipantDictionary?
    /// Whether the share denies access requests: `denyAccessRequests` on the wire.
    package var deniesAccessRequests: Bool
    package var requesters: [UserIdentityDictionary]
    package var blocked: [UserIdentityDictionary]
    /// Our addition, `nephosRootRecordName` on the wire: the record name of the shared hierarchy's root; nil if the
    /// zone is shared.
    package var rootRecordName: String?
    /// Our addition, `nephosHasKeys` on the wire: whether the share includes encrypted values.
    package var hasKeys = false
    /// Our addition, `nephosWantsKeys` on the wire, sent to the owner: whether the share's keys need repair.
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

/// The additional members of a share's record in a request. A member that is nil leaves the property unchanged.
package struct ShareToModify: Hashable, Sendable {
    /// The root record of a new share's hierarchy.
    package struct Root: Hashable, Sendable {
        package var recordName: String
        /// The change tag of the root record. If the request has it, the root need not be among the request's
        /// operations.
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
    /// Our addition, `nephosParticipants` on the wire: the next signed list of the share's participants
    /// (`ParticipantList`). The service then uses the request's identifiers for the participants that the list names.
    package var signedParticipants: [UInt8]?

    /// The maximum number of participants, requesters and blocked accounts that all shares of a request list.
    package static let listedPerRequest = 2000
    /// The number of participants, requesters and blocked accounts that the save lists.
    package var listedCount: Int { (participants?.count ?? 0) + (requesters?.count ?? 0) + (blocked?.count ?? 0) }

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
