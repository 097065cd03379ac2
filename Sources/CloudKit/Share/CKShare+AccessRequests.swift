public import Foundation
import Synchronization

extension CKShare {
    /// An account that requests access to a share (CKShareAccessRequester, Apple's documentation). Apple's class also
    /// has a contact card, but this platform lacks the framework for it.
    public final class AccessRequester: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
        // Unchecked, because NSObject is not Sendable: the identity is a constant.

        /// The identity of the requester.
        public let userIdentity: CKUserIdentity

        init(_ userIdentity: CKUserIdentity) {
            self.userIdentity = userIdentity
        }

        /// The lookup info from which `CKFetchShareParticipantsOperation` creates the participant, once the share's
        /// owner approves the request.
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

    /// An account whose requests for access to a share are blocked (CKShareBlockedIdentity, Apple's documentation).
    public final class BlockedIdentity: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
        // Unchecked, because NSObject is not Sendable: the identity is a constant.

        /// The identity of the blocked account.
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

    /// The accounts that request access to a share, and the accounts whose requests are blocked.
    struct AccessRequests: Sendable {
        var allowed = false
        var requesters: [AccessRequester] = []
        var blocked: [BlockedIdentity] = []
        /// Whether this client changed the requesters or the blocked identities.
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

    /// Whether accounts that were not invited may request access through the share's URL. Defaults to false.
    ///
    /// The program stops if this is set and the current user is neither the share's owner nor an administrator.
    public var allowsAccessRequests: Bool {
        get { shareState.withLock { $0.accessRequests.allowed } }
        set { changeAccessRequests { $0.allowed = newValue } }
    }

    /// The accounts whose access requests are pending.
    public var requesters: [CKShare.AccessRequester] { shareState.withLock { $0.accessRequests.requesters } }

    /// The accounts whose access requests are blocked.
    public var blockedIdentities: [CKShare.BlockedIdentity] { shareState.withLock { $0.accessRequests.blocked } }

    /// Denies access requests. The accounts may request access again. The program stops unless the current user is the
    /// share's owner or an administrator. The change takes effect when the share is saved.
    public func denyRequesters(_ requesters: [CKShare.AccessRequester]) {
        changeAccessRequests { $0.deny(requesters) }
    }

    /// Denies access requests, blocks later requests of the same accounts, and removes the accounts from the share. The
    /// change takes effect when the share is saved.
    public func blockRequesters(_ requesters: [CKShare.AccessRequester]) {
        changeAccessRequests { $0.block(requesters) }
        let blocked = requesters.map(\.userIdentity)
        shareState.withLock { state in
            state.participants.removeAll { $0.role != .owner && blocked.contains($0.userIdentity) }
        }
    }

    /// Lets blocked accounts request access again. The change takes effect when the share is saved.
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

extension CKShare.AccessRequests {
    /// Restores the access requests of a share from the share's archive.
    init(coder: NSCoder) {
        allowed = coder.bool(forKey: ArchiveKey.allowsAccessRequests)
        requesters =
            coder.object(ofAny: [NSArray.self, CKShare.AccessRequester.self], forKey: ArchiveKey.requesters)
            as? [CKShare.AccessRequester] ?? []
        blocked =
            coder.object(ofAny: [NSArray.self, CKShare.BlockedIdentity.self], forKey: ArchiveKey.blockedIdentities)
            as? [CKShare.BlockedIdentity] ?? []
        isChanged = coder.bool(forKey: ArchiveKey.hasChangedRequests)
    }

    func encode(with coder: NSCoder) {
        if allowed { coder.encode(true, forKey: ArchiveKey.allowsAccessRequests) }
        if !requesters.isEmpty { coder.encode(requesters as NSArray, forKey: ArchiveKey.requesters) }
        if !blocked.isEmpty { coder.encode(blocked as NSArray, forKey: ArchiveKey.blockedIdentities) }
        if isChanged { coder.encode(true, forKey: ArchiveKey.hasChangedRequests) }
    }
}
