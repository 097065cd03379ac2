public import Foundation

/// What those to whom a share is offered may be allowed to do.
public struct CKSharingParticipantPermissionOption: OptionSet, Hashable, Sendable {
    public let rawValue: UInt

    public init(rawValue: UInt) { self.rawValue = rawValue }

    public static let readOnly = CKSharingParticipantPermissionOption(rawValue: 1 << 0)
    public static let readWrite = CKSharingParticipantPermissionOption(rawValue: 1 << 1)
    public static let any: CKSharingParticipantPermissionOption = [.readOnly, .readWrite]
}

/// To whom a share may be offered.
public struct CKSharingParticipantAccessOption: OptionSet, Hashable, Sendable {
    public let rawValue: UInt

    public init(rawValue: UInt) { self.rawValue = rawValue }

    public static let anyoneWithLink = CKSharingParticipantAccessOption(rawValue: 1 << 0)
    public static let specifiedRecipientsOnly = CKSharingParticipantAccessOption(rawValue: 1 << 1)
    public static let any: CKSharingParticipantAccessOption = [.anyoneWithLink, .specifiedRecipientsOnly]
}

/// What a sharing interface is to offer (CKAllowedSharingOptions, Apple's documentation): values that an app hands to it.
public final class CKAllowedSharingOptions: NSObject, NSCopying, @unchecked Sendable {
    // Unchecked, because NSObject is not Sendable: everything that changes is behind the lock of `options`.
    private struct Options {
        var permission: CKSharingParticipantPermissionOption
        var access: CKSharingParticipantAccessOption
        var accessRequests = false
        var inviting = false
    }

    private let options: Locked<Options>

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

    public var allowedParticipantPermissionOptions: CKSharingParticipantPermissionOption {
        get { options.permission }
        set { options.permission = newValue }
    }

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

    public func copy(with zone: NSZone? = nil) -> Any {
        let copy = CKAllowedSharingOptions(
            allowedParticipantPermissionOptions: allowedParticipantPermissionOptions,
            allowedParticipantAccessOptions: allowedParticipantAccessOptions)
        copy.allowsAccessRequests = allowsAccessRequests
        copy.allowsParticipantsToInviteOthers = allowsParticipantsToInviteOthers
        return copy
    }
}
