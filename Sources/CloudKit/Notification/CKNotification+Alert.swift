public import Foundation

// The content of a notification that the system displays. Apple's documentation deprecates all of these properties in
// favour of UserNotifications, which reports the same content.

extension CKNotification {
    /// The text of the notification's alert; nil if it has none.
    @available(*, deprecated, message: "read it from what UserNotifications delivers")
    public var alertBody: String? { content.alert.body }

    /// The key of the alert's text in the app's `Localizable.strings`; nil if the text is not localized.
    @available(*, deprecated, message: "read it from what UserNotifications delivers")
    public var alertLocalizationKey: String? { content.alert.bodyKey }

    /// The values that replace `%@` in the localized text; nil if there are none.
    @available(*, deprecated, message: "read them from what UserNotifications delivers")
    public var alertLocalizationArgs: [String]? { content.alert.bodyArguments }

    /// The title of the notification's alert; nil if it has none.
    @available(*, deprecated, message: "read it from what UserNotifications delivers")
    public var title: String? { content.alert.title }

    /// The key of the alert's title in the app's `Localizable.strings`; nil if the title is not localized.
    @available(*, deprecated, message: "read it from what UserNotifications delivers")
    public var titleLocalizationKey: String? { content.alert.titleKey }

    /// The values that replace `%@` in the localized title; nil if there are none.
    @available(*, deprecated, message: "read them from what UserNotifications delivers")
    public var titleLocalizationArgs: [String]? { content.alert.titleArguments }

    /// The subtitle of the notification's alert; nil if it has none.
    @available(*, deprecated, message: "read it from what UserNotifications delivers")
    public var subtitle: String? { content.alert.subtitle }

    /// The key of the alert's subtitle in the app's `Localizable.strings`; nil if the subtitle is not localized.
    @available(*, deprecated, message: "read it from what UserNotifications delivers")
    public var subtitleLocalizationKey: String? { content.alert.subtitleKey }

    /// The values that replace `%@` in the localized subtitle; nil if there are none.
    @available(*, deprecated, message: "read them from what UserNotifications delivers")
    public var subtitleLocalizationArgs: [String]? { content.alert.subtitleArguments }

    /// The key in the app's `Localizable.strings` of the text on the alert's action button; nil if there is none.
    @available(*, deprecated, message: "read it from what UserNotifications delivers")
    public var alertActionLocalizationKey: String? { content.alert.actionKey }

    /// The name of the image that the app shows while it launches from the alert; nil if there is none.
    @available(*, deprecated, message: "read it from what UserNotifications delivers")
    public var alertLaunchImage: String? { content.alert.launchImage }

    /// The number for the app's badge; nil if there is none.
    @available(*, deprecated, message: "read it from what UserNotifications delivers")
    public var badge: NSNumber? { content.badge.map { NSNumber(value: $0) } }

    /// The name of the sound file in the app, or `default`; nil for no sound.
    @available(*, deprecated, message: "read it from what UserNotifications delivers")
    public var soundName: String? { content.soundName }

    /// The name of the notification's category, which selects its group of actions; nil if there is none.
    @available(*, deprecated, message: "read it from what UserNotifications delivers")
    public var category: String? { content.category }
}
