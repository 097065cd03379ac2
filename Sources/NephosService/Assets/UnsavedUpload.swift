import NephosCrypto
import NephosStorage

/// Files that were uploaded to a database that is not the uploader's own, the public one among them, and not saved yet: they
/// count towards the account that uploaded them, and end with its part in the zone. Each is kept for the field that it is
/// for, whatever the database has, so that an upload tells nothing of that.
enum UnsavedUpload {
    static func isOne(for target: AssetTarget) -> Bool { target.zone.owner != OwnerID(rawValue: target.account) }

    /// - Parameter content: the hash of the file's content.
    static func row(_ content: [UInt8], for target: AssetTarget, _ reader: StorageReader) throws -> AssetRow? {
        try reader.asset(owner: .uploads(of: target.account), content: key(content, target))
    }

    /// Under what content the file's row is among the account's uploads.
    static func key(_ content: [UInt8], _ target: AssetTarget) -> [UInt8] {
        let place = StreamingHash(.content)
        place.update(Array(target.recordName.utf8) + [0] + Array(target.fieldName.utf8))
        return bytes(target.zone.id) + place.finish().prefix(placeSize) + content
    }

    /// The account has no part in the zone any more.
    static func end(account: Int64, _ zone: ZoneKey, in transaction: StorageTransaction) throws {
        try transaction.expireAssets(
            owner: .uploads(of: account), contentFrom: bytes(zone.id), to: bytes(zone.id + 1))
    }

    private static let placeSize = 16

    private static func bytes(_ number: Int64) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
}
