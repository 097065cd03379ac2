/// A participant's permission on shared records (`CKShare.ParticipantPermission`, Apple's documentation).
package enum SharePermission: String, Hashable, Sendable, CaseIterable {
    case unknown = "UNKNOWN"
    case none = "NONE"
    case readOnly = "READ_ONLY"
    case readWrite = "READ_WRITE"
}

/// A participant's role in a share (`CKShare.ParticipantRole`, Apple's documentation).
package enum ParticipantRole: String, Hashable, Sendable, CaseIterable {
    case unknown = "UNKNOWN"
    case owner = "OWNER"
    case administrator = "ADMINISTRATOR"
    case privateUser = "PRIVATE_USER"
    case publicUser = "PUBLIC_USER"
}

/// A participant's answer to the invitation (`CKShare.ParticipantAcceptanceStatus`, Apple's documentation).
package enum AcceptanceStatus: String, Hashable, Sendable, CaseIterable {
    case unknown = "UNKNOWN"
    case pending = "PENDING"
    case accepted = "ACCEPTED"
    case removed = "REMOVED"
}

/// A user as seen by other users (CloudKit Web Services, User Identity Dictionary).
package struct UserIdentityDictionary: Hashable, Sendable {
    package var userRecordName: String?
    package var lookupInfo: UserLookupRequest.LookupInfo?
    package var givenName: String?
    package var familyName: String?
    /// Our addition, `nephosHasAccount` on the wire: whether the user has an account. If nil, this follows from
    /// `userRecordName`.
    package var hasAccount: Bool?

    package init(
        userRecordName: String? = nil, lookupInfo: UserLookupRequest.LookupInfo? = nil, givenName: String? = nil,
        familyName: String? = nil, hasAccount: Bool? = nil
    ) {
        self.userRecordName = userRecordName
        self.lookupInfo = lookupInfo
        self.givenName = givenName
        self.familyName = familyName
        self.hasAccount = hasAccount
    }
}

/// A participant of a share (CloudKit Web Services, Share Participant Dictionary).
package struct ParticipantDictionary: Hashable, Sendable {
    package var participantID: String?
    package var userIdentity: UserIdentityDictionary
    /// The participant's role. In a request, `role`, `permission` and the acceptance status are nil if the service
    /// chooses them.
    package var role: ParticipantRole?
    package var permission: SharePermission?
    package var acceptanceStatus: AcceptanceStatus?
    package var isApprovedRequester: Bool
    /// Our addition, `nephosDateAdded` on the wire: the time at which the participant was added, in milliseconds since
    /// 1970.
    package var dateAdded: Int64?
    /// Our addition, `nephosOneTimeGUID` on the wire: the last component of the participant's one-time URL. An empty
    /// string in a request asks for such a URL.
    package var oneTimeGUID: String?

    package init(
        participantID: String? = nil, userIdentity: UserIdentityDictionary = UserIdentityDictionary(),
        role: ParticipantRole? = nil, permission: SharePermission? = nil, acceptanceStatus: AcceptanceStatus? = nil,
        isApprovedRequester: Bool = false, dateAdded: Int64? = nil, oneTimeGUID: String? = nil
    ) {
        self.participantID = participantID
        self.userIdentity = userIdentity
        self.role = role
        self.permission = permission
        self.acceptanceStatus = acceptanceStatus
        self.isApprovedRequester = isApprovedRequester
        self.dateAdded = dateAdded
        self.oneTimeGUID = oneTimeGUID
    }
}
