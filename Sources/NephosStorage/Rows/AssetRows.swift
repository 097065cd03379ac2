/// A stored file. Each database stores each content once.
package struct AssetRow: Hashable, Sendable {
    /// The owner of the database. For an account's unsaved uploads to other owners' databases it is `OwnerID.uploads`
    /// of that account.
    package var owner: OwnerID
    /// The hash of the content, unique in the database. In `OwnerID.uploads` the upload's target precedes the hash: a
    /// prefix for the zone, and a prefix for the record and its field.
    package var content: [UInt8]
    /// The size of the file in bytes.
    package var size: Int64
    /// The checksum of the content for clients, opaque to the storage layer.
    package var checksum: String
    /// The name of the file in the asset store, unique there.
    package var file: String
    /// The time in milliseconds since 1970 until which the file is kept without a reference from a record;
    /// `AssetRow.referenced` while a record refers to the file.
    package var neededUntil: Int64

    /// The `neededUntil` of a file that a record refers to.
    package static let referenced = Int64.max

    /// The size of a content hash in bytes.
    private static let hashSize = 32

    /// The hash of the file's content.
    package var hash: [UInt8] { Array(content.suffix(Self.hashSize)) }

    package init(
        owner: OwnerID, content: [UInt8], size: Int64, checksum: String, file: String, neededUntil: Int64
    ) {
        self.owner = owner
        self.content = content
        self.size = size
        self.checksum = checksum
        self.file = file
        self.neededUntil = neededUntil
    }
}
