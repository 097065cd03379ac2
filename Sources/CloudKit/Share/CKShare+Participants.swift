public import Foundation
import Synchronization

extension CKShare {
    /// Adds a participant, or updates the participant who is the same user: sets its permission, and its role if the role
    /// of the added one is `.administrator`. Status, identity and `participantID` stay (`addParticipant(_:)`, Apple's
    /// documentation).
    ///
    /// The program stops if the share is public, if the participant is the owner, or if the participant joined by the
    /// public URL.
    public func addParticipant(_ participant: CKShare.Participant) {
        requirePrivate("add")
        raise(
            unless: participant.role != .owner && participant.role != .publicUser,
            "CKShare: a participant with the role \(participant.role) cannot be added.")
        shareState.withLock { state in
            guard let known = state.participants.first(where: { $0 == participant }) else {
                state.participants.append(participant)
                return
            }
            if known.role == .owner { return }
            known.permission = participant.permission
            if participant.role == .administrator { known.role = .administrator }
        }
    }

    /// Removes a participant. Does nothing if the participant is the owner. The program stops if the share is public.
    public func removeParticipant(_ participant: CKShare.Participant) {
        requirePrivate("remove")
        shareState.withLock { state in
            state.participants.removeAll { $0 == participant && $0.role != .owner }
        }
    }

    /// Returns the URL by which a participant from `oneTimeURLParticipant()` joins once; nil until the share is saved.
    public func oneTimeURL(for participantID: CKShare.Participant.ID) -> URL? {
        shareState.withLock { $0.oneTimeURLs[participantID] }
    }

    private func requirePrivate(_ verb: String) {
        raise(
            unless: publicPermission == .none,
            "CKShare: to \(verb) participants, publicPermission must be .none: a share is public or by invitation.")
    }
}

extension CKShare.ShareState {
    /// Returns a copy that has its own copies of the participants.
    func copied() -> CKShare.ShareState {
        var copy = self
        copy.participants = participants.map { $0.copied() }
        return copy
    }
}

extension CKShare.Participant {
    /// A participant for the current user as the owner of a new share.
    static var currentUser: CKShare.Participant {
        CKShare.Participant(
            .currentUser, state: State(role: .owner, permission: .readWrite, acceptanceStatus: .accepted))
    }

    /// A participant's answer to the invitation.
    public typealias AcceptanceStatus = CKShare.ParticipantAcceptanceStatus
    /// A participant's permission on the shared records.
    public typealias Permission = CKShare.ParticipantPermission
    /// The role of a participant in the share.
    public typealias Role = CKShare.ParticipantRole
    @available(*, deprecated, renamed: "CKShare.ParticipantRole")
    public typealias ParticipantType = CKShare.ParticipantType
}
