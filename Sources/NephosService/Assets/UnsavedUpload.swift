import NephosCrypto
import NephosStorage

/// Files uploaded to a database other than the uploader's own, such as the public one, and not saved yet. Such a file
/// counts towards the bytes of the uploading account, and expires when the account leaves the zone. Each file is stored
/// for its field, even if the database has the content already, so that an upload does not reveal the database's
/// contents.
enum UnsavedUpload {
    static func isOne(for target: AssetTarget) -> Bool { target.zone.owner != OwnerID(rawValue: target.account) }

    /// - Parameter content: the hash of the file's content.
    static func row(_ content: [UInt8], for target: AssetTarget, _ reader: StorageReader) throws -> AssetRow? {
        try reader.asset(owner: .uploads(of: target.account), content: key(content, target))
    }

    /// The key under which the account's uploads store the file's row.
    static func key(_ content: [UInt8], _ target: AssetTarget) -> [UInt8] {
        let place = StreamingHash(.content)
        place.update(Array(target.recordName.utf8) + [0] + Array(target.fieldName.utf8))
        return bytes(target.zone.id) + place.finish().prefix(placeSize) + content
    }

    /// Expires the account's uploads to a zone in which the account no longer participates.
    static func end(account: Int64, _ zone: ZoneKey, in transaction: StorageTransaction) throws {
        try transaction.expireAssets(
            owner: .uploads(of: account), contentFrom: bytes(zone.id), to: bytes(zone.id + 1))
    }

    private static let placeSize = 16

    private static func bytes(_ number: Int64) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
}
