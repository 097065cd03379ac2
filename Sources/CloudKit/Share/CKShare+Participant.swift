public import Foundation
import Synchronization

extension CKShare {
    /// A participant's answer to the invitation.
    public enum ParticipantAcceptanceStatus: Int, Hashable, Sendable, BitwiseCopyable {
        /// The service has not reported the status yet.
        case unknown
        /// The participant was invited and has not answered.
        case pending
        /// The participant accepted the invitation.
        case accepted
        /// The participant was removed from the share, or left it.
        case removed
    }

    /// A participant's permission on the shared records.
    public enum ParticipantPermission: Int, Hashable, Sendable, BitwiseCopyable {
        /// The service has not reported the permission yet.
        case unknown
        /// The participant has no access.
        case none
        /// The participant may fetch and query records.
        case readOnly
        /// The participant may fetch, query, save and delete records.
        case readWrite
    }

    /// The role of a participant in a share.
    public enum ParticipantRole: Int, Hashable, Sendable, BitwiseCopyable {
        /// The service has not reported the role yet.
        case unknown = 0
        /// The owner of the shared records.
        case owner = 1
        /// A participant who may add and remove participants.
        case administrator = 2
        /// An invited participant.
        case privateUser = 3
        /// A participant who joined by the share's public URL.
        case publicUser = 4
    }

    /// The role of a participant in a share, under its former name.
    @available(*, deprecated, renamed: "CKShare.ParticipantRole")
    public enum ParticipantType: Int, Hashable, Sendable, BitwiseCopyable {
        /// The service has not reported the role yet.
        case unknown = 0
        /// The owner of the shared records.
        case owner = 1
        /// An invited participant.
        case privateUser = 3
        /// A participant who joined by the share's public URL.
        case publicUser = 4
    }

    /// A participant of a share (CKShare.Participant, Apple's documentation).
    ///
    /// `CKContainer` creates participants from users' addresses. The owner of a share is one of its participants.
    open class Participant: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
        /// The data type of a participant's identifier.
        public typealias ID = String

        struct State: Sendable {
            var role = ParticipantRole.privateUser
            var permission = ParticipantPermission.readOnly
            var acceptanceStatus = ParticipantAcceptanceStatus.pending
        }

        /// The details of a participant that only the service sets.
        struct Details: Sendable {
            var isApprovedRequester = false
            var dateAdded: Date?
            /// Whether the participant is identified by a one-time URL instead of an address.
            var hasOneTimeURL = false
        }

        /// What the service tells of the participant, and the share whose saves renew it.
        private struct Known: Sendable {
            var identity: CKUserIdentity
            var details: Details
            weak var share: CKShare?
        }

        private let identifier: String
        // These locks guard all mutable state. NSObject is not Sendable, hence the `@unchecked Sendable` of the class.
        private let state: Mutex<State>
        private let known: Mutex<Known>

        init(
            _ userIdentity: CKUserIdentity, participantID: String = UUID().uuidString, state: State = State(),
            details: Details = Details()
        ) {
            known = Mutex(Known(identity: userIdentity, details: details))
            identifier = participantID
            self.state = Mutex(state)
        }

        /// The identity of the participant.
        open var userIdentity: CKUserIdentity { known.withLock { $0.identity } }
        var details: Details { known.withLock { $0.details } }
        /// An identifier that is unique among the share's participants.
        open var participantID: CKShare.Participant.ID { identifier }
        /// Whether the participant requested access and the request was approved.
        open var isApprovedRequester: Bool { details.isApprovedRequester }
        /// The date at which the participant was added; nil until the share is saved.
        open var dateAddedToShare: Date? { details.dateAdded }

        /// Creates a participant that a one-time URL of the share identifies, instead of an address.
        public class func oneTimeURLParticipant() -> Self {
            guard
                let made = Participant(
                    CKUserIdentity(hasiCloudAccount: false), details: Details(hasOneTimeURL: true)) as? Self
            else {
                raise("CKShare.Participant: a subclass has no one-time URL participants.")
            }
            return made
        }

