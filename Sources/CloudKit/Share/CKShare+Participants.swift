public import Foundation
import Synchronization

extension CKShare {
    /// Adds a participant, or puts it in the place of the one of the same user.
    ///
    /// The program stops where the share is public, or the participant is its owner or came by its public URL.
    public func addParticipant(_ participant: CKShare.Participant) {
        requirePrivate("add")
        raise(
            unless: participant.role != .owner && participant.role != .publicUser,
            "CKShare: a participant with the role \(participant.role) cannot be added.")
        shareState.withLock { state in
            let index = state.participants.firstIndex { $0 == participant }
            if let index { state.participants[index] = participant } else { state.participants.append(participant) }
        }
    }

    /// Takes a participant out of the share. The program stops where the share is public.
    public func removeParticipant(_ participant: CKShare.Participant) {
        requirePrivate("remove")
        shareState.withLock { state in
            state.participants.removeAll { $0 == participant && $0.role != .owner }
        }
    }

    /// Where a participant made by `oneTimeURLParticipant()` joins, once; nil until the share was saved.
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
    /// A copy with participants of its own.
    func copied() -> CKShare.ShareState {
        var copy = self
        copy.participants = participants.map { $0.copied() }
        return copy
    }
}

extension CKShare.Participant {
    /// The current user as the owner of a new share.
    static var currentUser: CKShare.Participant {
        CKShare.Participant(
            .currentUser, state: State(role: .owner, permission: .readWrite, acceptanceStatus: .accepted))
    }

    /// Whether the invitation was taken.
    public typealias AcceptanceStatus = CKShare.ParticipantAcceptanceStatus
    /// What may be done with the records.
    public typealias Permission = CKShare.ParticipantPermission
    /// A participant's role in the share.
    public typealias Role = CKShare.ParticipantRole
    @available(*, deprecated, renamed: "CKShare.ParticipantRole")
    public typealias ParticipantType = CKShare.ParticipantType
}
