// The names that the container's types had before Swift's API nested them, and in between.

extension CKContainer {
    /// An empty namespace of former names.
    @available(*, deprecated, message: "use the types of CKContainer itself")
    public enum Application {
        /// What an app may do with a user's identity.
        public typealias Permissions = CKContainer.ApplicationPermissions
        /// Whether the user allowed it.
        public typealias PermissionStatus = CKContainer.ApplicationPermissionStatus
        /// What is called with the answer.
        public typealias PermissionBlock = CKContainer.ApplicationPermissionBlock
    }
}

@available(*, deprecated, renamed: "CKContainer.ApplicationPermissions")
public typealias CKApplicationPermissions = CKContainer.ApplicationPermissions
@available(*, deprecated, renamed: "CKContainer.ApplicationPermissionStatus")
public typealias CKApplicationPermissionStatus = CKContainer.ApplicationPermissionStatus
@available(*, deprecated, renamed: "CKContainer.ApplicationPermissionBlock")
public typealias CKApplicationPermissionBlock = CKContainer.ApplicationPermissionBlock
@available(*, deprecated, renamed: "CKContainer.ApplicationPermissions")
public typealias CKContainer_Application_Permissions = CKContainer.ApplicationPermissions
@available(*, deprecated, renamed: "CKContainer.ApplicationPermissionStatus")
public typealias CKContainer_Application_PermissionStatus = CKContainer.ApplicationPermissionStatus
@available(*, deprecated, renamed: "CKContainer.ApplicationPermissionBlock")
public typealias CKContainer_Application_PermissionBlock = CKContainer.ApplicationPermissionBlock

/// The former name of `Notification.Name.CKAccountChanged`.
// swift-format-ignore: AlwaysUseLowerCamelCase
@available(*, deprecated, renamed: "Notification.Name.CKAccountChanged")
public let CKAccountChangedNotification = Notification.Name.CKAccountChanged
