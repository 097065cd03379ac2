public import Foundation
import Synchronization

extension CKShare {
    /// Whether a participant took the invitation.
    public enum ParticipantAcceptanceStatus: Int, Hashable, Sendable, BitwiseCopyable {
        /// The service has not said yet.
        case unknown
        /// Was invited, and has not answered.
        case pending
        /// Takes part.
        case accepted
        /// Was taken out of the share, or left it.
        case removed
    }

    /// What a participant may do with the shared records.
    public enum ParticipantPermission: Int, Hashable, Sendable, BitwiseCopyable {
        /// The service has not said yet.
        case unknown
        /// Nothing.
        case none
        /// Fetch and query.
        case readOnly
        /// Fetch, query, save and delete.
        case readWrite
    }

    /// What a participant is in a share.
    public enum ParticipantRole: Int, Hashable, Sendable, BitwiseCopyable {
        /// The service has not said yet.
        case unknown = 0
        /// Whose records they are.
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
    public enum ParticipantType: Int, Hashable, Sendable, BitwiseCopyable {
        /// The service has not said yet.
        case unknown = 0
        /// Whose records they are.
        case owner = 1
        /// Was invited.
        case privateUser = 3
        /// Came by the share's public URL.
        case publicUser = 4
    }

    /// A participant of a share (CKShare.Participant, Apple's documentation).
    ///
    /// `CKContainer` makes participants from users' addresses; a share has its owner for a participant.
    open class Participant: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
        /// The data type of a participant's identifier.
        public typealias ID = String

        struct State: Sendable {
            var role = ParticipantRole.privateUser
            var permission = ParticipantPermission.readOnly
            var acceptanceStatus = ParticipantAcceptanceStatus.pending
        }

        /// What the service alone says of a participant.
        struct Details: Sendable {
            var isApprovedRequester = false
            var dateAdded: Date?
            /// Whether a one-time URL identifies the participant, and no address.
            var hasOneTimeURL = false
        }

        let details: Details
        private let identity: CKUserIdentity
        private let identifier: String
        // Everything that changes is behind this lock: hence `@unchecked Sendable`, as NSObject is not.
        private let state: Mutex<State>

        init(
            _ userIdentity: CKUserIdentity, participantID: String = UUID().uuidString, state: State = State(),
            details: Details = Details()
        ) {
            self.details = details
            identity = userIdentity
            identifier = participantID
            self.state = Mutex(state)
        }

        /// Who takes part.
        open var userIdentity: CKUserIdentity { identity }
        /// What tells the participant from others of the share.
        open var participantID: CKShare.Participant.ID { identifier }
        /// Whether the participant asked for access and was let in.
        open var isApprovedRequester: Bool { details.isApprovedRequester }
        /// When the participant was added; nil until the share was saved.
        open var dateAddedToShare: Date? { details.dateAdded }

        /// A participant whom the share's one-time URL, and no address, will identify.
        public class func oneTimeURLParticipant() -> Self {
            guard
                let made = Participant(
                    CKUserIdentity(hasiCloudAccount: false), details: Details(hasOneTimeURL: true)) as? Self
            else {
                raise("CKShare.Participant: a subclass has no one-time URL participants.")
            }
            return made
        }

        /// What the participant is in the share; `.privateUser` unless set.
        open var role: CKShare.ParticipantRole {
            get { state.withLock { $0.role } }
            set { state.withLock { $0.role = newValue } }
        }

        /// What the participant is in the share, under its older name.
        @available(*, deprecated, renamed: "role")
        open var type: CKShare.ParticipantType {
            get { CKShare.ParticipantType(rawValue: role.rawValue) ?? .privateUser }
            set { role = CKShare.ParticipantRole(rawValue: newValue.rawValue) ?? .unknown }
        }

        /// Whether the participant took the invitation.
        open var acceptanceStatus: CKShare.ParticipantAcceptanceStatus { state.withLock { $0.acceptanceStatus } }

        /// What the participant may do; `.readOnly` unless set.
        open var permission: CKShare.ParticipantPermission {
            get { state.withLock { $0.permission } }
            set { state.withLock { $0.permission = newValue } }
        }

        open class var supportsSecureCoding: Bool { true }

        /// Restores what the archive has: Apple's framework makes a participant of an archive without any of it, too.
        public required init?(coder: NSCoder) {
            details = Details()
            identity =
                coder.object(of: CKUserIdentity.self, forKey: ArchiveKey.participantIdentity)
                ?? CKUserIdentity(hasiCloudAccount: false)
            identifier = coder.string(forKey: ArchiveKey.participantID) ?? UUID().uuidString
            state = Mutex(
                State(
                    role: coder.value(forKey: ArchiveKey.participantRole) ?? .unknown,
                    permission: coder.value(forKey: ArchiveKey.participantPermission) ?? .unknown,
                    acceptanceStatus: coder.value(forKey: ArchiveKey.participantAcceptanceStatus) ?? .unknown))
        }

        open func encode(with coder: NSCoder) {
            let state = self.state.withLock { $0 }
            coder.encode(userIdentity, forKey: ArchiveKey.participantIdentity)
            coder.encode(participantID as NSString, forKey: ArchiveKey.participantID)
            coder.encode(state.role.rawValue, forKey: ArchiveKey.participantRole)
            coder.encode(state.permission.rawValue, forKey: ArchiveKey.participantPermission)
            coder.encode(state.acceptanceStatus.rawValue, forKey: ArchiveKey.participantAcceptanceStatus)
        }

        open override var classForKeyedArchiver: AnyClass? { ArchivedClass.participant.archiverClass(for: self) }

        open func copy(with zone: NSZone? = nil) -> Any { copied() }

        func copied() -> Participant {
            Participant(
                userIdentity, participantID: participantID, state: state.withLock { $0 }, details: details)
        }

        /// Participants are equal that are one person: that have one `participantID`, or whose identities have one user
        /// record ID or were looked up by the same; what they may do does not count (isEqual(_:) of
        /// CKShare.Participant, Apple's documentation).
        open override func isEqual(_ object: Any?) -> Bool {
            guard let other = object as? CKShare.Participant else { return false }
            let (mine, theirs) = (userIdentity, other.userIdentity)
            return participantID == other.participantID
                || mine.userRecordID != nil && mine.userRecordID == theirs.userRecordID
                || mine.lookupInfo != nil && mine.lookupInfo == theirs.lookupInfo
        }

        // The same for all, as any one of three things makes two participants equal; a share has 100 at most.
        open override var hash: Int { 0 }

        open override var description: String {
            "<CKShareParticipant: \(address(of: self)); participantID=\(participantID), role=\(role), "
                + "permission=\(permission), acceptanceStatus=\(acceptanceStatus), identity=\(userIdentity)>"
        }

        open override var debugDescription: String { description }
    }
}
