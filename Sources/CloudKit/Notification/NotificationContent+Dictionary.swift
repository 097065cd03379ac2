import Foundation

// Decodes the dictionary of a remote notification in the form that Apple's service sends to devices: `aps` contains the
// displayed content, and `ck` contains the change (CloudKit Web Services, push payload).

extension NotificationContent {
    /// Decodes a remote notification's dictionary; nil if it is not CloudKit's.
    init?(_ dictionary: [AnyHashable: Any]) {
        let root = PushDictionary(dictionary)
        guard let cloudKit = root.dictionary("ck"), !cloudKit.isEmpty else { return nil }
        self.init()
        if let shown = root.dictionary("aps") { read(shown: shown) }
        notificationID = cloudKit.string("nid").map { CKNotification.ID(uuidString: $0) }
        containerIdentifier = cloudKit.string("cid")
        ownerRecordName = cloudKit.string("ckuserid")
        isPruned = cloudKit.bool("p") ?? false
        for (key, subject) in [("qry", Subject.query), ("fet", .recordZone), ("met", .database)] {
            guard let happened = cloudKit.dictionary(key) else { continue }
            self.subject = subject
            read(happened)
            break
        }
    }

    private mutating func read(shown: PushDictionary) {
        alert.body = shown.string("alert")
        if let words = shown.dictionary("alert") {
            alert = Alert(
                body: words.string("body"), bodyKey: words.string("loc-key"), bodyArguments: words.texts("loc-args"),
                title: words.string("title"), titleKey: words.string("title-loc-key"),
                titleArguments: words.texts("title-loc-args"), subtitle: words.string("subtitle"),
                subtitleKey: words.string("subtitle-loc-key"), subtitleArguments: words.texts("subtitle-loc-args"),
                actionKey: words.string("action-loc-key"), launchImage: words.string("launch-image"))
        }
        badge = shown.integer("badge")
        soundName = shown.string("sound") ?? shown.dictionary("sound")?.string("name")
        category = shown.string("category")
    }

    private mutating func read(_ happened: PushDictionary) {
        subscriptionID = happened.string("sid")
        recordName = happened.string("rid")
        reason = happened.integer("fo").flatMap { CKQueryNotification.Reason(rawValue: $0) }
        let (zoneName, owner) = (happened.string("zid"), happened.string("zoid"))
        scope = happened.integer("dbs").map { scope(number: $0, zoneName, owner) }
        zoneID = zoneName.map { name in
            // Except in the shared database, every zone belongs to the current user, whatever owner name the service
            // sends.
            let isOwn = scope != .shared && (scope != nil || owner == ownerRecordName)
            return CKRecordZone.ID(
                unchecked: name, ownerName: isOwn ? CKCurrentUserDefaultName : owner ?? CKCurrentUserDefaultName)
        }
        guard let fields = happened.dictionary("af") else { return }
        let types = happened.dictionary("aft")
        recordFields = Dictionary(
            fields.values.map { ($0, value($1, ofType: types?.string($0))) }, uniquingKeysWith: { $1 })
    }

    /// Resolves the number of a payload's database. Web Services count from 0, the public database; payloads that count
    /// from 1, like `CKDatabase.Scope`, were also reported. The rest of the payload resolves an ambiguous number.
    private func scope(number: Int, _ zoneName: String?, _ owner: String?) -> CKDatabase.Scope {
        let isInDefaultZone = zoneName == nil || zoneName == CKRecordZone.ID.defaultZoneName
        let isAnothers = owner.map { owner in ownerRecordName.map { $0 != owner } ?? false } ?? false
        switch number {
        case 1:
            // The public database has only query subscriptions, and its only zone has no owner.
            return subject == .query && isInDefaultZone && (owner == nil || owner != ownerRecordName)
                ? .public : .private
        case 2:
            // The shared database has no query subscriptions, and its zones have other owners.
            return subject != .query && isAnothers ? .shared : .private
        case 3...: return .shared
        default: return .public
        }
    }

    /// Converts a field's value to its type in a record. JSON has only strings and numbers, so the payload names the
    /// other types.
    private func value(_ value: Any, ofType type: String?) -> Any {
        switch (type, value) {
        case ("TIMESTAMP", let number as NSNumber):
            return NSDate(timeIntervalSince1970: number.doubleValue / 1000)
        case ("REFERENCE", let name as String):
            let recordID = CKRecord.ID(unchecked: name, zoneID: zoneID ?? .default)
            return CKRecord.Reference(recordID: recordID, action: .none)
        case ("LOCATION", let members as [AnyHashable: Any]):
            let place = PushDictionary(members)
            guard let latitude = place.number("latitude"), let longitude = place.number("longitude") else {
                return value
            }
            return CLLocation(latitude: latitude, longitude: longitude)
        default:
            return value
        }
    }
}

/// A dictionary from a property list or from JSON, with values of Swift's or Foundation's types.
private struct PushDictionary {
    private let members: [AnyHashable: Any]

    init(_ members: [AnyHashable: Any]) { self.members = members }

    var isEmpty: Bool { members.isEmpty }

    /// The members whose keys are strings, with these keys.
    var values: [(String, Any)] { members.compactMap { key, value in (key.base as? String).map { ($0, value) } } }

    func dictionary(_ key: String) -> PushDictionary? {
        (members[key] as? [AnyHashable: Any]).map(PushDictionary.init)
    }

    func string(_ key: String) -> String? { members[key] as? String }

    func number(_ key: String) -> Double? { (members[key] as? NSNumber)?.doubleValue ?? members[key] as? Double }

    func integer(_ key: String) -> Int? { (members[key] as? NSNumber)?.intValue ?? members[key] as? Int }

    func bool(_ key: String) -> Bool? { members[key] as? Bool ?? integer(key).map { $0 != 0 } }

    /// Returns a list of strings, with its numbers converted to text; nil if there is none.
    func texts(_ key: String) -> [String]? {
        (members[key] as? [Any])?.map { $0 as? String ?? "\($0)" }
    }
}
