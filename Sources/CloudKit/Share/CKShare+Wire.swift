import Foundation
import NephosWire
import Synchronization

extension CKShare.ParticipantPermission {
    init(_ permission: SharePermission?) {
        self =
            switch permission {
            case .some(.none): .none
            case .some(.readOnly): .readOnly
            case .some(.readWrite): .readWrite
            case .some(.unknown), nil: .unknown
            }
    }

    var wireValue: SharePermission {
        switch self {
        case .none: .none
        case .readOnly: .readOnly
        case .readWrite: .readWrite
        case .unknown: .unknown
        }
    }
}

extension CKShare.ParticipantRole {
    init(_ role: NephosWire.ParticipantRole?) {
        self =
            switch role {
            case .owner: .owner
            case .administrator: .administrator
            case .privateUser: .privateUser
            case .publicUser: .publicUser
            case .unknown, nil: .unknown
            }
    }

    var wireValue: NephosWire.ParticipantRole {
        switch self {
        case .owner: .owner
        case .administrator: .administrator
        case .privateUser: .privateUser
        case .publicUser: .publicUser
        case .unknown: .unknown
        }
    }
}

extension CKShare.ParticipantAcceptanceStatus {
    init(_ status: AcceptanceStatus?) {
        self =
            switch status {
            case .pending: .pending
            case .accepted: .accepted
            case .removed: .removed
            case .unknown, nil: .unknown
            }
    }
}

extension CKUserIdentity.LookupInfo {
    var wireValue: UserLookupRequest.LookupInfo {
        UserLookupRequest.LookupInfo(
            emailAddress: emailAddress, phoneNumber: phoneNumber, userRecordName: userRecordID?.recordName)
    }

    fileprivate static func make(_ wire: UserLookupRequest.LookupInfo, _ users: WireUsers) -> CKUserIdentity.LookupInfo?
    {
        if let email = wire.emailAddress { return CKUserIdentity.LookupInfo(emailAddress: email) }
        if let phone = wire.phoneNumber { return CKUserIdentity.LookupInfo(phoneNumber: phone) }
        return wire.userRecordName.map { CKUserIdentity.LookupInfo(userRecordID: users.id($0)) }
    }
}

extension CKUserIdentity {
    convenience init(wire: UserIdentityDictionary, _ users: WireUsers) {
        var name: PersonNameComponents?
        if wire.givenName != nil || wire.familyName != nil {
            var components = PersonNameComponents()
            components.givenName = wire.givenName
            components.familyName = wire.familyName
            name = components
        }
        self.init(
            userRecordID: wire.userRecordName.map(users.id),
            lookupInfo: wire.lookupInfo.flatMap { CKUserIdentity.LookupInfo.make($0, users) }, nameComponents: name,
            hasiCloudAccount: wire.hasAccount ?? (wire.userRecordName != nil))
    }

    var wireValue: UserIdentityDictionary {
        UserIdentityDictionary(userRecordName: userRecordID?.recordName, lookupInfo: lookupInfo?.wireValue)
    }
}

extension CKShare.Participant {
    convenience init(wire: ParticipantDictionary, _ users: WireUsers) {
        self.init(
            CKUserIdentity(wire: wire.userIdentity, users), participantID: wire.participantID ?? UUID().uuidString,
            state: State(
                role: CKShare.ParticipantRole(wire.role), permission: CKShare.ParticipantPermission(wire.permission),
                acceptanceStatus: CKShare.ParticipantAcceptanceStatus(wire.acceptanceStatus)),
            details: Details(
                isApprovedRequester: wire.isApprovedRequester,
                dateAdded: wire.dateAdded.map { Timestamp(milliseconds: $0).date },
                hasOneTimeURL: wire.oneTimeGUID != nil))
    }

    var wireValue: ParticipantDictionary {
        ParticipantDictionary(
            participantID: participantID, userIdentity: userIdentity.wireValue, role: role.wireValue,
            permission: permission.wireValue, oneTimeGUID: details.hasOneTimeURL ? "" : nil)
    }
}

extension CKShare.ShareState {
    /// Creates the state of a share from the service's answer.
    init(wire: ShareDictionary, shareID: CKRecord.ID, _ users: WireUsers) {
        url = wire.shortGUID.flatMap(users.shareURL)
        hasKeys = wire.hasKeys
        wantsKeys = wire.wantsKeys
        publicPermission = CKShare.ParticipantPermission(wire.publicPermission)
        participants = wire.participants.map { CKShare.Participant(wire: $0, users) }
        for participant in wire.participants {
            guard let id = participant.participantID, let guid = participant.oneTimeGUID else { continue }
            oneTimeURLs[id] = users.shareURL(guid)
        }
        rootRecordID = wire.rootRecordName.map { CKRecord.ID(unchecked: $0, zoneID: shareID.zoneID) }
        accessRequests = CKShare.AccessRequests(
            allowed: !wire.deniesAccessRequests,
            requesters: wire.requesters.map { CKShare.AccessRequester(CKUserIdentity(wire: $0, users)) },
            blocked: wire.blocked.map { CKShare.BlockedIdentity(CKUserIdentity(wire: $0, users)) })
    }

    /// Keeps one-time URLs available under the participant identifiers that this client generated, although the service
    /// has replaced those identifiers.
    mutating func keepOneTimeIdentifiers(of sent: [CKShare.Participant]) {
        let known = Set(participants.map(\.participantID))
        let former = sent.filter { $0.details.hasOneTimeURL && !known.contains($0.participantID) }
        let sentIDs = Set(sent.map(\.participantID))
        let new = participants.filter { $0.details.hasOneTimeURL && !sentIDs.contains($0.participantID) }
        for (old, new) in zip(former, new) { oneTimeURLs[old.participantID] = oneTimeURLs[new.participantID] }
    }

    /// Keeps the app's objects of the participants that were sent, as a save keeps the object of a record.
    mutating func keepObjects(of sent: [CKShare.Participant], in share: CKShare) {
        participants = participants.map { participant in
            let same = sent.first { $0.participantID == participant.participantID && $0.belong(to: share) }
            guard let same else {
                participant.belong(to: share)
                return participant
            }
            same.renew(from: participant)
            return same
        }
    }
}

extension CKShare {
    /// Returns the properties of the share that a save sends.
    func shareToModify() -> ShareToModify {
        let state = shareState.withLock { $0 }
        var request = ShareToModify(
            publicPermission: state.publicPermission.wireValue, participants: state.participants.map(\.wireValue),
            deniesAccessRequests: !state.accessRequests.allowed)
        if recordChangeTag == nil {
            request.forRecord = state.rootRecordID.map { ShareToModify.Root(recordName: $0.recordName) }
        }
        if !state.accessRequests.requesters.isEmpty || state.accessRequests.isChanged {
            request.requesters = state.accessRequests.requesters.map(\.userIdentity.wireValue)
        }
        if state.accessRequests.isChanged {
            request.blocked = state.accessRequests.blocked.map(\.userIdentity.wireValue)
        }
        return request
    }
}

extension CKShare {
    /// Returns the last component of a share's URL; nil if the URL has none.
    static func shortGUID(_ url: URL) -> String? {
        let last = url.lastPathComponent
        return last.isEmpty || last == "/" ? nil : last
    }
}
