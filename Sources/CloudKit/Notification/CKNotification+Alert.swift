public import Foundation

// The displayed content of a notification. Apple's documentation deprecates all of it in favour of UserNotifications,
// which reports the same content.

extension CKNotification {
    /// The alert's text.
    @available(*, deprecated, message: "read it from what UserNotifications delivers")
    public var alertBody: String? { content.alert.body }

    /// The key of the alert's text in the app's `Localizable.strings`.
    @available(*, deprecated, message: "read it from what UserNotifications delivers")
    public var alertLocalizationKey: String? { content.alert.bodyKey }

    /// The values that replace `%@` in the localized text.
    @available(*, deprecated, message: "read them from what UserNotifications delivers")
    public var alertLocalizationArgs: [String]? { content.alert.bodyArguments }

    /// The alert's title.
    @available(*, deprecated, message: "read it from what UserNotifications delivers")
    public var title: String? { content.alert.title }

    /// The key of the alert's title in the app's `Localizable.strings`.
    @available(*, deprecated, message: "read it from what UserNotifications delivers")
    public var titleLocalizationKey: String? { content.alert.titleKey }

    /// The values that replace `%@` in the localized title.
    @available(*, deprecated, message: "read them from what UserNotifications delivers")
    public var titleLocalizationArgs: [String]? { content.alert.titleArguments }

    /// The alert's subtitle.
    @available(*, deprecated, message: "read it from what UserNotifications delivers")
    public var subtitle: String? { content.alert.subtitle }

    /// The key of the alert's subtitle in the app's `Localizable.strings`.
    @available(*, deprecated, message: "read it from what UserNotifications delivers")
    public var subtitleLocalizationKey: String? { content.alert.subtitleKey }

    /// The values that replace `%@` in the localized subtitle.
    @available(*, deprecated, message: "read them from what UserNotifications delivers")
    public var subtitleLocalizationArgs: [String]? { content.alert.subtitleArguments }

    /// The key of the text of the alert's action in the app's `Localizable.strings`.
    @available(*, deprecated, message: "read it from what UserNotifications delivers")
    public var alertActionLocalizationKey: String? { content.alert.actionKey }

    /// The image shown while the app launches from the alert.
    @available(*, deprecated, message: "read it from what UserNotifications delivers")
    public var alertLaunchImage: String? { content.alert.launchImage }

    /// The number on the app's badge.
    @available(*, deprecated, message: "read it from what UserNotifications delivers")
    public var badge: NSNumber? { content.badge.map { NSNumber(value: $0) } }

    /// The file of the sound in the app, or `default`.
    @available(*, deprecated, message: "read it from what UserNotifications delivers")
    public var soundName: String? { content.soundName }

    /// The notification's category, which selects its group of actions.
    @available(*, deprecated, message: "read it from what UserNotifications delivers")
    public var category: String? { content.category }
}
