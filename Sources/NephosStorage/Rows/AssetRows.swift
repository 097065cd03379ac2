/// A stored file: a database has each content once.
package struct AssetRow: Hashable, Sendable {
    /// The owner of the database; `OwnerID.uploads` of an account for what it uploaded to another's and did not save yet.
    package var owner: OwnerID
    /// The hash of the content, unique in the database. Of an upload there is what it is for before it: a prefix for the zone,
    /// and one for its place there.
    package var content: [UInt8]
    /// Bytes of the file.
    package var size: Int64
    /// What clients know the content by, opaque here.
    package var checksum: String
    /// The file's name in the asset store, unique there.
    package var file: String
    /// Milliseconds since 1970 until which the file is kept although no record refers to it; `AssetRow.referenced` while
    /// one does.
    package var neededUntil: Int64

    /// The `neededUntil` of a file that a record refers to.
    package static let referenced = Int64.max

    /// The bytes of a content's hash.
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