        /// The participant's role in the share. Defaults to `.privateUser`.
        open var role: CKShare.ParticipantRole {
            get { state.withLock { $0.role } }
            set { state.withLock { $0.role = newValue } }
        }

        /// The participant's role in the share, under its former name.
        @available(*, deprecated, renamed: "role")
        open var type: CKShare.ParticipantType {
            get { CKShare.ParticipantType(rawValue: role.rawValue) ?? .privateUser }
            set { role = CKShare.ParticipantRole(rawValue: newValue.rawValue) ?? .unknown }
        }

        /// The participant's answer to the invitation.
        open var acceptanceStatus: CKShare.ParticipantAcceptanceStatus { state.withLock { $0.acceptanceStatus } }

        /// The participant's permission on the shared records. Defaults to `.readOnly`.
        open var permission: CKShare.ParticipantPermission {
            get { state.withLock { $0.permission } }
            set { state.withLock { $0.permission = newValue } }
        }

        open class var supportsSecureCoding: Bool { true }

        /// Restores a participant from an archive. Missing values get defaults, because Apple's framework also accepts
        /// an archive without any values.
        public required init?(coder: NSCoder) {
            let details = Details(
                isApprovedRequester: coder.bool(forKey: ArchiveKey.isApprovedRequester),
                dateAdded: coder.date(forKey: ArchiveKey.dateAddedToShare),
                hasOneTimeURL: coder.bool(forKey: ArchiveKey.hasOneTimeURL))
            let identity =
                coder.object(of: CKUserIdentity.self, forKey: ArchiveKey.participantIdentity)
                ?? CKUserIdentity(hasiCloudAccount: false)
            known = Mutex(Known(identity: identity, details: details))
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
            if details.hasOneTimeURL { coder.encode(true, forKey: ArchiveKey.hasOneTimeURL) }
            if details.isApprovedRequester { coder.encode(true, forKey: ArchiveKey.isApprovedRequester) }
            if let date = details.dateAdded { coder.encode(date as NSDate, forKey: ArchiveKey.dateAddedToShare) }
        }

        open override var classForKeyedArchiver: AnyClass? { ArchivedClass.participant.archiverClass(for: self) }

        open func copy(with zone: NSZone? = nil) -> Any { copied() }

        func copied() -> Participant {
            Participant(
                userIdentity, participantID: participantID, state: state.withLock { $0 }, details: details)
        }

        /// Makes a share the one whose saves renew this participant, unless another share is: an object that an app adds
        /// to two shares does not take the permission of one to the other.
        /// - Returns: whether it is that of the share now.
        @discardableResult
        func belong(to share: CKShare) -> Bool {
            known.withLock { known in
                if known.share == nil { known.share = share }
                return known.share === share
            }
        }

        /// Takes over what the service tells of the same participant.
        func renew(from saved: Participant) {
            let (new, newState) = (saved.known.withLock { $0 }, saved.state.withLock { $0 })
            known.withLock { ($0.identity, $0.details) = (new.identity, new.details) }
            state.withLock { $0 = newState }
        }

        /// Whether both participants are the same person. They are if they have the same `participantID`, or if their
        /// identities have the same user record ID or the same lookup info. Permissions do not matter (isEqual(_:) of
        /// CKShare.Participant, Apple's documentation).
        open override func isEqual(_ object: Any?) -> Bool {
            guard let other = object as? CKShare.Participant else { return false }
            let (mine, theirs) = (userIdentity, other.userIdentity)
            return participantID == other.participantID
                || mine.userRecordID != nil && mine.userRecordID == theirs.userRecordID
                || mine.lookupInfo != nil && mine.lookupInfo == theirs.lookupInfo
        }

        // All participants have the same hash, because any one of three properties makes two participants equal. A
        // share has at most 100 participants.
        open override var hash: Int { 0 }

        open override var description: String {
            "<CKShareParticipant: \(address(of: self)); participantID=\(participantID), role=\(role), "
                + "permission=\(permission), acceptanceStatus=\(acceptanceStatus), identity=\(userIdentity)>"
        }

        open override var debugDescription: String { description }
    }
}
