public import Foundation

extension CKSubscription {
    /// The form and the payload of a subscription's notifications (CKSubscription.NotificationInfo, Apple's
    /// documentation).
    open class NotificationInfo: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
        // Unchecked, because an open class cannot be checked: all mutable state is behind the lock.

        struct Content: Hashable, Sendable {
            var alertBody: String?
            var alertLocalizationKey: String?
            var alertLocalizationArgs: [CKRecord.FieldKey]?
            var title: String?
            var titleLocalizationKey: String?
            var titleLocalizationArgs: [CKRecord.FieldKey]?
            var subtitle: String?
            var subtitleLocalizationKey: String?
            var subtitleLocalizationArgs: [CKRecord.FieldKey]?
            var alertActionLocalizationKey: String?
            var alertLaunchImage: String?
            var soundName: String?
            var desiredKeys: [CKRecord.FieldKey]?
            var shouldBadge = false
            var shouldSendContentAvailable = false
            var shouldSendMutableContent = false
            var category: String?
            var collapseIDKey: String?
        }

        private let content: Locked<Content>

        /// Requests nothing; set the wanted properties.
        public override init() { content = Locked(Content()) }

        init(_ content: Content) { self.content = Locked(content) }

        /// Requests the given properties.
        public convenience init(
            alertBody: String? = nil, alertLocalizationKey: String? = nil,
            alertLocalizationArgs: [CKRecord.FieldKey] = [], title: String? = nil,
            titleLocalizationKey: String? = nil, titleLocalizationArgs: [CKRecord.FieldKey] = [],
            subtitle: String? = nil, subtitleLocalizationKey: String? = nil,
            subtitleLocalizationArgs: [CKRecord.FieldKey] = [], alertActionLocalizationKey: String? = nil,
            alertLaunchImage: String? = nil, soundName: String? = nil, desiredKeys: [CKRecord.FieldKey] = [],
            shouldBadge: Bool = false, shouldSendContentAvailable: Bool = false,
            shouldSendMutableContent: Bool = false, category: String? = nil, collapseIDKey: String? = nil
        ) {
            self.init(
                Content(
                    alertBody: alertBody, alertLocalizationKey: alertLocalizationKey,
                    alertLocalizationArgs: alertLocalizationArgs, title: title,
                    titleLocalizationKey: titleLocalizationKey, titleLocalizationArgs: titleLocalizationArgs,
                    subtitle: subtitle, subtitleLocalizationKey: subtitleLocalizationKey,
                    subtitleLocalizationArgs: subtitleLocalizationArgs,
                    alertActionLocalizationKey: alertActionLocalizationKey, alertLaunchImage: alertLaunchImage,
                    soundName: soundName, desiredKeys: desiredKeys, shouldBadge: shouldBadge,
                    shouldSendContentAvailable: shouldSendContentAvailable,
                    shouldSendMutableContent: shouldSendMutableContent, category: category,
                    collapseIDKey: collapseIDKey))
        }

        /// All properties, read atomically.
        var snapshot: Content { content.withLock { $0 } }

        func copied() -> NotificationInfo { NotificationInfo(snapshot) }

        // MARK: The alert

        /// The alert's text.
        open var alertBody: String? {
            get { content.alertBody }
            set { content.alertBody = newValue }
        }

        /// The key of the alert's text in the app's `Localizable.strings`.
        open var alertLocalizationKey: String? {
            get { content.alertLocalizationKey }
            set { content.alertLocalizationKey = newValue }
        }

        /// The fields whose values replace `%@` in the localized text: strings, numbers and dates.
        open var alertLocalizationArgs: [CKRecord.FieldKey]? {
            get { content.alertLocalizationArgs }
            set { content.alertLocalizationArgs = newValue }
        }

        /// The alert's title.
        open var title: String? {
            get { content.title }
            set { content.title = newValue }
        }

        /// The key of the alert's title in the app's `Localizable.strings`.
        open var titleLocalizationKey: String? {
            get { content.titleLocalizationKey }
            set { content.titleLocalizationKey = newValue }
        }

        /// The fields whose values replace `%@` in the localized title.
        open var titleLocalizationArgs: [CKRecord.FieldKey]? {
            get { content.titleLocalizationArgs }
            set { content.titleLocalizationArgs = newValue }
        }

        /// The alert's subtitle.
        open var subtitle: String? {
            get { content.subtitle }
            set { content.subtitle = newValue }
        }

        /// The key of the alert's subtitle in the app's `Localizable.strings`.
        open var subtitleLocalizationKey: String? {
            get { content.subtitleLocalizationKey }
            set { content.subtitleLocalizationKey = newValue }
        }

        /// The fields whose values replace `%@` in the localized subtitle.
        open var subtitleLocalizationArgs: [CKRecord.FieldKey]? {
            get { content.subtitleLocalizationArgs }
            set { content.subtitleLocalizationArgs = newValue }
        }

        /// The key of the text of the alert's action in the app's `Localizable.strings`.
        open var alertActionLocalizationKey: String? {
            get { content.alertActionLocalizationKey }
            set { content.alertActionLocalizationKey = newValue }
        }

