public import Foundation

extension CKSubscription {
    /// The alert and the payload of a subscription's notifications (CKSubscription.NotificationInfo, Apple's
    /// documentation).
    open class NotificationInfo: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
        // Unchecked, because an open class requires it: the lock guards all mutable state.

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

        /// Creates an object that requests neither an alert nor a payload. Set the properties that notifications should
        /// have.
        public override init() { content = Locked(Content()) }

        init(_ content: Content) { self.content = Locked(content) }

        /// Creates an object with the given properties.
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

        /// A snapshot of all properties, which is read atomically.
        var snapshot: Content { content.withLock { $0 } }

        func copied() -> NotificationInfo { NotificationInfo(snapshot) }

        // MARK: The alert

        /// The text of the alert; nil if it has none.
        open var alertBody: String? {
            get { content.alertBody }
            set { content.alertBody = newValue }
        }

        /// The key of the alert's text in the app's `Localizable.strings`; nil if the text is not localized.
        open var alertLocalizationKey: String? {
            get { content.alertLocalizationKey }
            set { content.alertLocalizationKey = newValue }
        }

        /// The names of the fields whose values replace `%@` in the localized text: strings, numbers and dates. Nil if
        /// there are none.
        open var alertLocalizationArgs: [CKRecord.FieldKey]? {
            get { content.alertLocalizationArgs }
            set { content.alertLocalizationArgs = newValue }
        }

        /// The title of the alert; nil if it has none.
        open var title: String? {
            get { content.title }
            set { content.title = newValue }
        }

        /// The key of the alert's title in the app's `Localizable.strings`; nil if the title is not localized.
        open var titleLocalizationKey: String? {
            get { content.titleLocalizationKey }
            set { content.titleLocalizationKey = newValue }
        }

        /// The names of the fields whose values replace `%@` in the localized title; nil if there are none.
        open var titleLocalizationArgs: [CKRecord.FieldKey]? {
            get { content.titleLocalizationArgs }
            set { content.titleLocalizationArgs = newValue }
        }

        /// The subtitle of the alert; nil if it has none.
        open var subtitle: String? {
            get { content.subtitle }
            set { content.subtitle = newValue }
        }

        /// The key of the alert's subtitle in the app's `Localizable.strings`; nil if the subtitle is not localized.
        open var subtitleLocalizationKey: String? {
            get { content.subtitleLocalizationKey }
            set { content.subtitleLocalizationKey = newValue }
        }

        /// The names of the fields whose values replace `%@` in the localized subtitle; nil if there are none.
        open var subtitleLocalizationArgs: [CKRecord.FieldKey]? {
            get { content.subtitleLocalizationArgs }
            set { content.subtitleLocalizationArgs = newValue }
        }

        /// The key in the app's `Localizable.strings` of the text on the alert's action button; nil if there is none.
        open var alertActionLocalizationKey: String? {
            get { content.alertActionLocalizationKey }
            set { content.alertActionLocalizationKey = newValue }
        }

        /// The name of the image that the app shows while it launches from the alert; nil if there is none.
        open var alertLaunchImage: String? {
            get { content.alertLaunchImage }
            set { content.alertLaunchImage = newValue }
        }

        /// The name of the sound file in the app, or `default`; nil for no sound.
        open var soundName: String? {
            get { content.soundName }
            set { content.soundName = newValue }
        }

        // MARK: The payload

        /// The names of the fields whose values a query subscription's notification contains; nil if there are none.
        /// The maximum number of fields per subscription is three. Their values can be references, locations, dates,
        /// numbers and strings.
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

        /// Whether the app's service extension is allowed to change a notification before the system shows it.
        open var shouldSendMutableContent: Bool {
            get { content.shouldSendMutableContent }
            set { content.shouldSendMutableContent = newValue }
        }

        /// The name of the notification's category, which selects its group of actions; nil if there is none.
        open var category: String? {
            get { content.category }
            set { content.category = newValue }
        }

        /// The collapse key: a later notification with the same key replaces an earlier one. Nil if notifications
        /// replace no others.
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
