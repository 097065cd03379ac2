/// A stored file; each content is stored once per database.
package struct AssetRow: Hashable, Sendable {
    /// The owner of the database; `OwnerID.uploads` of an account for its unsaved uploads to other owners' databases.
    package var owner: OwnerID
    /// The content's hash, unique in the database. In `OwnerID.uploads` the target precedes it: a prefix for the zone,
    /// and one for the record and field there.
    package var content: [UInt8]
    /// Bytes of the file.
    package var size: Int64
    /// The content's checksum for clients, opaque here.
    package var checksum: String
    /// The file's name in the asset store, unique there.
    package var file: String
    /// Milliseconds since 1970 until which the file is kept without a reference from a record; `AssetRow.referenced`
    /// with one.
    package var neededUntil: Int64

    /// The `neededUntil` of a file that a record refers to.
    package static let referenced = Int64.max

    /// Bytes of a content's hash.
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