        /// The image shown while the app launches from the alert.
        open var alertLaunchImage: String? {
            get { content.alertLaunchImage }
            set { content.alertLaunchImage = newValue }
        }

        /// The file of the sound in the app, or `default`.
        open var soundName: String? {
            get { content.soundName }
            set { content.soundName = newValue }
        }

        // MARK: The payload

        /// The fields whose values a query subscription's notification carries, three at most: references, locations,
        /// dates, numbers and strings.
        open var desiredKeys: [CKRecord.FieldKey]? {
            get { content.desiredKeys }
            set { content.desiredKeys = newValue }
        }

        /// Whether a notification increments the app's badge.
        open var shouldBadge: Bool {
            get { content.shouldBadge }
            set { content.shouldBadge = newValue }
        }

        /// Whether a notification wakes the app to fetch changes.
        open var shouldSendContentAvailable: Bool {
            get { content.shouldSendContentAvailable }
            set { content.shouldSendContentAvailable = newValue }
        }

        /// Whether the app's service extension may change a notification before it is shown.
        open var shouldSendMutableContent: Bool {
            get { content.shouldSendMutableContent }
            set { content.shouldSendMutableContent = newValue }
        }

        /// The notification's category, which selects its group of actions.
        open var category: String? {
            get { content.category }
            set { content.category = newValue }
        }

        /// The collapse key: a later notification with the same key replaces an earlier one.
        open var collapseIDKey: String? {
            get { content.collapseIDKey }
            set { content.collapseIDKey = newValue }
        }

        // MARK: Copying, archives and equality

        open func copy(with zone: NSZone? = nil) -> Any { copied() }

        open class var supportsSecureCoding: Bool { true }

        public required init?(coder aDecoder: NSCoder) {
            content = Locked(Content(aDecoder))
        }

        open func encode(with coder: NSCoder) { snapshot.encode(with: coder) }

        open override var classForKeyedArchiver: AnyClass? { ArchivedClass.notificationInfo.archiverClass }

        open override func isEqual(_ object: Any?) -> Bool {
            guard let other = object as? NotificationInfo else { return false }
            return self === other || snapshot == other.snapshot
        }

        open override var hash: Int { snapshot.hashValue }

        open override var description: String {
            let content = snapshot
            var parts = ["<CKNotificationInfo: \(address(of: self))"]
            if let body = content.alertBody ?? content.alertLocalizationKey { parts.append("alert=\(body)") }
            if let title = content.title ?? content.titleLocalizationKey { parts.append("title=\(title)") }
            if let sound = content.soundName { parts.append("soundName=\(sound)") }
            if content.shouldBadge { parts.append("shouldBadge=true") }
            if content.shouldSendContentAvailable { parts.append("shouldSendContentAvailable=true") }
            if let keys = content.desiredKeys, !keys.isEmpty { parts.append("desiredKeys=\(keys)") }
            return parts.joined(separator: "; ") + ">"
        }

        open override var debugDescription: String { description }
    }
}

extension CKSubscription.NotificationInfo.Content {
    private static var texts: [(key: String, path: WritableKeyPath<Self, String?>)] {
        [
            ("AlertBody", \.alertBody), ("AlertLocalizationKey", \.alertLocalizationKey), ("Title", \.title),
            ("TitleLocalizationKey", \.titleLocalizationKey), ("Subtitle", \.subtitle),
            ("SubtitleLocalizationKey", \.subtitleLocalizationKey),
            ("AlertActionLocalizationKey", \.alertActionLocalizationKey), ("AlertLaunchImage", \.alertLaunchImage),
            ("SoundName", \.soundName), ("Category", \.category), ("CollapseIDKey", \.collapseIDKey),
        ]
    }

    private static var lists: [(key: String, path: WritableKeyPath<Self, [String]?>)] {
        [
            ("AlertLocalizationArgs", \.alertLocalizationArgs), ("TitleLocalizationArgs", \.titleLocalizationArgs),
            ("SubtitleLocalizationArgs", \.subtitleLocalizationArgs), ("DesiredKeys", \.desiredKeys),
        ]
    }

    private static var flags: [(key: String, path: WritableKeyPath<Self, Bool>)] {
        [
            ("ShouldBadge", \.shouldBadge), ("ShouldSendContentAvailable", \.shouldSendContentAvailable),
            ("ShouldSendMutableContent", \.shouldSendMutableContent),
        ]
    }

    fileprivate init(_ coder: NSCoder) {
        for (key, path) in Self.texts { self[keyPath: path] = coder.string(forKey: key) }
        for (key, path) in Self.lists {
            self[keyPath: path] = coder.object(ofAny: [NSArray.self, NSString.self], forKey: key) as? [String]
        }
        for (key, path) in Self.flags { self[keyPath: path] = coder.decodeBool(forKey: key) }
    }

    fileprivate func encode(with coder: NSCoder) {
        for (key, path) in Self.texts { coder.encode(self[keyPath: path] as NSString?, forKey: key) }
        for (key, path) in Self.lists {
            let list = self[keyPath: path].map { NSArray(array: $0.map { NSString(string: $0) }) }
            coder.encode(list, forKey: key)
        }
        for (key, path) in Self.flags { coder.encode(self[keyPath: path], forKey: key) }
    }
}
