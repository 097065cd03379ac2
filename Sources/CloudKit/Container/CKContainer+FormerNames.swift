// The former names of the container's types: those from before Swift's API nested them, and those from the time in
// between.

extension CKContainer {
    /// A namespace that contains only former names.
    @available(*, deprecated, message: "use the types of CKContainer itself")
    public enum Application {
        /// The permissions that an app can request from the user.
        public typealias Permissions = CKContainer.ApplicationPermissions
        /// The user's answer to a permission request.
        public typealias PermissionStatus = CKContainer.ApplicationPermissionStatus
        /// The handler that receives the user's answer.
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
