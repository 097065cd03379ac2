extension CKContainer {
    /// The permissions that an app can request from the user (CKContainer.ApplicationPermissions, Apple's
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
        /// An error says why the user could not be asked.
        case couldNotComplete = 1
        /// The user refused it. Never reported here.
        case denied = 2
        /// The user allowed it. Never reported here.
        case granted = 3
    }

    @available(*, deprecated, message: "CloudKit no longer grants permissions")
    public typealias ApplicationPermissionBlock = (CKContainer.ApplicationPermissionStatus, (any Error)?) -> Void

    /// The error of every permission request.
    var permissionsAreGone: CKError {
        CKError(
            .serverRejectedRequest, "CloudKit no longer grants application permissions.",
            ErrorContext(containerID: session.identifier))
    }
}
