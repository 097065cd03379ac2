public import Foundation
import Synchronization

extension CKShare {
    /// A requester of access to a share (CKShareAccessRequester, Apple's documentation). The contact's card that
    /// Apple's has beside the identity belongs to a framework that this platform does not have.
    public final class AccessRequester: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
        // Unchecked, because NSObject is not Sendable: the identity is a constant.

        /// Who asks.
        public let userIdentity: CKUserIdentity

        init(_ userIdentity: CKUserIdentity) {
            self.userIdentity = userIdentity
        }

        /// By what `CKFetchShareParticipantsOperation` makes the participant, once the share's owner says yes.
        public var participantLookupInfo: CKUserIdentity.LookupInfo {
            let userRecordID = userIdentity.userRecordID ?? CKRecord.ID(unchecked: CKCurrentUserDefaultName)
            return userIdentity.lookupInfo ?? CKUserIdentity.LookupInfo(userRecordID: userRecordID)
        }

        public class var supportsSecureCoding: Bool { true }

        public required init?(coder: NSCoder) {
            guard let identity = coder.object(of: CKUserIdentity.self, forKey: ArchiveKey.participantIdentity) else {
                return nil
            }
            userIdentity = identity
        }

        public func encode(with coder: NSCoder) {
            coder.encode(userIdentity, forKey: ArchiveKey.participantIdentity)
        }

        public override var classForKeyedArchiver: AnyClass? { ArchivedClass.accessRequester.archiverClass }

        public func copy(with zone: NSZone? = nil) -> Any { self }

        public override func isEqual(_ object: Any?) -> Bool {
            (object as? AccessRequester)?.userIdentity == userIdentity
        }

        public override var hash: Int { userIdentity.hash }
    }

    /// An identity whose requests for access no longer reach a share (CKShareBlockedIdentity, Apple's documentation).
    public final class BlockedIdentity: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
        // Unchecked, because NSObject is not Sendable: the identity is a constant.

        /// Who is blocked.
        public let userIdentity: CKUserIdentity

        init(_ userIdentity: CKUserIdentity) {
            self.userIdentity = userIdentity
        }

        public class var supportsSecureCoding: Bool { true }

        public required init?(coder: NSCoder) {
            guard let identity = coder.object(of: CKUserIdentity.self, forKey: ArchiveKey.participantIdentity) else {
                return nil
            }
            userIdentity = identity
        }

        public func encode(with coder: NSCoder) {
            coder.encode(userIdentity, forKey: ArchiveKey.participantIdentity)
        }

        public override var classForKeyedArchiver: AnyClass? { ArchivedClass.blockedIdentity.archiverClass }

        public func copy(with zone: NSZone? = nil) -> Any { self }

        public override func isEqual(_ object: Any?) -> Bool {
            (object as? BlockedIdentity)?.userIdentity == userIdentity
        }

        public override var hash: Int { userIdentity.hash }
    }

    /// The requesters and the blocked identities.
    struct AccessRequests: Sendable {
        var allowed = false
        var requesters: [AccessRequester] = []
        var blocked: [BlockedIdentity] = []
        /// Whether this side changed the requesters or the blocked identities.
        var isChanged = false

        mutating func deny(_ denied: [AccessRequester]) {
            requesters.removeAll { denied.contains($0) }
            isChanged = true
        }

        mutating func block(_ requesters: [AccessRequester]) {
            deny(requesters)
            let identities = requesters.map { BlockedIdentity($0.userIdentity) }
            blocked += identities.filter { !blocked.contains($0) }
        }

        mutating func unblock(_ identities: [BlockedIdentity]) {
            blocked.removeAll { identities.contains($0) }
            isChanged = true
        }
    }

    /// Whether an account that was not invited may ask for access, having the share's URL. False, until it is set.
    ///
    /// The program stops where the current user neither owns the share nor administers it.
    public var allowsAccessRequests: Bool {
        get { shareState.withLock { $0.accessRequests.allowed } }
        set { changeAccessRequests { $0.allowed = newValue } }
    }

    /// Who asked for access and has no answer yet.
    public var requesters: [CKShare.AccessRequester] { shareState.withLock { $0.accessRequests.requesters } }

    /// Whose requests no longer reach the share.
    public var blockedIdentities: [CKShare.BlockedIdentity] { shareState.withLock { $0.accessRequests.blocked } }

    /// Refuses requests; whose they are may ask again. The program stops where the current user neither owns the share
    /// nor administers it. The change needs a save, as those below do.
    public func denyRequesters(_ requesters: [CKShare.AccessRequester]) {
        changeAccessRequests { $0.deny(requesters) }
    }

    /// Refuses requests and those that the same people may make later, and removes the people from the share.
    public func blockRequesters(_ requesters: [CKShare.AccessRequester]) {
        changeAccessRequests { $0.block(requesters) }
        let blocked = requesters.map(\.userIdentity)
        shareState.withLock { state in
            state.participants.removeAll { $0.role != .owner && blocked.contains($0.userIdentity) }
        }
    }

    /// Lets people ask for access again.
    public func unblockIdentities(_ blockedIdentities: [CKShare.BlockedIdentity]) {
        changeAccessRequests { $0.unblock(blockedIdentities) }
    }

    private func changeAccessRequests(_ change: (inout AccessRequests) -> Void) {
        let role = currentUserParticipant?.role
        raise(
            unless: role == .owner || role == .administrator,
            "CKShare: only the owner or an administrator may change who can ask for access.")
        shareState.withLock { change(&$0.accessRequests) }
    }
}
