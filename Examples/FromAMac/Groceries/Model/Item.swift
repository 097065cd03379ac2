import CloudKit

/// A thing to buy.
struct Item: Hashable, Identifiable {
    let id: CKRecord.ID
    var name: String
    var isBought = false
}

extension Item {
    static let recordType = "Item"

    init(_ record: CKRecord) {
        id = record.recordID
        name = record["name"] ?? ""
        isBought = record["isBought"] ?? false
    }

    /// Writes the item's values into its record.
    func write(to record: CKRecord) {
        record["name"] = name
        record["isBought"] = isBought
    }
}
