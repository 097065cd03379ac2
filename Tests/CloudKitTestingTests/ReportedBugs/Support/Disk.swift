import CloudKit
import Foundation

/// What an app of these tests keeps on its device's disk, in one file.
struct Disk: Codable, Sendable {
    struct Item: Codable, Sendable {
        /// Nil for an item that was deleted here and perhaps not on the service.
        var text: String?
        /// Grows with each edit: of two texts the one with more edits wins.
        var edits = 0
        /// Of the record as the service last returned it; nil if it never did.
        var systemFields: Data?
        /// Whether the service may lack this.
        var isPending = false
    }

    var items: [String: Item] = [:]
    /// After an expired change token: the items that the fetch from the beginning has not returned so far.
    var unconfirmed: Set<String> = []
    /// The zone of the items, and its owner's record name.
    var zone = "Items"
    var owner = CKCurrentUserDefaultName
    var hasZone = false
    /// Whether the service notifies of changes.
    var isSubscribed = false
    /// Whether the user shares the zone with others.
    var isShared = false
    var account: String?
    /// The archived change token of the zone.
    var token: Data?
    var engine: CKSyncEngine.State.Serialization?

    var pending: [String] { items.filter(\.value.isPending).keys.sorted() }
    var contents: [String: String] { items.compactMapValues(\.text) }

    mutating func write(_ text: String?, to name: String) {
        var item = items[name] ?? Item()
        item.text = text
        item.edits += 1
        item.isPending = true
        items[name] = item
    }

    /// Takes what the service has, unless what is pending here wins.
    mutating func merge(_ record: CKRecord) {
        let name = record.recordID.recordName
        let theirs = Item(record)
        unconfirmed.remove(name)
        guard let ours = items[name], ours.isPending, ours.text == nil || ours.edits > theirs.edits else {
            items[name] = theirs
            return
        }
        items[name]?.systemFields = theirs.systemFields
    }

    mutating func didSave(_ record: CKRecord) {
        let (name, saved) = (record.recordID.recordName, Item(record))
        unconfirmed.remove(name)
        items[name]?.systemFields = saved.systemFields
        if items[name]?.edits == saved.edits { items[name]?.isPending = false }
    }

    mutating func didDelete(_ name: String) {
        items[name] = nil
        unconfirmed.remove(name)
    }

    mutating func beginRefetch() { unconfirmed = Set(items.filter { $0.value.systemFields != nil }.keys) }

    mutating func finishRefetch() {
        for name in unconfirmed { didDelete(name) }
    }

    /// Forgets the items, as they are no longer the user's or on the service.
    mutating func forgetItems() { (items, unconfirmed, hasZone, isShared, token) = ([:], [], false, false, nil) }

    /// Takes all items for pending, as if they were new on the service.
    mutating func sendAllAgain() {
        for name in items.keys {
            items[name]?.systemFields = nil
            items[name]?.isPending = true
        }
        (unconfirmed, hasZone, token) = ([], false, nil)
    }
}

/// The items' records.
extension Disk {
    var zoneID: CKRecordZone.ID { CKRecordZone.ID(zoneName: zone, ownerName: owner) }

    func recordID(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zoneID) }

    /// Returns the record to save; nil for an item that is deleted or not there.
    func record(for name: String) -> CKRecord? {
        guard let item = items[name], let text = item.text else { return nil }
        let record =
            item.systemFields.flatMap { Disk.decoded($0, CKRecord.init(coder:)) }
            ?? CKRecord(recordType: "Item", recordID: recordID(name))
        record["text"] = text
        record["edits"] = item.edits
        return record
    }

    var serverToken: CKServerChangeToken? { token.flatMap { Disk.decoded($0, CKServerChangeToken.init(coder:)) } }

    static func encoded(_ body: (NSKeyedArchiver) -> Void) -> Data {
        let coder = NSKeyedArchiver(requiringSecureCoding: true)
        body(coder)
        coder.finishEncoding()
        return coder.encodedData
    }

    private static func decoded<Value>(_ data: Data, _ make: (NSCoder) -> Value?) -> Value? {
        guard let coder = try? NSKeyedUnarchiver(forReadingFrom: data) else { return nil }
        coder.requiresSecureCoding = true
        defer { coder.finishDecoding() }
        return make(coder)
    }
}

extension Disk.Item {
    init(_ record: CKRecord) {
        text = record["text"] as? String
        edits = record["edits"] as? Int ?? 0
        systemFields = Disk.encoded(record.encodeSystemFields)
    }
}
