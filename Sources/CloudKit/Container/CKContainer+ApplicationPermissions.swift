extension CKContainer {
    /// A set of permissions that an app can request from the user (CKContainer.ApplicationPermissions, Apple's
    /// documentation).
    @available(*, deprecated, message: "CloudKit no longer grants permissions")
    public struct ApplicationPermissions: OptionSet, Hashable, Sendable, BitwiseCopyable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }
        /// Other users can find the user by e-mail address.
        public static var userDiscoverability: CKContainer.ApplicationPermissions { .init(rawValue: 1 << 0) }
    }

    /// The user's answer to a permission request.
    @available(*, deprecated, message: "CloudKit no longer grants permissions")
    public enum ApplicationPermissionStatus: Int, Hashable, Sendable, BitwiseCopyable {
        /// The user was not asked.
        case initialState = 0
        /// The user could not be asked. An error names the reason.
        case couldNotComplete = 1
        /// The user denied the permission. This library never reports it.
        case denied = 2
        /// The user granted the permission. This library never reports it.
        case granted = 3
    }

    @available(*, deprecated, message: "CloudKit no longer grants permissions")
    public typealias ApplicationPermissionBlock = (CKContainer.ApplicationPermissionStatus, (any Error)?) -> Void

    /// The error with which every permission request fails.
    var permissionsAreGone: CKError {
        CKError(
            .serverRejectedRequest, "CloudKit no longer grants application permissions.",
            ErrorContext(containerID: session.identifier))
    }
}
