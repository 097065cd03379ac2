import FoundationEssentials
import NephosCrypto
import NephosStorage
import NephosWire

/// The text and fields of a notification, from its subscription's info and its record
/// (`CKSubscription.NotificationInfo`, Apple's documentation).
struct NotificationText {
    private let info: NotificationInfoDictionary?
    /// The values of the fields that the info names.
    private let fields: RecordFields

    /// - Parameter record: the record of a query notification; nil for other notifications.
    init(info: NotificationInfoDictionary?, record: RecordRow?) {
        self.info = info
        let names = info?.fieldNames ?? []
        let encoded = record.map { EncodedFields(bytes: $0.fields) }
        fields =
            names.isEmpty
            ? RecordFields() : encoded.flatMap { try? $0.selecting(names).decoded() } ?? RecordFields()
    }

    /// Sets the visible parts of the payload. Without an info, or with an empty one, the notification is silent.
    func fill(_ payload: inout NotificationPayload) {
        if let info {
            payload.alert = .init(
                text: info.alertBody, localizationKey: info.alertLocalizationKey,
                localizationArgs: texts(info.alertLocalizationArgs))
            payload.title = .init(
                text: info.title, localizationKey: info.titleLocalizationKey,
                localizationArgs: texts(info.titleLocalizationArgs))
            payload.subtitle = .init(
                text: info.subtitle, localizationKey: info.subtitleLocalizationKey,
                localizationArgs: texts(info.subtitleLocalizationArgs))
            payload.alertActionLocalizationKey = info.alertActionLocalizationKey
            payload.alertLaunchImage = info.alertLaunchImage
            payload.soundName = info.soundName
            payload.category = info.category
            payload.badge = info.shouldBadge ? 1 : nil
            payload.isContentAvailable = info.shouldSendContentAvailable
            payload.isMutableContent = info.shouldSendMutableContent
        }
        if payload.isSilent { payload.isContentAvailable = true }
    }

    /// The values of the fields in `desiredKeys`: strings (truncated to 100 characters), numbers, dates, locations and
    /// references.
    var additionalFields: [String: FieldValue] {
        var result: [String: FieldValue] = [:]
        for name in info?.additionalFields ?? [] {
            guard let value = value(name) else { continue }
            switch value {
            case .string(let text): result[name] = .string(Self.cut(text))
            case .int64, .double, .timestamp, .location, .reference: result[name] = value
            case .bytes, .asset, .list, .sealed: break
            }
        }
        return result
    }

    /// The collapse ID, by which a notification replaces an older one on the device; nil if there is none. According to
    /// Apple's header `collapseIDKey` names a field; according to Apple's documentation it is the ID itself. So this is
    /// the value of the field of that name, or else the text of `collapseIDKey`.
    var collapseID: String? {
        guard let key = info?.collapseIDKey, !key.isEmpty else { return nil }
        let text = value(key).map { Self.text($0) } ?? key
        if text.isEmpty { return nil }
        // The hash of a longer one: distinct identifiers stay distinct.
        return text.utf8.count <= Limits.collapseIDLength ? text : SecretToken.hash(of: text)
    }

    /// The arguments of a localized text; nil if it has none. The argument of a field that is missing or has no text is
    /// empty.
    private func texts(_ names: [String]?) -> [String]? {
        guard let names, !names.isEmpty else { return nil }
        return names.prefix(Limits.notificationArguments).map { name in
            value(name).map { Self.cut(Self.text($0)) } ?? ""
        }
    }

    private func value(_ name: String) -> FieldValue? {
        guard let field = fields[name], !field.isEncrypted else { return nil }
        return field.value
    }

    private static func text(_ value: FieldValue) -> String {
        switch value {
        case .string(let text): text
        case .int64(let number): String(number)
        case .double(let number): Int64(exactly: number).map { String($0) } ?? String(number)
        case .timestamp(let time):
            time.date.formatted(.iso8601)
        case .bytes, .location, .reference, .asset, .list, .sealed: ""
        }
    }

    private static func cut(_ text: String) -> String {
        guard text.utf8.count > Limits.notificationTextSize else {
            return String(text.prefix(Limits.notificationTextLength))
        }
        var end = text.utf8.index(text.startIndex, offsetBy: Limits.notificationTextSize)
        while text.utf8[end] & 0xC0 == 0x80 { end = text.utf8.index(before: end) }
        return String(String(text[..<end]).prefix(Limits.notificationTextLength))
    }
}

extension NotificationInfoDictionary {
    /// The arguments of the localized texts.
    var argumentLists: [[String]] {
        [alertLocalizationArgs, titleLocalizationArgs, subtitleLocalizationArgs].compactMap(\.self)
    }

    /// The names of all fields whose values a notification needs.
    fileprivate var fieldNames: [String] {
        let names = argumentLists.flatMap { $0.prefix(Limits.notificationArguments) } + (additionalFields ?? [])
        return names + [collapseIDKey].compactMap(\.self)
    }
}
