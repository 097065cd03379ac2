public import Foundation

/// A set of permissions that a share may offer to participants.
public struct CKSharingParticipantPermissionOption: OptionSet, Hashable, Sendable, BitwiseCopyable {
    public let rawValue: UInt

    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// Participants may be given read access.
    public static let readOnly = CKSharingParticipantPermissionOption(rawValue: 1 << 0)
    /// Participants may be given read and write access.
    public static let readWrite = CKSharingParticipantPermissionOption(rawValue: 1 << 1)
    /// Both permissions. The owner chooses one of them.
    public static let any: CKSharingParticipantPermissionOption = [.readOnly, .readWrite]
}

/// A set of the kinds of access that a share may offer.
public struct CKSharingParticipantAccessOption: OptionSet, Hashable, Sendable, BitwiseCopyable {
    public let rawValue: UInt

    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// Every account that has the share's URL.
    public static let anyoneWithLink = CKSharingParticipantAccessOption(rawValue: 1 << 0)
    /// The participants that the owner invites.
    public static let specifiedRecipientsOnly = CKSharingParticipantAccessOption(rawValue: 1 << 1)
    /// Both kinds of access. The owner chooses one of them.
    public static let any: CKSharingParticipantAccessOption = [.anyoneWithLink, .specifiedRecipientsOnly]
}

/// The options that a sharing interface offers (CKAllowedSharingOptions, Apple's documentation). An app passes them to
/// the interface.
public final class CKAllowedSharingOptions: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Unchecked, because NSObject is not Sendable: the lock of `options` guards all mutable state.
    private struct Options {
        var permission: CKSharingParticipantPermissionOption
        var access: CKSharingParticipantAccessOption
        var accessRequests = false
        var inviting = false
    }

    private let options: Locked<Options>

    /// Creates options with the given permissions and kinds of access.
    public init(
        allowedParticipantPermissionOptions: CKSharingParticipantPermissionOption,
        allowedParticipantAccessOptions: CKSharingParticipantAccessOption
    ) {
        options = Locked(
            Options(permission: allowedParticipantPermissionOptions, access: allowedParticipantAccessOptions))
    }

    /// The options that offer every permission and every kind of access.
    public class var standard: CKAllowedSharingOptions {
        CKAllowedSharingOptions(allowedParticipantPermissionOptions: .any, allowedParticipantAccessOptions: .any)
    }

    /// The permissions that the owner may give to participants.
    public var allowedParticipantPermissionOptions: CKSharingParticipantPermissionOption {
        get { options.permission }
        set { options.permission = newValue }
    }

    /// The kinds of access that the owner may choose for the share.
    public var allowedParticipantAccessOptions: CKSharingParticipantAccessOption {
        get { options.access }
        set { options.access = newValue }
    }

    /// Whether the interface lets the owner allow access requests. Defaults to false.
    public var allowsAccessRequests: Bool {
        get { options.accessRequests }
        set { options.accessRequests = newValue }
    }

    /// Whether the interface lets the owner allow participants to invite others. Defaults to false.
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
