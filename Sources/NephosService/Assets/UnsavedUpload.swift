import NephosCrypto
import NephosStorage

/// Files uploaded to a database other than the uploader's own, such as the public one, and not saved yet. They count
/// towards the uploading account, and expire when it leaves the zone. Each is stored for its field, even if the
/// database has the content already, so that an upload does not reveal the database's contents.
enum UnsavedUpload {
    static func isOne(for target: AssetTarget) -> Bool { target.zone.owner != OwnerID(rawValue: target.account) }

    /// - Parameter content: the hash of the file's content.
    static func row(_ content: [UInt8], for target: AssetTarget, _ reader: StorageReader) throws -> AssetRow? {
        try reader.asset(owner: .uploads(of: target.account), content: key(content, target))
    }

    /// The content key of the file's row among the account's uploads.
    static func key(_ content: [UInt8], _ target: AssetTarget) -> [UInt8] {
        let place = StreamingHash(.content)
        place.update(Array(target.recordName.utf8) + [0] + Array(target.fieldName.utf8))
        return bytes(target.zone.id) + place.finish().prefix(placeSize) + content
    }

    /// Expires the account's uploads to a zone in which it no longer participates.
    static func end(account: Int64, _ zone: ZoneKey, in transaction: StorageTransaction) throws {
        try transaction.expireAssets(
            owner: .uploads(of: account), contentFrom: bytes(zone.id), to: bytes(zone.id + 1))
    }

    private static let placeSize = 16

    private static func bytes(_ number: Int64) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
}
