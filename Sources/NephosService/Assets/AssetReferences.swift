import NephosStorage
import NephosWire

/// Updates a record's asset references by the diff of its old and new fields.
enum AssetReferences {
    static func update(
        _ zone: ZoneKey, _ recordName: String, old: [UInt8]?, new: [UInt8]?, now: Int64,
        in transaction: StorageTransaction
    ) throws {
        let before = old.map(contents) ?? []
        let after = new.map(contents) ?? []
        if before == after { return }
        for content in after.subtracting(before) {
            try transaction.insertAssetReference(content, zone: zone, record: recordName)
        }
        for content in before.subtracting(after) {
            try transaction.removeAssetReference(
                content, zone: zone, record: recordName, neededUntil: now + Limits.assetRetention)
        }
    }

    /// Whether a record with these fields refers to files.
    static func hasAssets(_ fields: [UInt8]) -> Bool { !contents(of: fields).isEmpty }

    private static func contents(of fields: [UInt8]) -> Set<[UInt8]> {
        Set(EncodedFields(bytes: fields).assets().compactMap { $0.value.content.flatMap(AssetContent.content) })
    }
}
