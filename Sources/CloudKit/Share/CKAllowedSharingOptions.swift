public import Foundation

/// What those to whom a share is offered may be allowed to do.
public struct CKSharingParticipantPermissionOption: OptionSet, Hashable, Sendable, BitwiseCopyable {
    public let rawValue: UInt

    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// Participants may be let read.
    public static let readOnly = CKSharingParticipantPermissionOption(rawValue: 1 << 0)
    /// Participants may be let read and write.
    public static let readWrite = CKSharingParticipantPermissionOption(rawValue: 1 << 1)
    /// Both: the owner chooses.
    public static let any: CKSharingParticipantPermissionOption = [.readOnly, .readWrite]
}

/// To whom a share may be offered.
public struct CKSharingParticipantAccessOption: OptionSet, Hashable, Sendable, BitwiseCopyable {
    public let rawValue: UInt

    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// Every account that has the share's URL.
    public static let anyoneWithLink = CKSharingParticipantAccessOption(rawValue: 1 << 0)
    /// Those whom the owner invites.
    public static let specifiedRecipientsOnly = CKSharingParticipantAccessOption(rawValue: 1 << 1)
    /// Both: the owner chooses.
    public static let any: CKSharingParticipantAccessOption = [.anyoneWithLink, .specifiedRecipientsOnly]
}

/// What a sharing interface is to offer (CKAllowedSharingOptions, Apple's documentation): values that an app hands to
/// it.
public final class CKAllowedSharingOptions: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Unchecked, because NSObject is not Sendable: everything that changes is behind the lock of `options`.
    private struct Options {
        var permission: CKSharingParticipantPermissionOption
        var access: CKSharingParticipantAccessOption
        var accessRequests = false
        var inviting = false
    }

    private let options: Locked<Options>

    /// What may be offered of each of the two.
    public init(
        allowedParticipantPermissionOptions: CKSharingParticipantPermissionOption,
        allowedParticipantAccessOptions: CKSharingParticipantAccessOption
    ) {
        options = Locked(
            Options(permission: allowedParticipantPermissionOptions, access: allowedParticipantAccessOptions))
    }

    /// Everything is offered.
    public class var standard: CKAllowedSharingOptions {
        CKAllowedSharingOptions(allowedParticipantPermissionOptions: .any, allowedParticipantAccessOptions: .any)
    }

    /// What the owner may let participants do.
    public var allowedParticipantPermissionOptions: CKSharingParticipantPermissionOption {
        get { options.permission }
        set { options.permission = newValue }
    }

    /// To whom the owner may offer the share.
    public var allowedParticipantAccessOptions: CKSharingParticipantAccessOption {
        get { options.access }
        set { options.access = newValue }
    }

    /// Whether it is offered that others may ask for access. False, until it is set.
    public var allowsAccessRequests: Bool {
        get { options.accessRequests }
        set { options.accessRequests = newValue }
    }

    /// Whether it is offered that participants may invite others. False, until it is set.
    public var allowsParticipantsToInviteOthers: Bool {
        get { options.inviting }
        set { options.inviting = newValue }
    }

    public class var supportsSecureCoding: Bool { true }

    public init?(coder: NSCoder) {
        func flags(_ key: String) -> UInt { UInt(truncatingIfNeeded: coder.decodeInteger(forKey: key)) }
        options = Locked(
            Options(
                permission: .init(rawValue: flags(ArchiveKey.allowedPermissions)),
                access: .init(rawValue: flags(ArchiveKey.allowedAccess)),
                accessRequests: coder.decodeBool(forKey: ArchiveKey.allowsAccessRequests),
                inviting: coder.decodeBool(forKey: ArchiveKey.allowsInviting)))
    }

    public func encode(with coder: NSCoder) {
        let options = options.withLock { $0 }
        coder.encode(Int(truncatingIfNeeded: options.permission.rawValue), forKey: ArchiveKey.allowedPermissions)
        coder.encode(Int(truncatingIfNeeded: options.access.rawValue), forKey: ArchiveKey.allowedAccess)
        coder.encode(options.accessRequests, forKey: ArchiveKey.allowsAccessRequests)
        coder.encode(options.inviting, forKey: ArchiveKey.allowsInviting)
    }

    public override var classForKeyedArchiver: AnyClass? { ArchivedClass.allowedSharingOptions.archiverClass }

    public func copy(with zone: NSZone? = nil) -> Any {
        let copy = CKAllowedSharingOptions(
            allowedParticipantPermissionOptions: allowedParticipantPermissionOptions,
            allowedParticipantAccessOptions: allowedParticipantAccessOptions)
        copy.allowsAccessRequests = allowsAccessRequests
        copy.allowsParticipantsToInviteOthers = allowsParticipantsToInviteOthers
        return copy
    }
}
