// The names in CloudKit's Swift API before the API nested them in `CKSubscription`.

@available(*, deprecated, renamed: "CKSubscription.ID")
public typealias CKSubscriptionID = CKSubscription.ID
@available(*, deprecated, renamed: "CKSubscription.SubscriptionType")
public typealias CKSubscriptionType = CKSubscription.SubscriptionType
@available(*, deprecated, renamed: "CKSubscription.NotificationInfo")
public typealias CKNotificationInfo = CKSubscription.NotificationInfo
@available(*, deprecated, renamed: "CKQuerySubscription.Options")
public typealias CKQuerySubscriptionOptions = CKQuerySubscription.Options
@available(*, deprecated, renamed: "CKQuerySubscription.Options")
public typealias CKSubscriptionOptions = CKQuerySubscription.Options
