public import Foundation
import Synchronization

extension CKShare {
    /// Whether a participant took the invitation.
    public enum ParticipantAcceptanceStatus: Int, Hashable, Sendable {
        case unknown, pending, accepted, removed
    }

    /// What a participant may do with the shared records.
    public enum ParticipantPermission: Int, Hashable, Sendable {
        case unknown, none, readOnly, readWrite
    }

    /// What a participant is in a share.
    public enum ParticipantRole: Int, Hashable, Sendable {
        case unknown = 0
        case owner = 1
        /// May add and remove participants.
        case administrator = 2
        /// Was invited.
        case privateUser = 3
        /// Came by the share's public URL.
        case publicUser = 4
    }

    /// What a participant is in a share, under its older name.
    @available(*, deprecated, renamed: "CKShare.ParticipantRole")
    public enum ParticipantType: Int, Hashable, Sendable {
        case unknown = 0
        case owner = 1
        case privateUser = 3
        case publicUser = 4
    }

    /// Somebody who takes part in a share (CKShare.Participant, Apple's documentation).
    ///
    /// `CKContainer` makes participants from users' addresses; a share has its owner for a participant.
    public final class Participant: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
        /// The data type of a participant's identifier.
        public typealias ID = String

        struct State: Sendable {
            var role = ParticipantRole.privateUser
            var permission = ParticipantPermission.readOnly
            var acceptanceStatus = ParticipantAcceptanceStatus.pending
        }

        /// Who takes part.
        public let userIdentity: CKUserIdentity
        /// What tells the participant from others of the share.
        public let participantID: CKShare.Participant.ID
        /// Whether the participant asked for access and was let in.
        public let isApprovedRequester: Bool
        /// When the participant was added; nil until the share was saved.
        public let dateAddedToShare: Date?
        // Everything that changes is behind this lock: hence `@unchecked Sendable`, as NSObject is not.
        private let state: Mutex<State>

        init(_ userIdentity: CKUserIdentity, participantID: String = UUID().uuidString, state: State = State()) {
            self.userIdentity = userIdentity
            self.participantID = participantID
            isApprovedRequester = false
            dateAddedToShare = nil
            self.state = Mutex(state)
        }

        /// A participant whom the share's one-time URL, and no address, will identify.
        public class func oneTimeURLParticipant() -> Self {
            .init(CKUserIdentity(hasiCloudAccount: false))
        }

        /// What the participant is in the share; `.privateUser` unless set.
        public var role: CKShare.ParticipantRole {
            get { state.withLock { $0.role } }
            set { state.withLock { $0.role = newValue } }
        }

        /// What the participant is in the share, under its older name.
        @available(*, deprecated, renamed: "role")
        public var type: CKShare.ParticipantType {
            get { CKShare.ParticipantType(rawValue: role.rawValue) ?? .privateUser }
            set { role = CKShare.ParticipantRole(rawValue: newValue.rawValue) ?? .unknown }
        }

        /// Whether the participant took the invitation.
        public var acceptanceStatus: CKShare.ParticipantAcceptanceStatus { state.withLock { $0.acceptanceStatus } }

        /// What the participant may do; `.readOnly` unless set.
        public var permission: CKShare.ParticipantPermission {
            get { state.withLock { $0.permission } }
            set { state.withLock { $0.permission = newValue } }
        }

        public static var supportsSecureCoding: Bool { true }

        public init?(coder: NSCoder) {
            guard let userIdentity = coder.object(of: CKUserIdentity.self, forKey: ArchiveKey.participantIdentity),
                let participantID = coder.string(forKey: ArchiveKey.participantID)
            else { return nil }
            func value<Value: RawRepresentable<Int>>(_ key: String, _ unknown: Value) -> Value {
                Value(rawValue: coder.decodeInteger(forKey: key)) ?? unknown
            }
            self.userIdentity = userIdentity
            self.participantID = participantID
            isApprovedRequester = false
            dateAddedToShare = nil
            state = Mutex(
                State(
                    role: value(ArchiveKey.participantRole, .unknown),
                    permission: value(ArchiveKey.participantPermission, .unknown),
                    acceptanceStatus: value(ArchiveKey.participantAcceptanceStatus, .unknown)))
        }

        public func encode(with coder: NSCoder) {
            let state = self.state.withLock { $0 }
            coder.encode(userIdentity, forKey: ArchiveKey.participantIdentity)
            coder.encode(participantID as NSString, forKey: ArchiveKey.participantID)
            coder.encode(state.role.rawValue, forKey: ArchiveKey.participantRole)
            coder.encode(state.permission.rawValue, forKey: ArchiveKey.participantPermission)
            coder.encode(state.acceptanceStatus.rawValue, forKey: ArchiveKey.participantAcceptanceStatus)
        }

        public override var classForKeyedArchiver: AnyClass? { ArchivedClass.participant.archiverClass }

        public func copy(with zone: NSZone? = nil) -> Any { copied() }

        func copied() -> Participant {
            Participant(userIdentity, participantID: participantID, state: state.withLock { $0 })
        }

        /// Participants are equal that have one `participantID`; what they may do does not count.
        public override func isEqual(_ object: Any?) -> Bool {
            (object as? CKShare.Participant)?.participantID == participantID
        }

        public override var hash: Int { participantID.hashValue }

        public override var description: String {
            "<CKShareParticipant: \(address(of: self)); participantID=\(participantID), role=\(role), "
                + "permission=\(permission), acceptanceStatus=\(acceptanceStatus), identity=\(userIdentity)>"
        }

        public override var debugDescription: String { description }
    }
}
